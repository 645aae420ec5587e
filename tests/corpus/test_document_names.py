"""How a document is named where passages are labelled, listed, and searched."""

from datetime import date
from typing import Any

import pytest

from gsum_assets.corpus.document_names import file_stem, says_more, searched_name, shown_name

DAY = date(2024, 3, 12)


def row(title: str, file: str | None, day: date | None = None, source: str = "") -> dict[str, Any]:
    document_id = (file or "row").replace("/", "--").removesuffix(".md")
    names = {"document_id": document_id, "title": title, "file": file}
    return names | {"date": day, "date_source": source or None}


@pytest.mark.parametrize(
    ("document", "shown"),
    [
        (row("Minutes", "a/board.md", DAY, "first lines"), "Minutes (board, 2024-03-12)"),
        (row("Minutes", "2024-03-12 board.md", DAY, "file name"), "Minutes (2024-03-12 board)"),
        (row("Minutes", "b.md", date(2024, 3, 1), "file name, month"), "Minutes (b, 2024-03)"),
        (row("Minutes of the board", "board minutes.pdf"), "Minutes of the board"),
        (row("The mill", "04-the-mill.md"), "The mill"),
        (row("The mill", "the-mill_v2.docx"), "The mill (the-mill_v2)"),
        (row("The mill", "mill.md", DAY, "file time"), "The mill"),
        (row("The mill", None, DAY, "column"), "The mill (2024-03-12)"),
        (row("The mill", None), "The mill"),
        (row("hale--minutes--board", "hale/minutes/board.md"), "hale/minutes/board"),
        ({"document_id": "d", "title": "Of an earlier version"}, "Of an earlier version"),
    ],
)
def test_shown_name(document: dict[str, Any], shown: str) -> None:
    assert shown_name(document) == shown


def test_long_titles_and_files_are_cut_where_it_is_wished() -> None:
    document = row("T" * 150, "b" * 150 + ".md")
    assert shown_name(document) == f"{'T' * 150} ({'b' * 150})"
    assert shown_name(document, 100) == f"{'T' * 100} ({'b' * 100})"


@pytest.mark.parametrize(
    ("file", "stem"),
    [
        *(("People/Jane Doe.md", "Jane Doe"), ("People--Jane Doe", "Jane Doe")),
        *(("a.PDF", "a"), ("report.v2", "report.v2"), ("report.v2.md", "report.v2")),
    ],
)
def test_file_stem(file: str, stem: str) -> None:
    assert file_stem(file) == stem


@pytest.mark.parametrize(
    ("location", "name", "expected"),
    [
        *(("", "Budget", False), ('section "Budget"', "Budget", False), ("page 4", "Budget", True)),
        *(('section "Budget"', "Budget (b, 2024)", False), ('section "Bud"', "Budget", True)),
        ('section "Budget › Roof"', "Budget (b, 2024)", True),
    ],
)
def test_location_that_says_more_than_the_name(location: str, name: str, expected: bool) -> None:
    assert says_more(location, name) == expected


def test_words_of_title_file_and_date_are_searched() -> None:
    words = searched_name(row("Notes", "People/Jane_Doe.md", DAY, "first lines")).split()
    assert {"Notes", "Jane", "Doe", "2024", "12", "march", "märz", "mars"} <= set(words)
    assert "2024" not in searched_name(row("Notes", "a.md", DAY, "file time"))
