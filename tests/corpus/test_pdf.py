"""PDF files: lines, columns, running lines, page borders, raised characters, broken fonts."""

import json
import re
from pathlib import Path

import pytest

from gsum_assets.corpus.conversion.formats import ConversionError
from gsum_assets.corpus.conversion.marks import raised
from gsum_assets.corpus.conversion.pdf import Line, joined
from gsum_assets.corpus.conversion.worker import convert
from gsum_assets.corpus.load import load
from gsum_assets.pipeline.corpus_settings import CorpusSettings
from tests.corpus.office_files import drawn_pdf, pdf

LEFT = [
    "The orchard behind the chapel was",
    "planted in 1911 by a widow who had",
    "bought the land from the railway.",
    "She sold plums and cider until the",
    "war, when the trees were given to",
    "the parish for one shilling a year.",
]
RIGHT = [
    "A tram to the harbour ran from the",
    "market square every ten minutes and",
    "was drawn by two horses. Its driver",
    "was Paul Frey, whose whistle people",
    "still remember. In a storm the tram",
    "was blown from the rails in 1899.",
]
PROSE = "The gardener of the northern park counted the swans by the pond and wrote the number down"
NUMBERED = [
    [
        f"Ward {page}: 310 beds",
        *[f"Row {row}: {row * page + 40}" for row in range(8)],
        f"Total {page * 37}",
    ]
    for page in range(1, 7)
]


def columns(left: list[str], right: list[str], order: str) -> bytes:
    places = [[(50, 700 - 13 * i, 10, line) for i, line in enumerate(left)],
              [(310, 700 - 13 * i, 10, line) for i, line in enumerate(right)]]  # fmt: skip
    drawn = {
        "columns": places[0] + places[1],
        "right first": places[1] + places[0],
        "rows": [place for pair in zip(*places, strict=True) for place in pair],
    }
    head = (50, 740, 16, "Two stories of the old town, told by those who lived there then")
    return drawn_pdf([[head, *drawn[order]]])


def with_edges(bodies: list[list[str]], head: str, foot: str) -> bytes:
    """Pages with a header and a footer, in which # is the number of the page."""
    return drawn_pdf(
        [
            [
                (50, 800, 10, head.replace("#", str(page))),
                *[(50, 740 - 14 * i, 10, line) for i, line in enumerate(lines)],
                (50, 40, 10, foot.replace("#", str(page))),
            ]
            for page, lines in enumerate(bodies, 1)
        ]
    )


@pytest.mark.parametrize("order", ["columns", "right first", "rows"])
def test_columns_of_prose_are_read_one_after_the_other(order: str) -> None:
    words = convert(".pdf", columns(LEFT, RIGHT, order)).text.split()
    assert words[-76:] == " ".join([*LEFT, *RIGHT]).split()[-76:]
    assert words[:2] == ["Two", "stories"]


def test_long_columns_that_are_drawn_by_rows_are_read_one_after_the_other() -> None:
    words = convert(".pdf", columns(LEFT * 6, RIGHT * 6, "rows")).text.split()
    assert words[-76 * 6 :] == " ".join([*LEFT * 6, *RIGHT * 6]).split()[-76 * 6 :]


def test_a_table_drawn_by_rows_stays_in_rows() -> None:
    left = [f"Bridge number {i} over the canal" for i in range(6)]
    right = [f"Costs of the repair: {i * 71 + 300} pounds" for i in range(6)]
    text = " ".join(convert(".pdf", columns(left, right, "rows")).text.split())
    assert all(f"{a} {b}" in text for a, b in zip(left, right, strict=True))


def test_columns_of_a_turned_page_are_read_one_after_the_other() -> None:
    places: list[tuple[float, float, float, str]] = [((50, 320)[side], 500 - 13 * i, 10, line)
              for i, pair in enumerate(zip(LEFT, RIGHT, strict=True))
              for side, line in enumerate(pair)]  # fmt: skip
    words = convert(".pdf", drawn_pdf([places], rotated=90)).text.split()
    assert words == " ".join([*LEFT, *RIGHT]).split()


