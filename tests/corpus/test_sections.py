"""Pages and headings by character, and the location of a passage."""

import pyarrow as pa
import pytest

from gsum_assets.corpus.locations import location_of
from gsum_assets.corpus.rows import rows_of
from gsum_assets.corpus.sections import sections_of
from gsum_assets.pipeline.tables import TABLES

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
    assert location_of(rows(".md", BOOK), "a", start, start + len(passage)) == location


def test_passage_before_the_first_heading_gets_the_first_one_inside_it() -> None:
    text = "Intro.\n# First\nText."
    assert location_of(rows(".md", text), "a", 0, len(text)) == 'section "First"'
    assert location_of(rows(".md", text), "a", 0, 5) == ""


@pytest.mark.parametrize(
    ("start", "end", "location"),
    [(0, 10, "page 1"), (9, 11, "pages 1-3"), (10, 12, "page 3"), (25, 26, "page 4")],
)
def test_passage_lies_on_its_pages(start: int, end: int, location: str) -> None:
    # page 2 is empty, and so are the last two
    sections = rows(".pdf", "x" * 26, (0, 10, 10, 20, 28, 30))
    assert location_of(sections, "a", start, end) == location


def test_slides_are_named_and_plain_text_has_no_location() -> None:
    assert location_of(rows(".pptx", "x" * 20, (0, 10)), "a", 12, 15) == "slide 2"
    assert location_of(rows(".txt", "x" * 20), "a", 12, 15) == ""
