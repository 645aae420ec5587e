"""Texts of the pages as the site shows them: links, pictures of diagrams, tables."""

import itertools
import re
from collections.abc import Callable
from pathlib import Path

from diagrams import FENCE, file_of, is_current

ROOT = Path(__file__).parents[1]

ROOT_PAGES = {
    "index.md": ROOT / "README.md",
    "contributing.md": ROOT / "CONTRIBUTING.md",
    "benchmarks.md": ROOT / "benchmarks" / "README.md",
}
"""Pages of the site that are read in the repository's root or beside the code, too."""


def rooted(file: Path) -> str:
    """Return a file's text with its links as they are seen from the top of the site."""
    text = file.read_text("utf-8")
    names = {str(source.relative_to(ROOT)): page for page, source in ROOT_PAGES.items()}
    for source, page in names.items():
        text = text.replace(f"]({source}", f"]({page}")
    return _without_files(re.sub(r'(\]\(|src=")(?:\.\./)?docs/', r"\1", text))


def shown(text: str, page: str, title: str, warn: Callable[[str], object]) -> str:
    """Return a page of `docs/` as the site shows it; `warn` is called for a stale diagram."""
    for target, source in ROOT_PAGES.items():
        text = text.replace(f"](../{source.relative_to(ROOT)}", f"]({target}")
    return unbroken(_with_pictures(_without_files(text), page, title, warn))


def _without_files(text: str) -> str:
    """Return a page whose links to files of the repository that the site lacks are their paths."""

    def named(found: re.Match[str]) -> str:
        path = found["path"]
        is_only_there = (ROOT / path).is_file() and not (ROOT / "docs" / path).exists()
        return f"{found['text']} (`{path}`)" if is_only_there else found.group()

    return re.sub(r"(?<!!)\[(?P<text>[^\]]+)\]\((?:\.\./)?(?P<path>[\w./-]+)\)", named, text)


def _with_pictures(text: str, page: str, title: str, warn: Callable[[str], object]) -> str:
    numbers = itertools.count()

    def picture(found: re.Match[str]) -> str:
        file = file_of(page, next(numbers))
        if not is_current(file, found["source"]):
            warn(f"docs/diagrams/{file.name} is missing or stale; run docs/diagrams.py")
        link = f"![Diagram of {title}](diagrams/{file.name})"
        return f'<div class="diagram" markdown>\n{link}\n</div>'

    return FENCE.sub(picture, text)


def unbroken(markdown: str) -> str:
    """Return a page in whose tables a figure and its interval stay on one line."""

    def row(found: re.Match[str]) -> str:
        return re.sub(r"(\S) \[([-+\d.]+), ([-+\d.]+)\]", r"\1&nbsp;[\2,&nbsp;\3]", found[0])

    return re.sub(r"^\|.*\|$", row, markdown, flags=re.MULTILINE)