@pytest.mark.parametrize("n_pages", [2, 3, 5, 12])
@pytest.mark.parametrize("foot", ["Parish of Ely, page # of 9", "#", "- # -", "Tel. 0123 / 4567"])
def test_running_lines_are_left_out_and_counted(n_pages: int, foot: str) -> None:
    bodies = [[f"{PROSE} {i}", f"and {i}"] for i in range(100, 112)]
    found = convert(".pdf", with_edges(bodies[:n_pages], "Report of the parish", foot))
    assert found.text.count("Report of the parish") == 1  # on the first page: perhaps the title
    assert re.search(r"Tel|page|\b[1-9]\b", found.text) is None
    assert f"{2 * n_pages - 1} running lines" in found.left_out
    assert '"Report of the parish"' in found.left_out


@pytest.mark.parametrize(
    ("n_pages", "foot", "is_left_out"),
    [
        (1, "Page # of 1", True),
        (1, "Seite # von 1", True),
        (3, "# of 3", True),
        (1, "Page # of 9", False),
        (1, "# 1", False),
        (1, "Lot # of 1", False),
    ],
)
def test_the_number_of_a_page_among_all_runs_alone(
    n_pages: int, foot: str, is_left_out: bool
) -> None:
    bodies = [[f"{PROSE} {word}", f"and {word}"] for word in ("one", "two", "three")]
    pages = with_edges(bodies[-n_pages:], "", foot)
    shown = foot.replace("#", "1")
    found = convert(".pdf", pages)
    assert (shown not in found.text) == is_left_out
    assert (shown in found.left_out) == is_left_out


def test_what_is_left_out_is_in_the_metadata_of_the_document(tmp_path: Path) -> None:
    bodies = [[f"{PROSE} {i}"] for i in range(4)]
    (tmp_path / "a.pdf").write_bytes(with_edges(bodies, "Report of the parish", "Page #"))
    [document], _ = load(tmp_path, CorpusSettings())
    left_out = json.loads(document.metadata or "")["left_out"]
    assert left_out == '7 running lines ("Report of the parish", "Page 1")'


def test_rows_that_differ_in_numbers_are_no_running_lines() -> None:
    found = convert(".pdf", pdf(NUMBERED))
    words = [word for page in NUMBERED for line in page for word in line.split()]
    assert found.text.split() == words
    assert found.left_out == ""


@pytest.mark.parametrize(
    ("head", "foot"),
    [
        ("The budget of 20# is 300", "Signed in 20#"),
        ("Day #", "Lot #"),
        ("Meeting #", "#00 pounds in all"),
        ("Minutes of the meeting of the board #", "Page of the ledger: #0"),
        ("", ""),
    ],
)
def test_lines_that_say_something_about_their_page_stay(head: str, foot: str) -> None:
    heads = [[f"{PROSE} {word}"] for word in ["one", "two", "three", "four", "five"]]
    pages = with_edges(heads, head.replace("20#", "20#0"), foot.replace("20#", "20#0"))
    text = convert(".pdf", pages).text
    for page in range(1, 6):
        for line in (head, foot):
            said = line.replace("20#", f"20{page}0").replace("#", str(page))
            assert said in text


def test_lines_of_the_text_that_repeat_below_a_header_stay() -> None:
    bodies = [["Paid by cheque.", f"{PROSE} {i}", "Thanks to all."] for i in range(5)]
    found = convert(".pdf", with_edges(bodies, "Report of the parish", "Page #"))
    assert found.text.count("Paid by cheque.") == found.text.count("Thanks to all.") == 5


def test_a_page_number_apart_from_a_title_runs_with_it() -> None:
    pages = [
        [(50, 800, 10, "Chapter 2: Ferries"), (540, 800, 10, f"{page}"),
         *[(50, 740 - 14 * i, 10, f"{PROSE} {page}{i}") for i in range(3)]]
        for page in range(17, 21)
    ]  # fmt: skip
    found = convert(".pdf", drawn_pdf(pages))
    assert "Ferries" not in found.text
    assert found.left_out == '4 running lines ("Chapter 2: Ferries 17")'


