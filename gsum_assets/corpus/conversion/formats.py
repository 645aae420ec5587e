"""File types that are converted, and the result of a conversion."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version

_LIBRARIES = {
    "pdf": ("pypdfium2",),
    "docx": ("mammoth", "beautifulsoup4", "lxml", "markdownify"),
    "pptx": ("python-pptx",),
    "html": ("beautifulsoup4", "lxml", "markdownify"),
    "epub": ("beautifulsoup4", "lxml", "markdownify"),
    "mail": ("beautifulsoup4", "lxml", "markdownify"),
}
_OWN_VERSION = "2"  # increase it when the text of a file may change
FORMATS = {
    ".pdf": "pdf",
    ".docx": "docx",
    ".pptx": "pptx",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".epub": "epub",
    ".eml": "mail",
    ".mbox": "mail",
}
"""The converter of each file name extension."""


class ConversionError(Exception):
    """Error for a file that cannot be converted; the message has reason and remedy."""


@dataclass(frozen=True)
class Converted:
    """The text of a file.

    Attributes
    ----------
    title : title in the document, "" without a useful one.
    text : plain text or Markdown.
    page_starts : first character of each page or slide; empty for other formats.
    """

    title: str
    text: str
    page_starts: Sequence[int] = ()


@cache
def converter_version(suffix: str) -> str:
    """Return name and versions of the converter of an extension: `pdf-1 pypdfium2-5.15.2`."""
    name = FORMATS[suffix]
    return " ".join([f"{name}-{_OWN_VERSION}", *(f"{p}-{version(p)}" for p in _LIBRARIES[name])])


@cache
def converters_version() -> str:
    """Return the versions of all converters."""
    return "; ".join(sorted({converter_version(suffix) for suffix in FORMATS}))
