"""Positions in documents: pages, headings, and evidence that is marked."""

import pyarrow as pa
import pytest

from gsum_assets.corpus.queries import Query, Span, query_rows
from gsum_assets.corpus.rows import rows_of
from gsum_assets.corpus.sections import Locations, sections_of
from gsum_assets.pipeline.tables import TABLES

# Pages and headings by character, and the location of a passage.

BOOK = """# The Book
Preface.
## Scope
All.
```
# code
```
### Exceptions ##
None.
## Termination
Never."""


def rows(suffix: str, text: str = "", starts: tuple[int, ...] = ()) -> pa.Table:
    sections = sections_of("a", text, suffix, starts) + sections_of("b", "# Other", ".md", ())
    return rows_of(TABLES["document_sections"], sections)


def test_heading_offsets_point_at_headings() -> None:
    found = sections_of("a", BOOK, ".md", ())
    assert [(s.level, s.label) for s in found] == [
        (1, "The Book"),
        (2, "Scope"),
        (3, "Exceptions"),
        (2, "Termination"),
    ]
    assert all(BOOK[s.start :].lstrip("# ").startswith(s.label) for s in found)
    assert sections_of("a", BOOK, ".txt", ()) == []


@pytest.mark.parametrize(
    ("passage", "location"),
    [
        ("Preface.", 'section "The Book"'),
        ("All.", 'section "Scope"'),
        ("None.", 'section "Scope › Exceptions"'),
        ("None.\n## Termination\nNever.", 'section "Scope › Exceptions"'),
        ("Never.", 'section "Termination"'),
    ],
)
def test_passage_lies_under_its_headings(passage: str, location: str) -> None:
    start = BOOK.index(passage)
    assert Locations(rows(".md", BOOK))("a", start, start + len(passage)) == location


def test_passage_before_the_first_heading_gets_the_first_one_inside_it() -> None:
    text = "Intro.\n# First\nText."
    assert Locations(rows(".md", text))("a", 0, len(text)) == 'section "First"'
    assert Locations(rows(".md", text))("a", 0, 5) == ""


@pytest.mark.parametrize(
    ("start", "end", "location"),
    [(0, 10, "page 1"), (9, 11, "pages 1-3"), (10, 12, "page 3"), (25, 26, "page 4")],
)
def test_passage_lies_on_its_pages(start: int, end: int, location: str) -> None:
    # page 2 is empty, and so are the last two
    sections = rows(".pdf", "x" * 26, (0, 10, 10, 20, 28, 30))
    assert Locations(sections)("a", start, end) == location


def test_slides_are_named_and_plain_text_has_no_location() -> None:
    assert Locations(rows(".pptx", "x" * 20, (0, 10)))("a", 12, 15) == "slide 2"
    assert Locations(rows(".txt", "x" * 20))("a", 12, 15) == ""


# Evidence marked in documents, found again in passages.


def query_with(*spans: Span) -> Query:
    return Query("q", "?", "?", "specific", "d", [], ["d"], "dev", relevant_spans=list(spans))


PASSAGES = pa.Table.from_pylist(
    [
        {"chunk_id": f"{name}:{start}", "document_id": name, "start": start, "end": start + 100}
        for name, start in (("d", 0), ("d", 90), ("d", 180), ("e", 0))
    ]
)


@pytest.mark.parametrize(
    ("spans", "chunk_ids"),
    [
        ([("d", 20, 30)], ["d:0"]),
        ([("d", 92, 98)], ["d:0", "d:90"]),
        ([("d", 50, 230)], ["d:0", "d:90", "d:180"]),  # half of the first and the last
        ([("d", 51, 229)], ["d:90"]),
        ([("d", 0, 50), ("e", 0, 50), ("d", 10, 20)], ["d:0", "e:0"]),
    ],
)
def test_passages_that_share_half_of_the_shorter_one_are_relevant(spans, chunk_ids) -> None:
    rows, _ = query_rows([query_with(*(Span(*span) for span in spans))], PASSAGES)
    assert rows["relevant_chunk_ids"].to_pylist() == [chunk_ids]


def test_evidence_outside_all_passages_is_reported():
    rows, failures = query_rows([query_with(Span("d", 900, 990)), query_with()], PASSAGES)
    assert rows["relevant_chunk_ids"].to_pylist() == [[], []]
    assert len(failures) == 1
    assert "'q'" in failures[0]
