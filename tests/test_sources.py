"""Sources of an answer as shown to a reader."""

from pathlib import Path

import pytest

from gsum_assets.answering.answer import Answer, Source, Sources
from gsum_assets.answering.renderings import answer_lines, explained
from gsum_assets.evaluation.answer_sentences import shown_lines, with_numbers
from gsum_assets.report.sentences import spans_of

TITLES = {"a": "The Ferry", "b": "b"}
LENGTH = 20  # characters of a chunk
CHUNKS = [
    {"chunk_id": f"{document}{i}", "document_id": document, "position": i}
    | {"start": LENGTH * i, "end": LENGTH * (i + 1)}
    for document in TITLES
    for i in range(3)
]


def passage(
    node_id: str, rank: int, kind: str = "chunk", text: str = "It leaked. It sank.…"
) -> dict:
    document_id = node_id[0] if kind == "chunk" else None
    position = int(node_id[1]) if kind == "chunk" else None
    return {"node_id": node_id, "node_kind": kind, "document_id": document_id} | {
        "position": position,
        "rank": rank,
        "text": text,
    }


def row(sentence: int, kind: str, rank: int | None = None, **others: object) -> dict:
    """Return a row of `answer_sources`."""
    empty = {"source": 1, "text": "It sank.", "cited": None, "chunk_id": None, "document_id": None}
    return {**empty, "sentence": sentence, "kind": kind, "rank": rank, **others}


def sources(passages: list[dict], *rows: dict, locate=lambda *where: "") -> Sources:
    return Sources(
        passages, TITLES, CHUNKS, locate, rows, lambda ids: dict.fromkeys(ids, "It sank.")
    )


def test_sources_are_listed_in_reading_order() -> None:
    passages = [passage("a2", 1), passage("b0", 2), passage("a0", 3), passage("r", 4, "report")]
    assert [str(source) for source in sources(passages).listed()] == [
        "The Ferry, passage 1 of 3",
        "The Ferry, passage 3 of 3",
        "b, passage 1 of 3",
        "report over several documents",
    ]


def test_pages_precede_passages() -> None:
    found = sources([passage("a2", 1)], locate=lambda *where: f"page {where[1]}").listed()
    assert str(found[0]) == "The Ferry, page 40"


def test_sentences_have_the_numbers_of_their_passages() -> None:
    passages = [passage("a2", 1), passage("a0", 2)]
    at = {"chunk_id": "a2", "document_id": "a", "start_char": 51, "end_char": 59}
    found = sources(passages, row(1, "none"), row(2, "quoted", 1, **at))
    assert with_numbers(found.lines("It floated. It sank.")) == "It floated. [?] It sank. [2]"
    first, second = found.listed()
    assert not first.marked
    assert [second.text[slice(*span)] for span in second.marked] == ["It sank."]


def test_rows_below_the_names_of_their_columns_are_marked() -> None:
    text = "| Site | Rent | Tax |\n| Elm | 733 | 4.50 |"  # the chunk is the second line
    at = {"chunk_id": "a1", "document_id": "a", "start_char": 28, "end_char": 31}
    (found,) = sources([passage("a1", 1, text=text)], row(1, "quoted", 1, **at)).listed()
    assert [found.text[slice(*span)] for span in found.marked] == ["733"]
    chunk = CHUNKS[1] | {"text": text}
    assert spans_of([row(1, "quoted", 1, **at)], {"a1": chunk}) == {"a1": [(30, 33)]}


def test_a_sentence_of_a_report_shows_where_it_was_taken_from() -> None:
    report = passage("r", 1, "report", "It leaked. It sank.")
    at = {"chunk_id": "a1", "document_id": "a", "start_char": 20, "end_char": 28}
    (found,) = sources([report], row(1, "quoted", 1, **at)).listed()
    assert [found.text[slice(*span)] for span in found.marked] == ["It sank."]
    assert [(str(origin), origin.text) for origin in found.origins] == [
        ("The Ferry, passage 2 of 3", "It sank.")
    ]


def test_a_chunk_that_was_not_read_is_listed_behind_the_passages() -> None:
    at = {"chunk_id": "b1", "document_id": "b", "start_char": 20, "end_char": 28}
    found = sources([passage("a0", 1)], row(1, "quoted", None, **at))
    assert with_numbers(found.lines("It sank.")) == "It sank. [2]"
    assert [str(source) for source in found.listed()][1:] == ["b, passage 2 of 3"]


