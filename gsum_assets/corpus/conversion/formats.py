"""The file types that are converted, and what their converters share.

A format is a line of `FORMATS` and a function `convert_NAME(content, report) -> Converted`. It
raises `ConversionError` if the file is damaged, encrypted, of another type, or has no text.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from itertools import accumulate
from typing import Literal

from gsum_assets.corpus.decoding import NotTextError, decode

_OWN_VERSION = "11"  # increase it when the text of a file may change
_HTML = ("beautifulsoup4", "lxml", "markdownify")
_FIRST_ROW = re.compile(r"(?<!\|\n)^(\|.*\|)\n(?=\|)", re.MULTILINE)
_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n){2,}")
_LONGEST_COUNT = 900  # characters; metadata have at most 1,000
_LONGEST_TITLE = 200  # characters; anything longer is a text
_JUNK = re.compile(
    r"""
      microsoft\s(word|powerpoint|office).*   # "Microsoft Word - report.doc"
    | \(anonymous\)                           # of ReportLab
    | (untitled|unbenannt|sans\stitre|no\stitle|title|document|doc|slide|presentation)[\s_-]*\d*
    | powerpoint[ -]pr.sentation
    | .*\.(docx?|pptx?|xlsx?|pdf|dvi|ps|tex|indd|qxd|rtf|odt|html?|txt)
    | [\W\d_]*                                # no letter
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)

Mark = Literal["page", "slide", "time", "row", "cell", "heading"]
Report = Callable[[int, int], None]
"""Called with the number of pages done, and of all pages of the file."""


@dataclass(frozen=True)
class Format:
    """How files with an extension are read: by `convert_{name}` of a module in this folder.

    The text depends on the versions of `libraries`; `mark` is what `Converted.page_starts` are; in
    Markdown, lines that begin with "#" are headings.
    """

    name: str
    module: str
    libraries: tuple[str, ...] = ()
    mark: Mark = "page"
    is_markdown: bool = True


_WEB = Format("html", "html", _HTML)
_CAPTIONS = Format("captions", "captions", mark="time", is_markdown=False)
_WORKBOOK = Format("workbook", "workbook", ("python-calamine", "lxml"), "row", is_markdown=False)
FORMATS = {
    ".pdf": Format("pdf", "pdf", ("pypdfium2",), is_markdown=False),
    ".docx": Format("docx", "office", _HTML),
    ".odt": Format("odt", "opendocument", _HTML),
    ".rtf": Format("rtf", "rtf"),
    ".pptx": Format("pptx", "office", ("python-pptx",), "slide", is_markdown=False),
    ".xlsx": _WORKBOOK,
    ".xls": _WORKBOOK,
    ".ods": _WORKBOOK,
    ".csv": Format("csv", "workbook", ("lxml",), "row", is_markdown=False),  # without texts
    ".html": _WEB,
    ".htm": _WEB,
    ".xhtml": _WEB,
    ".epub": Format("epub", "html", _HTML),
    ".eml": Format("message", "mail", _HTML),
    ".mbox": Format("mailbox", "mail", _HTML),
    ".vtt": _CAPTIONS,
    ".srt": _CAPTIONS,
    ".sbv": _CAPTIONS,
    ".rst": Format("rst", "restructured", ("docutils", *_HTML)),
    ".tex": Format("latex", "latex", ("pylatexenc",)),
    ".ipynb": Format("notebook", "notebook", mark="cell"),
}
"""How a file is read, by its extension in lower case."""


class ConversionError(Exception):
    """Error for a file that cannot be converted; the message has reason and remedy."""


@dataclass(frozen=True)
class Converted:
    """The text of a file.

    `page_starts` are the first characters of its pages, slides, captions, rows or cells, `labels`
    the names of these locations ("12:40"; empty: they are numbered from 1), `left_out` says what of
    the file is not in the text, with counts.
    """

    title: str
    text: str
    page_starts: Sequence[int] = ()
    labels: Sequence[str] = ()
    left_out: str = ""


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