def test_a_line_that_stands_elsewhere_on_each_page_stays() -> None:
    pages = [[f"{PROSE} {i}"] * (i + 1) + ["Approved by the chair."] for i in range(5)]
    assert convert(".pdf", pdf(pages)).text.count("Approved by the chair.") == 5


def test_a_sentence_goes_on_over_the_border_of_a_page() -> None:
    bodies = [[f"{PROSE} and", f"{PROSE} in the exam-"], ["ple of the town. Then it rained."]]
    found = convert(".pdf", with_edges(bodies, "Parish of Ely, draft of May", "Page #"))
    assert "down in the example of the town." in found.text
    assert found.text[found.page_starts[1] :].startswith("ple of the town")
    apart = convert(".pdf", pdf([[PROSE + "."], ["The next page begins anew, with " + PROSE]]))
    assert f"{PROSE}.\n\nThe next" in apart.text


@pytest.mark.parametrize(
    ("first", "second", "read"),
    [
        ("The report was read by Ann Lee-", "Hart and it", "Ann Lee-Hart"),
        ("The report is filed as form B-", "41 in the it", "form B-41"),
        ("The report has a long chapter on ex-", "changed stamps", "exchanged stamps"),
        ("The report has well-known words of a well-", "known man", "well-known man"),
        ("The report speaks of short trains, short-", "lived and lived", "short-lived"),
        ("The report is kept in /usr/share/doc/", "ely/report", "/usr/share/doc/ely/report"),
    ],
)
def test_hyphens_at_line_ends(first: str, second: str, read: str) -> None:
    assert read in convert(".pdf", pdf([[first, second + " is short and lived long."]])).text


def test_paragraph_lines_are_joined() -> None:
    wide = "The harbour master wrote to the clerk that the new bridge was very wide and that"
    lines = [
        wide,
        "known in all of the town.",
        "A short line",
        "• an item of a list, which is as wide as the lines of this paragraph are",
        "Contents . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . 3",
        "Pier 3: 400 metres of rope and a light, which were bought in the spring of 1980",
        "Pier 4: 500 metres of rope and a bell, which were bought in the winter of 1981.",
    ]
    text, starts = joined([[Line(line) for line in lines]])
    assert text.split("\n") == [f"{wide} {lines[1]}", *lines[2:]]
    assert starts == [0]


RAISED = [
    ("It costs 10", "6", " euro", "It costs 10^6 euro"),
    ("In 1906", "3", " the mill burnt", "In 1906 [3] the mill burnt"),
    ("It has 40 m", "2", " of floor", "It has 40 m^2 of floor"),
    ("She said so.", "12", " Then", "She said so. [12] Then"),
    ("in the 19", "th", " century", "in the 19th century"),
    ("about 10", "-3", " grams", "about 10^-3 grams"),
    ("the ferry", "2,3", " sank", "the ferry [2,3] sank"),
]


@pytest.mark.parametrize(("before", "run", "after", "read"), RAISED)
def test_raised_characters_are_marked(before: str, run: str, after: str, read: str) -> None:
    assert before + raised(before, run) + after == read
    page = [(50, 700, 10, f"{before}{{^{run}}}{after}")]
    assert convert(".pdf", drawn_pdf([page])).text == read


def test_fractions_are_not_glued_to_numbers() -> None:
    page = [(50, 700, 10, "Add 2"), (76, 704, 6, "1"), (76, 697, 6, "3"), (82, 700, 10, " cups")]
    line = (50, 600, 10, "Add 2{^1}/{_3} cups of H{_2}O")
    text = convert(".pdf", drawn_pdf([[*page, line]])).text
    assert text.split("\n") == ["Add 2 1/3 cups", "Add 2 1/3 cups of H2O"]


