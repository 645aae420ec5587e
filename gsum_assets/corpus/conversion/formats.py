"""Registry of the file types that are converted, and the result of a conversion."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import Literal

from gsum_assets.corpus.decoding import NotTextError, decode

_OWN_VERSION = "2"  # increase it when the text of a file may change
_HTML = ("beautifulsoup4", "lxml", "markdownify")

Mark = Literal["page", "slide", "time", "row", "cell", "heading"]


@dataclass(frozen=True)
class Format:
    """How files with an extension are read.

    Attributes
    ----------
    name : the converter, a key of `worker.CONVERTERS`.
    libraries : packages whose versions the text depends on.
    mark : what `Converted.page_starts` are, and the name of a location in the document.
    is_markdown : whether the text is Markdown, so that lines beginning with "#" are headings.
    """

    name: str
    libraries: tuple[str, ...] = ()
    mark: Mark = "page"
    is_markdown: bool = True


_WEB, _CAPTIONS = Format("html", _HTML), Format("captions", ("webvtt-py",), "time", False)
_WORKBOOK = Format("workbook", ("python-calamine",), "row", False)
FORMATS = {
    ".pdf": Format("pdf", ("pypdfium2",), is_markdown=False),
    ".docx": Format("docx", ("mammoth", *_HTML)),
    ".odt": Format("odt", _HTML),
    ".rtf": Format("rtf", ("striprtf",)),
    ".pptx": Format("pptx", ("python-pptx",), "slide", False),
    ".xlsx": _WORKBOOK,
    ".xls": _WORKBOOK,
    ".ods": _WORKBOOK,
    ".html": _WEB,
    ".htm": _WEB,
    ".xhtml": _WEB,
    ".epub": Format("epub", _HTML),
    ".eml": Format("message", _HTML),
    ".mbox": Format("mailbox", _HTML),
    ".vtt": _CAPTIONS,
    ".srt": _CAPTIONS,
    ".sbv": _CAPTIONS,
    ".rst": Format("rst", ("docutils", *_HTML)),
    ".tex": Format("latex", ("pylatexenc",)),
    ".ipynb": Format("notebook", mark="cell"),
}
"""How a file is read, by its extension in lower case."""


class ConversionError(Exception):
    """Error for a file that cannot be converted; the message has reason and remedy.

    Every converter raises it if a file is damaged, encrypted, of another type, or has no text.
    """


@dataclass(frozen=True)
class Converted:
    """The text of a file.

    Attributes
    ----------
    title : title in the document, "" without a useful one.
    page_starts : first character of each page, slide, caption, row or cell; empty for others.
    labels : name of the location that begins there, "12:40"; empty: they are numbered from 1.
    """

    title: str
    text: str
    page_starts: Sequence[int] = ()
    labels: Sequence[str] = ()


@contextmanager
def readable_as(kind: str, remedy: str) -> Iterator[None]:
    """Raise `ConversionError` for whatever a damaged file makes a library raise."""
    try:
        yield
    except (ConversionError, MemoryError):
        raise
    except Exception as error:
        reason = " ".join(str(error).split())[:120] or type(error).__name__
        raise ConversionError(f"not readable as {kind} ({reason}); {remedy}") from error


def with_text(title: str, text: str) -> Converted:
    """Return a document without pages, or raise `ConversionError` if it has no text."""
    if not text.strip():
        raise ConversionError("the document has no text; fill it or remove it")
    return Converted(title, text)


@cache
def converter_version(suffix: str) -> str:
    """Return name and versions of the converter of an extension: `pdf-1 pypdfium2-5.15.2`."""
    entry = FORMATS[suffix]
    packages = (f"{package}-{version(package)}" for package in entry.libraries)
    return " ".join([f"{entry.name}-{_OWN_VERSION}", *packages])


@cache
def converters_version() -> str:
    """Return the versions of all converters."""
    return "; ".join(sorted({converter_version(suffix) for suffix in FORMATS}))


_MOST_CHARS = 200  # maximum length of a title; anything longer is a text
_JUNK = re.compile(
    r"""
      microsoft\s(word|powerpoint|office).*   # "Microsoft Word - report.doc"
    | (untitled|unbenannt|sans\stitre|no\stitle|title|document|doc|slide|presentation)[\s_-]*\d*
    | powerpoint[ -]pr.sentation
    | .*\.(docx?|pptx?|xlsx?|pdf|dvi|ps|tex|indd|qxd|rtf|odt|html?|txt)
    | [\W\d_]*                                # no letter
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)


def useful_title(title: object) -> str:
    """Return a title on one line, or "" if it says nothing about the document."""
    text = " ".join(title.split()) if isinstance(title, str) else ""
    return "" if len(text) > _MOST_CHARS or _JUNK.fullmatch(text) else text


def decoded_text(content: bytes) -> str:
    """Return the characters of a text file, with LF as line end and without NUL."""
    try:
        text, _ = decode(content)
    except NotTextError as error:
        raise ConversionError(str(error)) from error
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
