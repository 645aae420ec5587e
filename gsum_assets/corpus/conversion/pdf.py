"""Text of PDF files."""

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from gsum_assets.corpus.conversion.formats import (
    ConversionError,
    Converted,
    Report,
    paged,
    useful_title,
)

_SOFT_HYPHEN = re.compile("[\ufffe\u00ad][ \t]*\n?")  # PDFium's marks of a hyphen at a line's end
_UNPRINTED = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\uffff]")
_LETTER = re.compile(r"[^\W_]")


def convert_pdf(content: bytes, report: Report) -> Converted:
    """Return the text of a PDF file, page after page."""
    import pypdfium2

    try:
        with pypdfium2.PdfDocument(content) as document:
            n_pages = len(document)
            pages = []
            for number in range(n_pages):
                page = document[number]
                text_page = page.get_textpage()
                try:
                    page_text = text_page.get_text_range()
                finally:
                    text_page.close()
                    page.close()
                page_text = page_text.replace("\r\n", "\n").replace("\r", "\n")
                pages.append(_UNPRINTED.sub("", _SOFT_HYPHEN.sub("", page_text)).split("\n"))
                report(number + 1, n_pages)
            title = useful_title(_UNPRINTED.sub("", document.get_metadata_dict().get("Title", "")))
    except pypdfium2.PdfiumError as error:
        if any(word in str(error).lower() for word in ("password", "security")):
            raise ConversionError(
                "encrypted: it opens with a password only; save a copy without it, for example "
                "with `qpdf --decrypt --password=… in.pdf out.pdf`"
            ) from error
        raise ConversionError(
            f"not readable as PDF ({str(error).rstrip('.')}); open it in a viewer and print it to "
            "a new PDF, or download it again"
        ) from error
    texts = paragraphs(without_running_lines(pages))
    if not any(_LETTER.search(text) for text in texts):
        raise ConversionError(
            f"no text on its {n_pages:,} pages, probably a scan; recognize its text first, for "
            "example with `ocrmypdf in.pdf out.pdf`, and use the result"
        )
    return paged(title, texts)


_EDGE_LINES = 2  # top and bottom lines of a page that may be a running header or footer
_MIN_PAGES = 4  # on fewer pages, repeated lines may be text
_REPEATED = 0.3  # share of pages with the line; left and right pages may differ
_NEAR = 4  # pages before and after a page; two of them repeat its chapter's header
_FULL = 0.75  # share of the usual width; a shorter line ends its paragraph
_NUMBER = re.compile(r"\d+")
_WORD_END = re.compile(r"([^\W\d_]+)-$")
_WORD_START = re.compile(r"([^\W\d_]+)")
_ITEM = re.compile(r"([•▪◦‣∙*–—-]|\(?\w{1,3}[.)])\s|\d+(\.\d+)+\s")
_LEADER = re.compile(r"(\. ?){4,}|…{2,}|_{4,}")  # in tables of contents and forms


def without_running_lines(pages: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the lines of each page without headers and footers.

    These are lines at the edges of a page that repeat on many pages, or on several nearby ones,
    such as the title of a chapter. All numbers count as equal, so that page numbers repeat, too.
    """
    if len(pages) < _MIN_PAGES:
        return [list(lines) for lines in pages]
    keys = [{_key(lines[i]) for i in _edges(lines)} for lines in pages]
    counts = Counter(key for of_page in keys for key in of_page)
    least = max(_MIN_PAGES - 1, _REPEATED * len(pages))
    everywhere = {key for key, n in counts.items() if n >= least}
    kept_lines = []
    for i, lines in enumerate(pages):
        near = Counter(
            key for of_page in keys[max(0, i - _NEAR) : i + _NEAR + 1] for key in of_page
        )
        nearby = {key for key, n in near.items() if n >= _MIN_PAGES - 1}
        repeated = everywhere | nearby
        edge_lines = set(_edges(lines))
        kept_lines.append(
            [
                line
                for i, line in enumerate(lines)
                if i not in edge_lines or _key(line) not in repeated
            ]
        )
    return kept_lines


def _edges(lines: Sequence[str]) -> list[int]:
    """Return the positions of the first and the last lines that are not blank."""
    filled = [i for i, line in enumerate(lines) if line.strip()]
    return filled[:_EDGE_LINES] + filled[_EDGE_LINES:][-_EDGE_LINES:]


def _key(line: str) -> str:
    return _NUMBER.sub("#", " ".join(line.split()))


def paragraphs(pages: Sequence[Sequence[str]]) -> list[str]:
    """Return the text of each page with one line per paragraph.

    A line is joined with the next one if it has about the usual width, or if the next one continues
    a hyphenated word in lower case; never with a list item or a line of a table of contents. The
    hyphen at a line's end is removed, unless the document has the word with a hyphen elsewhere.
    """
    lengths = [len(line) for lines in pages for line in lines if line.strip()]
    full = _FULL * float(np.percentile(lengths, 90)) if lengths else 0.0
    hyphenated = {
        word.lower()
        for lines in pages
        for line in lines
        for word in re.findall(r"[^\W\d_]+-[^\W\d_]+", line)
    }
    return ["\n".join(_joined(lines, full, hyphenated)) for lines in pages]


def _joined(lines: Sequence[str], full: float, hyphenated: set[str]) -> list[str]:
    paragraphs_so_far: list[str] = []
    last = ""
    for line in (" ".join(line.split()) for line in lines):
        if paragraphs_so_far and _continues(last, line, full):
            paragraphs_so_far[-1] = _glued(paragraphs_so_far[-1], line, hyphenated)
        else:
            paragraphs_so_far.append(line)
        last = line
    return [line for line in paragraphs_so_far if line]


def _continues(line: str, following: str, full: float) -> bool:
    """Return whether `following` continues the paragraph of `line`."""
    if not line or not following or _ITEM.match(following):
        return False
    if _LEADER.search(line) or _LEADER.search(following):
        return False
    return len(line) >= full or (bool(_WORD_END.search(line)) and following[0].islower())


def _glued(text: str, line: str, hyphenated: set[str]) -> str:
    """Return two lines joined; a hyphen between them is kept if it belongs to the word."""
    if text.endswith("/"):  # a path or an address
        return text + line
    if not text.endswith("-"):
        return f"{text} {line}"
    head, tail = _WORD_END.search(text), _WORD_START.match(line)
    if head and tail and line[0].islower() and f"{head[1]}-{tail[1]}".lower() not in hyphenated:
        return text[:-1] + line
    return text + line