@pytest.mark.parametrize(
    ("rows", "shown"),
    [
        ([row(1, "quoted", 1), row(2, "quoted", 1)], "It leaked. Ann paid. [1]"),
        ([row(1, "quoted", 1), row(2, "cited", 2)], "It leaked. [1] Ann paid. [2]"),
        ([row(1, "none"), row(2, "none")], "It leaked. [?] Ann paid. [?]"),
        (
            [row(1, "cited", 1), row(1, "cited", 2, source=2), row(2, "unsupported", cited=3)],
            "It leaked. [1, 2] Ann paid. [3?]",
        ),
        (
            [row(2, "quoted", 1), row(2, "unsupported", source=2, cited=4)],
            "It leaked. Ann paid. [1, 4?]",
        ),
        ([], "It leaked. Ann paid."),
    ],
)
def test_numbers_follow_sentences(rows: list[dict], shown: str) -> None:
    lines = shown_lines("It leaked. Ann paid.", rows, lambda row: row["rank"])
    assert with_numbers(lines) == shown


def test_items_keep_their_marks() -> None:
    rows = [row(1, "quoted", 1), row(2, "quoted", 2)]
    lines = shown_lines(
        "## What happened\n- It leaked.\n1. It sank.", rows, lambda row: row["rank"]
    )
    assert with_numbers(lines) == "## What happened\n- It leaked. [1]\n1. It sank. [2]"


def test_addresses_and_hyphens_are_not_broken() -> None:
    address = f"https://example.org/{'long-' * 30}page"
    answer = Answer(f"See {address} there.", [], "", [], "extractive", "hybrid")
    assert any(address in line for line in answer_lines(answer, Path("gsum.toml")))


def test_marks_behind_doubtful_sentences_are_explained() -> None:
    text = "It sank. Ann paid."
    lines = shown_lines(text, [row(1, "none"), row(2, "unsupported", cited=3)], lambda row: 1)
    shown = list(
        answer_lines(Answer(text, [], model="m", method="dense", lines=lines), "gsum.toml")
    )
    assert shown[0] == "It sank. [?] Ann paid. [3?]"
    assert shown[2] == (
        "[?]: no source was found; [3?]: the model names passage 3, which does not support it"
    )


def test_a_long_source_is_shown_from_its_first_sentence_of_the_answer() -> None:
    source = Source("The Ferry", "page 1", "It leaked. It sank.", "a", "a0", [(11, 19)])
    answer = Answer("It sank.", [], "", [source], "m", "dense")
    assert "     … It sank." in list(answer_lines(answer, "gsum.toml"))


def test_of_many_sources_those_of_the_sentences_are_listed() -> None:
    sources = [Source("The Ferry", f"page {i}", "Ann paid.", "a", f"a{i}") for i in range(1, 31)]
    rows = [row(1, "quoted", 28), row(2, "unsupported", cited=7)]
    lines = shown_lines("Ann paid. It sank.", rows, lambda row: row["rank"])
    answer = Answer("Ann paid. It sank.", [], "", sources, "m", "dense", lines)
    shown = [line for line in answer_lines(answer, "gsum.toml") if "The Ferry" in line]
    assert shown == ["  7. The Ferry, page 7", " 28. The Ferry, page 28"]
    assert "     28 others were read; --ids lists all" in list(answer_lines(answer, "gsum.toml"))
    assert len([x for x in answer_lines(answer, "gsum.toml", ids=True) if "Ferry" in x]) == 30


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("extractive", "it is not a language model. A model is set in [llm] of home/gsum.toml"),
        ("gpt-9", "written by gpt-9"),
    ],
)
def test_last_line_names_the_author(model: str, said: str) -> None:
    source = Source("The Ferry", "page 1", "Ann paid.", "a", "a0")
    lines_of_answer = shown_lines("Ann paid.", [row(1, "quoted", 1)], lambda row: 1)
    answer = Answer("Ann paid.", [], "", [source], model, "hybrid", lines_of_answer)
    lines = list(answer_lines(answer, Path("home/gsum.toml")))
    assert lines[0] == "Ann paid. [1]"
    assert "  1. The Ferry, page 1" in lines
    assert lines[-1].startswith("found by hybrid; ")
    assert lines[-1].endswith(said)
    assert not any("a0" in line for line in lines)
    assert any("a0" in line for line in answer_lines(answer, Path("x"), ids=True))


@pytest.mark.parametrize(
    ("question", "documents", "probability", "shown"),
    [
        (
            "Was it late?",
            ["a", "a"],
            0.8,
            ["yes or no;", "0.800, at least 0.240", "2 passages"],
        ),
        ("Why was it late?", [None], None, ["account;", "answerable: not judged", "1 passage,"]),
        ("Summarize it.", [], 0.1, ["chronology;", "0.100, less than 0.240", "0 passages"]),
    ],
)
def test_an_answer_is_explained_by_kind_probability_and_what_was_read(
    question: str, documents: list, probability: float | None, shown: list[str]
) -> None:
    verdict = {"probability": probability, "threshold": 0.24, "is_answered": probability != 0.1}
    passages = [{"document_id": document_id} for document_id in documents]
    lines = explained(question, "dense", passages, verdict).splitlines()
    for line, part in zip(lines, shown, strict=True):
        assert part in line
