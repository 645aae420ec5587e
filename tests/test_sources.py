"""Sources of an answer as shown to a reader."""

from pathlib import Path

import pytest

from gsum_assets.answering.answer_lines import answer_lines
from gsum_assets.answering.ask import Answer
from gsum_assets.answering.sources import Source, sources_of, with_numbers

TITLES = {"a": "The Ferry", "b": "b"}
CHUNKS = [
    {"chunk_id": f"{document}{i}", "document_id": document, "position": i, "start": i, "end": i + 1}
    for document in TITLES
    for i in range(3)
]


def passage(node_id: str, rank: int, kind: str = "chunk", text: str = "Text.") -> dict:
    document_id = node_id[0] if kind == "chunk" else None
    position = int(node_id[1]) if kind == "chunk" else None
    return {"node_id": node_id, "node_kind": kind, "document_id": document_id} | {
        "position": position,
        "rank": rank,
        "text": text,
    }


def test_sources_are_listed_in_reading_order() -> None:
    passages = [passage("a2", 1), passage("b0", 2), passage("a0", 3), passage("r", 4, "report")]
    assert [str(source) for source in sources_of(passages, TITLES, CHUNKS, lambda *where: "")] == [
        "The Ferry, passage 1 of 3",
        "The Ferry, passage 3 of 3",
        "b, passage 1 of 3",
        "report over several documents",
    ]


def test_pages_precede_passages() -> None:
    found = sources_of([passage("a2", 1)], TITLES, CHUNKS, lambda *where: f"page {where[1]}")
    assert str(found[0]) == "The Ferry, page 2"


def source(text: str) -> Source:
    return Source("The Ferry", "page 1", text, "a", "a0")


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        ("It leaked. It sank.", "It leaked. It sank. [1]"),
        ("It leaked. Ann paid.", "It leaked. [1] Ann paid. [2]"),
        ("It floated. Ann paid.", "It floated. Ann paid. [2]"),
        ("Ann: Ann paid.\n– It sank.", "Ann: Ann paid. [2]\n– It sank. [1]"),
    ],
)
def test_numbers_follow_quoted_text(answer: str, shown: str) -> None:
    assert with_numbers(answer, [source("It  leaked. It\nsank."), source("Ann paid.")]) == shown


def test_items_keep_their_marks() -> None:
    answer = "## What happened\n- It leaked.\n1. It sank."
    sources = [source("It leaked."), source("It sank.")]
    assert with_numbers(answer, sources) == "## What happened\n- It leaked. [1]\n1. It sank. [2]"


def test_a_source_that_names_the_speaker_is_preferred() -> None:
    sources = [source("Dov: It sank."), source("Ann: Yes.\nIt sank."), source("It leaked.")]
    assert with_numbers("Ann: It sank. It leaked.", sources) == "Ann: It sank. [2] It leaked. [3]"


def test_addresses_and_hyphens_are_not_broken() -> None:
    address = f"https://example.org/{'long-' * 30}page"
    answer = Answer(f"See {address} there.", [], "", [], "extractive", "hybrid")
    assert any(address in line for line in answer_lines(answer, Path("gsum.toml")))


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("extractive", "it is not a language model. A model is set in [llm] of home/gsum.toml"),
        ("gpt-9", "written by gpt-9"),
    ],
)
def test_last_line_names_the_author(model: str, said: str) -> None:
    answer = Answer("Ann paid.", [], "", [source("Ann paid.")], model, "hybrid")
    lines = list(answer_lines(answer, Path("home/gsum.toml")))
    assert lines[0] == "Ann paid. [1]"
    assert "  1. The Ferry, page 1" in lines
    assert lines[-1].startswith("found by hybrid; ")
    assert lines[-1].endswith(said)
    assert not any("a0" in line for line in lines)
    assert any("a0" in line for line in answer_lines(answer, Path("x"), ids=True))
