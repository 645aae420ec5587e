"""Units of texts by their lines, and the sentences that are read from them."""

import pytest

from gsum_resources.text.records import Record, records
from gsum_resources.text.sentences import (
    Sentence,
    read_sentences,
    render_sentences,
    split_sentences,
)
from gsum_resources.text.speech import is_spoken, speaker_labels

TABLE = "## Sales\n| Shop | Till | Rent |\n|---|---|---|\n| Quay | 2 | 310 |\n| Hill | 1 | 205 |"
FORM = "Member's card\nName: Ulla Brandt\nBorn: 4 May 1961\nBoat: Möwe"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            TABLE,
            [
                Record("Sales", "heading"),
                Record("| Shop | Till | Rent |", "heading", heading="Sales"),
                Record("| Quay | 2 | 310 |", "row", "| Shop | Till | Rent |", "Sales"),
                Record("| Hill | 1 | 205 |", "row", "| Shop | Till | Rent |", "Sales"),
            ],
        ),
        ("| Owner | Ulla |\n| Berth | 7 |", None),
        (FORM, [Record("Member's card"), Record(FORM.partition("\n")[2], "form")]),
        (
            "Bring:\n\n- gloves\n- a spade\nwith a handle\n\nThen dig.",
            [Record("Bring:\n- gloves\n- a spade with a handle", "list"), Record("Then dig.")],
        ),
        (
            "- Roof\n- Any other business",
            [Record("Roof"), Record("Any other business")],
        ),
        ("Present: Ulla, Tom", [Record("Present: Ulla, Tom", "form")]),
        ("Part 2: the ferry", [Record("Part 2: the ferry")]),
        (
            "He wrote to her: come\nand see: the sea\nis calm.",
            [Record("He wrote to her: come and see: the sea is calm.")],
        ),
        (
            "Budget: the clerk reads it.\nRoof: the offer is high.",
            [Record("Budget: the clerk reads it."), Record("Roof: the offer is high.")],
        ),
        (
            "From: Ulla <u@sea.example>\nSubject: the oar\n\nIt is back.",
            [
                Record("From: Ulla <u@sea.example> Subject: the oar", "heading"),
                Record("It is back.", heading="From: Ulla <u@sea.example> Subject: the oar"),
            ],
        ),
        (
            "Date: 4 May\nTenant: Ulla\nRent: 900 a month",
            [Record("Date: 4 May\nTenant: Ulla\nRent: 900 a month", "form")],
        ),
    ],
)
def test_units_of_a_text(text: str, expected: list[Record] | None) -> None:
    if expected is None:  # a table of two columns without a header
        assert [record.kind for record in records(text)] == ["row", "row"]
    else:
        assert list(records(text)) == expected


def test_a_long_form_is_read_by_its_lines_each_below_its_first() -> None:
    lines = ["Name: Ulla Brandt", *(f"Item {n}: {'word ' * 6}".strip() for n in range(9))]
    first, *others = records("\n".join(lines))
    assert first == Record(lines[0], "form")
    assert {record.lead for record in others} == {lines[0]}


def test_the_columns_of_a_row_are_embedded_with_its_cells() -> None:
    row = read_sentences([TABLE])[2]
    assert row.embedded == "Shop: Quay; Till: 2; Rent: 310"
    assert row.text == "| Quay | 2 | 310 |"


def test_records_are_rendered_on_lines_of_their_own_below_their_header() -> None:
    rows = [s for s in read_sentences([TABLE]) if s.kind == "row"]
    said = Sentence("We paid.", "Tom", 1)
    assert render_sentences([said, *rows, Sentence("No.", "Tom", 1)]) == (
        "Tom: We paid.\n\n| Shop | Till | Rent |\n| Quay | 2 | 310 |\n| Hill | 1 | 205 |\nTom: No."
    )


@pytest.mark.parametrize(
    "sentences",
    [
        ["Das Fest ist am 24. August im Hof.", "Der 2. Stock hat Fenster."],
        ["Die Garage Nr. 5 kostet ca. 60 Euro.", "Das gilt z. B. ab dem 1. Juli."],
        ["Mme. Roux est là.", "La Sra. Vega habla."],
        ["He was 24.", "The sea was calm."],
        ["I am 24.", "May I come?"],
    ],
)
def test_sentence_ends_of_several_languages(sentences: list[str]) -> None:
    assert split_sentences(" ".join(sentences)) == sentences


def test_forms_have_no_speakers() -> None:
    assert speaker_labels([FORM]) == frozenset()
    motions = "Motion: sell the boat\nVote: 4 for\n\nMotion: mend the roof\nVote: 9 for"
    assert speaker_labels([motions]) == frozenset()
    votes = (
        "Motion: to mend the roof.\nFor: Ulla, Tom\nAgainst: Ada\n\nMotion: to sell it.\nFor: Ada"
    )
    assert speaker_labels([votes]) == frozenset()
    resolved = "Beschluss: Das Dach wird neu.\n\nBeschluss: Die Kasse stimmt."
    assert speaker_labels([resolved]) == frozenset()
    assert speaker_labels(["An Li: Yes.\nVon Hagen: No.\nAn Li: So be it."]) == {
        "An Li",
        "Von Hagen",
    }
    assert speaker_labels([f"Q\\u: {said}\n\nso\n\nit is" for said in "ab"]) == {"Q\\u"}
    chat = "Ulla: are you there\nTom: yes I am\nUlla: good then\nTom: see you at noon"
    assert speaker_labels([chat]) == {"Ulla", "Tom"}


def test_words_of_other_languages_are_no_fillers() -> None:
    text = "Die Heizkosten sind um 12,5 Prozent gestiegen, und er zahlt um 30 Euro mehr."
    assert not is_spoken(text)
    assert read_sentences([text])[0].text == text
    assert is_spoken("Um, the cost is, uh, twenty euros and it is fine.")