def caesar(text: str, by: int) -> str:
    return "".join(
        chr((ord(c) - first + by) % 26 + first) if c.isalpha() else c
        for c in text
        for first in [65 if c.isupper() else 97]
    )


VALID = [
    ["Invoice 4711", "Pump XR-40 120.00", "Hose 12 mm 9.50", "VAT 19%", "Sum 154.11"],
    ["Der Verein hat im Mai getagt und die Kasse geprüft".replace("ü", "ue"), "Es gab Kuchen."],
    ["mkdir chmod grep strcmp printf fscanf mv cp rm ls df", "sync mknod tcpdump nfs xml"],
    ["Bwrdd y dref: mae cwrw yn y dafarn ac ar y bwrdd", "Mae hi yn bwrw glaw"],
    ["Anna Nowak", "Petr Novak", "Jan Krk", "Vlk Trn", "Smrt Prst Krv"],
]


@pytest.mark.parametrize("lines", [*VALID, LEFT, [PROSE]])
def test_letters_of_any_language_are_read(lines: list[str]) -> None:
    assert convert(".pdf", pdf([lines])).left_out == ""


@pytest.mark.parametrize("by", [3, 13, 22])
def test_broken_fonts_are_refused_with_a_remedy(by: int) -> None:
    broken = [caesar(line, by) for line in (*LEFT, *RIGHT)]
    with pytest.raises(ConversionError, match=r"broken font map.*ocrmypdf"):
        convert(".pdf", pdf([broken]))
    page = [(50, 700 - 14 * i, 10, line) for i, line in enumerate(LEFT)]
    with pytest.raises(ConversionError, match=r"broken font map.*ocrmypdf"):
        convert(".pdf", drawn_pdf([page], private=True))
    glyphs = ["".join(chr(ord(c) - 29) if c > "A" else c for c in line) for line in LEFT]
    with pytest.raises(ConversionError, match=r"broken font map.*ocrmypdf"):
        convert(".pdf", pdf([glyphs]))


def test_a_permuted_font_is_refused() -> None:
    table = str.maketrans("abcdefghijklmnopqrstuvwxyz", "qzxkvjwbpgyfmhcldtrnsuoaei")
    with pytest.raises(ConversionError, match="broken font map"):
        convert(".pdf", pdf([[line.translate(table) for line in (*LEFT, *RIGHT)]]))


def test_a_heading_in_a_broken_font_is_counted() -> None:
    found = convert(".pdf", pdf([[caesar("The repairs and their cost", 5), "", PROSE + "."]]))
    assert found.text == f"{PROSE}."
    assert found.left_out.startswith("1 line in a broken font")


def test_comments_and_form_fields_are_read() -> None:
    notes = (
        "<< /Type /Annot /Subtype /Text /Rect [9 9 20 20] /T (Ann) /Contents (Too dear.) >>"
        "<< /Type /Annot /Subtype /Widget /FT /Tx /Rect [9 9 90 20] /T (Born) /V (1 May 1970) >>"
        "<< /Type /Annot /Subtype /Widget /FT /Btn /Rect [9 9 20 20] /T (Member) /V /Yes >>"
    )
    page = [(50, 700, 10, "The roof costs 900.")]
    found = convert(".pdf", drawn_pdf([page, page], annotations=notes))
    first = found.text[: found.page_starts[1]]
    assert "[comment, Ann: Too dear.]" in first
    assert "\nBorn: 1 May 1970" in first
    assert "\nMember: Yes" in first


def test_text_that_is_marked_as_struck_out_is_marked() -> None:
    struck = (
        "<< /Type /Annot /Subtype /StrikeOut /Rect [85 695 142 715] "
        "/QuadPoints [85 715 142 715 85 695 142 695] >>"
    )
    page = [
        (50.0, 700.0, 10.0, "The fee of forty euro is due and has"),
        (50.0, 688.0, 10.0, "long been paid."),
    ]
    text = convert(".pdf", drawn_pdf([page], annotations=struck)).text
    assert text == "The fee ~~of forty euro~~ is due and has long been paid."
