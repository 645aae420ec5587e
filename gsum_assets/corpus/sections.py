"""Pages, times, rows and headings of a document, with the position of their first character."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gsum_assets.corpus.conversion.formats import FORMATS

_MARKDOWN = frozenset({".md", *(suffix for suffix, f in FORMATS.items() if f.is_markdown)})
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(\S.*)$")
_FENCE = re.compile(r" {0,3}(```+|~~~+)")


@dataclass(frozen=True)
class Section:
    """A page, heading or the like, see `document_sections` in `tables.py`."""

    document_id: str
    kind: str
    position: int
    level: int
    label: str
    start: int


def is_markdown(suffix: str) -> bool:
    """Return whether lines that begin with "#" are headings in files of this type."""
    return suffix in _MARKDOWN


def sections_of(
    document_id: str, text: str, suffix: str, page_starts: Sequence[int], labels: Sequence[str] = ()
) -> list[Section]:
    """Return the pages, slides, captions, rows or cells of a document, then its headings."""
    kind = FORMATS[suffix].mark if suffix in FORMATS else "page"
    labels = labels or [str(number) for number in range(1, len(page_starts) + 1)]
    pages = [
        # blanks at the end of the text were removed, including blank pages
        Section(document_id, kind, number, 0, label, min(start, len(text)))
        for number, (start, label) in enumerate(zip(page_starts, labels, strict=True), start=1)
    ]
    headings = _headings(text) if is_markdown(suffix) else ()
    return pages + [
        Section(document_id, "heading", number, level, label, start)
        for number, (start, level, label) in enumerate(headings, start=1)
    ]


def _headings(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, level and text of each Markdown heading outside of code."""
    start, fence = 0, ""
    for line in text.splitlines(keepends=True):
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence):
            fence = ""
        elif not fence and (heading := _HEADING.match(line.rstrip())):
            label = " ".join(heading[2].rstrip("#").split())
            if label:
                yield start, len(heading[1]), label
        start += len(line)
