"""Pages, times, rows and headings of a document, and the location of a passage among them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from gsum_assets.corpus.conversion.formats import FORMATS
from gsum_resources.store.arrow import pc

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


_STEP = " › "
_NUMBERED = ("page", "slide")


class Locations:
    """Locations in the documents of some rows of `document_sections`."""

    def __init__(self, rows: pa.Table) -> None:
        self._rows = rows
        self._sections: dict[str, list[dict]] = {}

    def __call__(self, document_id: str, start: int, end: int) -> str:
        """Return the location of the characters `start` to `end` of a document.

        It is `page 12`, `pages 3-4`, `slide 7`, `12:40`, `12:40-13:05`, `sheet "Q1", row 12`,
        `section "Scope › Exceptions"`, or "" if the document has none before `end`.
        """
        if document_id not in self._sections:
            rows = self._rows.filter(pc.equal(self._rows["document_id"], document_id))
            by_start = rows.sort_by([("start", "ascending"), ("position", "ascending")])
            self._sections[document_id] = by_start.to_pylist()
        sections = self._sections[document_id]
        marks = [row for row in sections if row["kind"] != "heading"]
        if marks:
            return (_pages if marks[0]["kind"] in _NUMBERED else _labels)(marks, start, end)
        path = _path([row for row in sections if row["kind"] == "heading"], start, end)
        return f'section "{_STEP.join(path)}"' if path else ""


def _pages(pages: list[dict], start: int, end: int) -> str:
    """Return the pages that contain the characters; `pages` are sorted by start."""
    kind = pages[0]["kind"]
    first = max((row["position"] for row in pages if row["start"] <= start), default=1)
    last = max((row["position"] for row in pages if row["start"] < end), default=first)
    return f"{kind} {first}" if last <= first else f"{kind}s {first}-{last}"


def _labels(marks: list[dict], start: int, end: int) -> str:
    """Return the labels of the marks that contain the characters: `sheet "Q1", row 12-15`."""
    before = [row["label"] for row in marks if row["start"] <= start]
    first = before[-1] if before else marks[0]["label"]
    last = next((row["label"] for row in reversed(marks) if row["start"] < end), first)
    if first == last:
        return first
    head, blank, tail = last.rpartition(" ")
    return f"{first}-{tail}" if first.startswith(head + blank) else f"{first} - {last}"


def _path(headings: list[dict], start: int, end: int) -> list[str]:
    """Return the headings above the characters, outermost first, without the document's title."""
    before = [row for row in headings if row["start"] <= start]
    before = before or [row for row in headings if row["start"] < end][:1]
    path: list[dict] = []
    for row in before:
        path = [outer for outer in path if outer["level"] < row["level"]] + [row]
    top = [row for row in headings if path and row["level"] == path[0]["level"]]
    if len(path) > 1 and len(top) == 1:
        path = path[1:]
    return [row["label"] for row in path]
