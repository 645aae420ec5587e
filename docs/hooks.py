"""Hooks of mkdocs and griffe: generated pages, pages of the root, diagrams, docstrings.

mkdocs calls the functions `on_…` when it builds the site; griffe, which reads the code for the API
reference, the method of `PlainMeanings`.
"""

from pathlib import Path

from docstrings import numpy_form
from griffe import Extension, Object
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import get_plugin_logger
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from pages import ROOT_PAGES, rooted, shown
from reference import reference_pages

_LOG = get_plugin_logger(__name__)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages to those of `docs/`."""
    of_root = {page: rooted(file) for page, file in ROOT_PAGES.items()}
    for path, text in {**of_root, **reference_pages()}.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Return a page as the site shows it."""
    return shown(markdown, Path(page.file.src_uri).stem, page.title or "", _LOG.warning)


class PlainMeanings(Extension):
    """Rewrites the docstring of every object before it is parsed."""

    def on_object(self, *, obj: Object, **_: object) -> None:
        """Move the meanings of an object's parameters and attributes below their names."""
        if obj.docstring:
            obj.docstring.value = numpy_form(obj.docstring.value)
