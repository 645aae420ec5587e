"""Diagrams of the pages as SVG, so that no page loads a script from another host.

    pip install mmdr==0.4.0      # in an environment of its own
    python docs/diagrams.py

A page has its diagrams as blocks of Mermaid, which GitHub draws by itself. This script draws them
into `docs/diagrams/`, and the site shows these files (`hooks.py`). Run it after editing a diagram.
"""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).parent
FENCE = re.compile(r"^```mermaid\n(?P<source>.*?)^```$", re.MULTILINE | re.DOTALL)

_STYLE = (  # tight, so that a pipeline of ten steps fits a page
    '%%{init: {"look": "classic", "theme": "neutral", '
    '"flowchart": {"rankSpacing": 24, "nodeSpacing": 14, "padding": 6}}}%%\n'
)


def diagrams(page: Path) -> Iterator[tuple[Path, str]]:
    """Return the file of each diagram of a page with its source."""
    for number, found in enumerate(FENCE.finditer(page.read_text("utf-8"))):
        yield file_of(page.stem, number), found["source"]


def file_of(page: str, number: int) -> Path:
    """Return the file of the diagram that stands at `number` (from 0) in a page."""
    return DOCS / "diagrams" / f"{page}{f'-{number + 1}' if number else ''}.svg"


def is_current(file: Path, source: str) -> bool:
    """Return whether a file is there and was drawn from this source."""
    return file.is_file() and f'data-source="{_digest(source)}"' in file.read_text("utf-8")


def drawn(source: str) -> str:
    """Return the SVG of a diagram: of its natural size, marked with the digest of its source."""
    import mmdr

    svg = mmdr.render(_STYLE + source).svg()
    box = re.search(r'viewBox="\S+ \S+ (\S+) (\S+)"', svg)
    if box is None:
        raise ValueError("mmdr: the SVG has no viewBox; use version 0.4.0")
    size = f'width="{box[1]}" height="{box[2]}" data-source="{_digest(source)}"'
    return svg.replace('width="100%"', size, 1) + "\n"


def _digest(source: str) -> str:
    return hashlib.blake2b(source.encode(), digest_size=8).hexdigest()


def main() -> None:
    """Draw the diagrams that are missing or stale; remove files without a diagram."""
    wanted = {}
    for page in sorted(DOCS.glob("*.md")):
        wanted |= dict(diagrams(page))
    for file, source in wanted.items():
        if not is_current(file, source):
            file.parent.mkdir(exist_ok=True)
            file.write_text(drawn(source), "utf-8")
            print(f"drew {file.relative_to(DOCS)}")
    for file in set((DOCS / "diagrams").glob("*.svg")) - set(wanted):
        file.unlink()


if __name__ == "__main__":
    main()
