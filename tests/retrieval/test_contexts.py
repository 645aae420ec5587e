"""Rankings to contexts: what the language model is given."""

import pyarrow as pa
import pytest

from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.contexts import full_contexts, top_contexts
from tests.rows import question_rows


def chunks(**documents: int) -> pa.Table:
    """Chunks of 100 tokens, `documents` gives how many each has; rows in reversed order."""
    rows = [
        {
            "chunk_id": f"{document}{i}",
            "document_id": document,
            "position": i,
            "start": i,
            "end": i + 1,
            "n_tokens": 100,
            "text": f"text {document}{i}",
        }
        for document, n in documents.items()
        for i in range(n)
    ]
    return pa.Table.from_pylist(rows[::-1], TABLES["chunks"].schema)


def rankings(*nodes: str) -> pa.Table:
    rows = [
        {
            "query_id": "q",
            "level": level,
            "rank": rank,
            "item_id": node,
            "score": -float(rank),
            "latency_s": 0.0,
        }
        for level in ("node", "document")
        for rank, node in enumerate(nodes, start=1)
    ]
    return pa.Table.from_pylist(rows, TABLES["rankings"].schema)


def queries(**scopes: str | None) -> pa.Table:
    return question_rows(*({"query_id": q, "document_id": d} for q, d in scopes.items()))


def test_k_best_with_their_texts() -> None:
    found = top_contexts(rankings("b1", "a0", "b0"), chunks(a=2, b=2), 2)
    columns = ["rank", "node_id", "document_id", "position", "text", "score"]
    assert [tuple(row.values()) for row in found.select(columns).to_pylist()] == [
        (1, "b1", "b", 1, "text b1", -1.0),
        (2, "a0", "a", 0, "text a0", -2.0),
    ]


def test_node_that_is_no_chunk_raises() -> None:
    with pytest.raises(ValueError, match=r"1 ranked chunks are not in the corpus.*first: 'z9'"):
        top_contexts(rankings("a0", "z9"), chunks(a=1), 6)


def test_full_context_is_the_scope_in_reading_order() -> None:
    found = full_contexts(queries(all=None, one="b"), chunks(a=2, b=2), 400).to_pylist()
    assert [r["node_id"] for r in found if r["query_id"] == "all"] == ["a0", "a1", "b0", "b1"]
    assert [r["node_id"] for r in found if r["query_id"] == "one"] == ["b0", "b1"]
    assert {r["sample"] for r in found} == {0}


def test_scope_exceeding_the_window_is_split_into_spans() -> None:
    found = full_contexts(queries(q="a"), chunks(a=10), 300, 2).to_pylist()
    for sample in (0, 1):
        positions = [r["position"] for r in found if r["sample"] == sample]
        assert positions == list(range(positions[0], positions[0] + 3))
    assert len({r["position"] for r in found if r["rank"] == 1}) == 2
    assert found == full_contexts(queries(q="a"), chunks(a=10), 300, 2).to_pylist()
