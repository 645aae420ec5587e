"""Hooks of mkdocs: generated pages, files of the root, diagrams.

mkdocs calls the functions `on_…` when it builds the site.
"""

import itertools
import re
from pathlib import Path

from diagrams import FENCE, file_of, is_current
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import get_plugin_logger
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from reference import reference_pages

ROOT = Path(__file__).parents[1]
_LOG = get_plugin_logger(__name__)

ROOT_PAGES = {
    "index.md": ROOT / "README.md",
    "contributing.md": ROOT / "CONTRIBUTING.md",
    "benchmarks.md": ROOT / "benchmarks" / "README.md",
}
"""Pages of the site that are read in the repository's root or beside the code, too."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages to those of `docs/`."""
    for path, text in generated_pages().items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Return a page with its diagrams as pictures and its links as they are in the site."""
    for target, source in ROOT_PAGES.items():
        markdown = markdown.replace(f"](../{source.relative_to(ROOT)}", f"]({target}")
    return _unbroken(_pictures(markdown, Path(page.file.src_uri).stem, page.title or ""))


def _pictures(markdown: str, page: str, title: str) -> str:
    numbers = itertools.count()

    def picture(found: re.Match[str]) -> str:
        file = file_of(page, next(numbers))
        if not is_current(file, found["source"]):
            _LOG.warning(f"{file} is missing or stale; run docs/diagrams.py")
        link = f"![Diagram of {title}](diagrams/{file.name})"
        return f'<div class="diagram" markdown>\n{link}\n</div>'

    return FENCE.sub(picture, markdown)


def _unbroken(markdown: str) -> str:
    """Return a page in whose tables a figure and its interval stay on one line."""

    def row(found: re.Match[str]) -> str:
        return re.sub(r"(\S) \[([-+\d.]+), ([-+\d.]+)\]", r"\1&nbsp;[\2,&nbsp;\3]", found[0])

    return re.sub(r"^\|.*\|$", row, markdown, flags=re.MULTILINE)


def generated_pages() -> dict[str, str]:
    """Return the text of every generated page by its path in the site."""
    return {**{page: rooted(file) for page, file in ROOT_PAGES.items()}, **reference_pages()}


def rooted(file: Path) -> str:
    """Return a file's text with its links as they are seen from the top of the site."""
    text = file.read_text("utf-8")
    names = {str(source.relative_to(ROOT)): page for page, source in ROOT_PAGES.items()}
    for source, page in names.items():
        text = text.replace(f"]({source}", f"]({page}")
    return re.sub(r'(\]\(|src=")(?:\.\./)?docs/', r"\1", text)
