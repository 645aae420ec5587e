"""Evidence read for an answer: by chunks, by documents, and in tokens."""

import pyarrow as pa
import pytest

from gsum_assets.evaluation.retrieval_metrics import chunks_within, reading_rows
from gsum_assets.pipeline.family import Read
from tests.rows import rows_of


def read(*rows: tuple[str, str, str | None, str], held: dict | None = None) -> Read:
    """Question, node, document and text of each."""
    table_rows = (
        {"query_id": query_id, "rank": rank, "node_id": node, "document_id": document, "text": text}
        for rank, (query_id, node, document, text) in enumerate(rows, start=1)
    )
    return Read(rows_of("contexts", table_rows), held or {})


def measured(question: dict, found: Read) -> dict[str, float]:
    empty = {"document_id": None, "relevant_chunk_ids": [], "relevant_document_ids": []}
    rows = reading_rows({"q": {**empty, **question}}, found, lambda texts: [len(t) for t in texts])
    return {metric: value for _, metric, value in rows}


def test_marked_evidence_counts() -> None:
    found = read(("q", "a", "d", "xx"), ("q", "b", "d", "yyy"), ("other", "c", "d", "zzzz"))
    values = measured({"relevant_chunk_ids": ["a", "c"], "document_id": "d"}, found)
    assert values == {"context_p": 0.5, "context_r": 0.5, "context_f1": 0.5, "context_tokens": 5.0}


def test_documents_count_without_marked_evidence() -> None:
    found = read(("q", "a", "d", "x"), ("q", "b", "d", "x"), ("q", "c", "e", "x"))
    values = measured({"relevant_document_ids": ["d", "f"]}, found)
    assert values["context_p"] == pytest.approx(2 / 3)
    assert values["context_r"] == 0.5


def test_unmarked_single_document_question_has_only_length() -> None:
    question = {"document_id": "d", "relevant_document_ids": ["d"]}
    found = read(("q", "a", "d", "x"))
    assert measured({**question, "references": ["It is."]}, found) == {"context_tokens": 1.0}
    assert measured(question, found) == {}  # nothing to compare with


def test_longer_text_counts_as_its_chunks() -> None:
    held = {"report": [("a", "d"), ("b", "d"), ("z", "other")]}
    found = read(("q", "report", "d", "told"), ("q", "written", "d", "told"), held=held)
    values = measured({"relevant_chunk_ids": ["a"]}, found)
    assert values["context_p"] == pytest.approx(1 / 3)  # a, b, and a text that holds no chunk
    assert values["context_r"] == 1


def test_nothing_read_gives_zeros() -> None:
    values = measured({"relevant_chunk_ids": ["a"]}, read())
    assert set(values.values()) == {0.0}
    assert len(values) == 4


def test_excerpt_holds_chunks_with_half_inside() -> None:
    rows = [("a", 0, 10), ("b", 10, 20), ("c", 18, 30)]
    chunks = pa.Table.from_pylist(
        [{"chunk_id": c, "document_id": "d", "start": s, "end": e} for c, s, e in rows]
    )
    page = {"page_id": "p", "document_id": "d", "start": 4, "end": 20}
    other = {"page_id": "o", "document_id": "e", "start": 0, "end": 20}
    held = chunks_within(chunks, pa.Table.from_pylist([page, other]), "page_id")
    assert held == {"p": [("a", "d"), ("b", "d")], "o": []}