def with_text(title: str, text: str, left_out: str = "") -> Converted:
    """Return a document without pages, or raise `ConversionError` if it has no text."""
    if not text.strip():
        raise ConversionError("the document has no text; fill it or remove it")
    return Converted(title, text, left_out=left_out)


def paged(
    title: str, pages: Sequence[str], labels: Sequence[str] = (), separator: str = "\n\n"
) -> Converted:
    """Return a document of several pages, slides, rows or cells."""
    ends = accumulate(len(page) + len(separator) for page in pages)
    starts = [0, *ends][: len(pages)]
    return Converted(title, separator.join(pages), tuple(starts), tuple(labels))


def counted(*left_out: tuple[str, Sequence[str]]) -> str:
    """Return what was left out in words: `2 hidden parts (9 words); 3 running lines ("…", "…")`.

    What is deleted or hidden in a file is not quoted.
    """
    parts = []
    for name, texts in left_out:
        if not texts:
            continue
        if name in _QUOTED:
            distinct = {re.sub(r"\d+", "#", t): " ".join(t.split()) for t in reversed(texts)}
            shown = ", ".join(f'"{text[:80]}"' for text in list(distinct.values())[:-4:-1])
        else:
            n_words = sum(len(text.split()) for text in texts)
            shown = f"{n_words:,} word{'s' if n_words > 1 else ''}"
        parts.append(f"{len(texts):,} {name if len(texts) == 1 else _plural(name)} ({shown})")
    return cut(parts)


def cut(left_out: Sequence[str]) -> str:
    """Return what was left out of the parts of a file, as long as metadata may be."""
    return "; ".join(left_out)[:_LONGEST_COUNT]


_QUOTED = ("running line", "line in a broken font", "hidden sheet", "formula without a value")


def accepted(n_deletions: int, n_insertions: int, n_moves: int, n_comments: int) -> str:
    """Return a last paragraph that says that a file has tracked changes and comments, or ""."""
    numbers = {"deletion": n_deletions, "insertion": n_insertions, "move": n_moves}
    said = [
        f"{n:,} tracked {name if n == 1 else _plural(name)}" for name, n in numbers.items() if n
    ]
    said = [f"{' and '.join(said)}, read as accepted"] if said else []
    said += [f"{n_comments:,} comment{'s' if n_comments > 1 else ''}"] if n_comments else []
    return f"\n\n[This file has {'; '.join(said)}.]" if said else ""


def remark(author: str, text: str) -> str:
    """Return a comment as it stands in the text."""
    return f"[comment{author and ', '}{author}: {text}]"


def _plural(name: str) -> str:
    head, *tail = re.split(r"(?= of | in | or | without )", name)
    return "".join([f"{head}s", *tail])


def tidied(text: str) -> str:
    """Return a text with LF as line end, without NUL."""
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")


def ruled(text: str) -> str:
    """Return a text whose tables have a rule below their first row, the names of columns."""
    return _FIRST_ROW.sub(lambda row: f"{row[0]}{'| --- ' * (row[1].count('|') - 1)}|\n", text)


def single_blank_lines(text: str) -> str:
    """Return a text with one blank line at most in a row, none at its beginning and end."""
    return _BLANK_LINES.sub("\n\n", text).strip("\n")


@cache
def converter_version(suffix: str) -> str:
    """Return name and versions of the converter of an extension: `pdf-1 pypdfium2-5.15.2`."""
    entry = FORMATS[suffix]
    packages = (f"{package}-{version(package)}" for package in entry.libraries)
    return " ".join([f"{entry.name}-{_OWN_VERSION}", *packages])


def converters_version() -> str:
    """Return the versions of all converters."""
    return "; ".join(sorted({converter_version(suffix) for suffix in FORMATS}))


def useful_title(title: object) -> str:
    """Return a title on one line, or "" if it says nothing about the document."""
    text = " ".join(title.split()) if isinstance(title, str) else ""
    return "" if len(text) > _LONGEST_TITLE or _JUNK.fullmatch(text) else text


def decoded_text(content: bytes) -> str:
    """Return the characters of a text file, with LF as line end and without NUL."""
    try:
        text, _ = decode(content)
    except NotTextError as error:
        raise ConversionError(str(error)) from error
    return tidied(text)
