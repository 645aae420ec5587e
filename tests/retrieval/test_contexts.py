"""Rankings to contexts: what the language model is given."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval import ranking
from gsum_assets.retrieval.contexts import full_contexts, nodes_within, top_contexts, top_nodes
from gsum_assets.retrieval.dense import Dense
from gsum_assets.retrieval.ranking import top
from tests.retrieval.toys import collection, rank_questions, toy_questions
from tests.rows import question_rows


def chunks(**documents: int) -> pa.Table:
    """Chunks of 100 tokens, `documents` gives how many each has; rows in reversed order."""
    rows = [
        {"chunk_id": f"{document}{i}", "document_id": document, "position": i, "start": i}
        | {"end": i + 1, "n_tokens": 100, "text": f"text {document}{i}"}
        for document, n in documents.items()
        for i in range(n)
    ]
    return pa.Table.from_pylist(rows[::-1], TABLES["chunks"].schema)


def rankings(*nodes: str) -> pa.Table:
    rows = [
        {"query_id": "q", "level": level, "rank": rank, "item_id": node}
        | {"score": -float(rank), "latency_s": 0.0}
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


ids = st.lists(st.text("abcé中", min_size=1, max_size=4), min_size=1, max_size=30, unique=True)


@given(ids=ids, data=st.data(), depth=st.integers(0, 40))
def test_top_is_a_full_sort_by_score_then_id(ids, data, depth):
    scores = data.draw(
        st.lists(st.sampled_from([-1.0, 0.0, 0.5, 2.0]), min_size=len(ids), max_size=len(ids))
    )
    expected = sorted(range(len(ids)), key=lambda i: (-scores[i], ids[i]))[:depth]
    assert top(np.array([scores]), ids, depth)[0].tolist() == expected


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_nan_score_raises(bad):
    with pytest.raises(ValueError, match=r"'b' for question 1 is -?(nan|inf)"):
        top(np.array([[1.0, 2.0], [1.0, bad]]), ["a", "b"])


def test_rankings_have_the_declared_schema_and_order():
    questions = toy_questions(("?", "boats", 1), ("?", None, 0), ("?", "gone", 1))
    table = rank_questions(Dense, questions, collection())
    assert table.schema == TABLES["rankings"].schema
    found = [(r["query_id"], r["level"], r["rank"], r["item_id"]) for r in table.to_pylist()]
    assert found == [
        ("q0", "document", 1, "boats"),
        ("q0", "node", 1, "c-boat-1"),  # both score 1: the id decides
        ("q0", "node", 2, "c-boat-2"),
        ("q1", "document", 1, "apples"),
        ("q1", "document", 2, "boats"),
        ("q1", "document", 3, "clouds"),
        ("q1", "node", 1, "c-apple-1"),
        ("q1", "node", 2, "c-apple-2"),
        ("q1", "node", 3, "c-boat-1"),
        ("q1", "node", 4, "c-boat-2"),
        ("q1", "node", 5, "c-cloud-1"),
    ]


def test_block_size_does_not_matter(monkeypatch):
    questions = toy_questions(
        *(("?", document, axis) for document in (None, "boats") for axis in range(3))
    )
    whole = rank_questions(Dense, questions, collection())
    monkeypatch.setattr(ranking, "_CELLS_AT_ONCE", 1)
    assert rank_questions(Dense, questions, collection()).equals(whole)


# Contexts of nodes: passages and texts written from them.

TEXTS = ["one two three", "one", "one", "one two", "one two three four"]


def ranked_nodes(texts, order):
    """Nodes with these texts, and the ranking of one question: indices among them, best first."""
    nodes = [
        {"node_id": f"n{i}", "document_id": "d", "kind": "chunk" if i % 2 else "response"}
        | {"position": i, "degree": 0, "text": text, "embedding": [1.0]}
        for i, text in enumerate(texts)
    ]
    ranked = [
        {"query_id": "q", "level": "node", "rank": rank, "item_id": f"n{i}"}
        | {"score": 1 / rank, "latency_s": 0.0}
        for rank, i in enumerate(order, start=1)
    ]
    return (
        pa.Table.from_pylist(ranked, TABLES["rankings"].schema),
        pa.Table.from_pylist(nodes, TABLES["gor.record_nodes"].schema),
    )


def n_words(texts):
    return [len(text.split()) for text in texts]


def test_best_nodes_with_distinct_texts_are_chosen():
    rows = top_nodes(*ranked_nodes(TEXTS, [1, 2, 0, 3]), k=3).to_pylist()
    assert [row["node_id"] for row in rows] == ["n1", "n0", "n3"]
    assert [row["rank"] for row in rows] == [1, 2, 3]
    assert [row["score"] for row in rows] == [1, 1 / 3, 1 / 4]
    assert [row["position"] for row in rows] == [1, None, 3]


def test_verbatim_response_does_not_hide_its_passage():
    rows = top_nodes(*ranked_nodes(["one", "one", "two", "one"], [0, 2, 1, 3]), k=2).to_pylist()
    assert [row["node_id"] for row in rows] == ["n1", "n2"]
    assert [row["node_kind"] for row in rows] == ["chunk", "response"]
    assert [row["score"] for row in rows] == [1, 1 / 2]


def test_node_that_does_not_fit_is_skipped():
    rows = nodes_within(*ranked_nodes(TEXTS, [0, 4, 1, 2, 3]), 6, n_words).to_pylist()
    assert [row["node_id"] for row in rows] == ["n0", "n1", "n3"]
    assert [row["rank"] for row in rows] == [1, 2, 3]


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=12).flatmap(
        lambda sizes: st.tuples(st.just(sizes), st.permutations(range(len(sizes))))
    ),
    st.integers(0, 40),
)
def test_budget_is_kept_and_no_better_node_fits(drawn, budget):
    sizes, order = drawn
    texts = [f"{i} " + "x " * (size - 1) for i, size in enumerate(sizes)]
    rows = nodes_within(*ranked_nodes(texts, order), budget, n_words).to_pylist()
    chosen = [int(row["node_id"][1:]) for row in rows]
    assert sum(sizes[i] for i in chosen) <= budget
    spent = 0
    for i in order:
        assert (i in chosen) == (spent + sizes[i] <= budget)
        spent += sizes[i] if i in chosen else 0
