"""Which nodes an answer is written from."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.contexts import nodes_within, top_nodes

TEXTS = ["one two three", "one", "one", "one two", "one two three four"]


def tables(texts, order):
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
    rows = top_nodes(*tables(TEXTS, [1, 2, 0, 3]), k=3).to_pylist()
    assert [row["node_id"] for row in rows] == ["n1", "n0", "n3"]
    assert [row["rank"] for row in rows] == [1, 2, 3]
    assert [row["score"] for row in rows] == [1, 1 / 3, 1 / 4]
    assert [row["position"] for row in rows] == [1, None, 3]


def test_verbatim_response_does_not_hide_its_passage():
    rows = top_nodes(*tables(["one", "one", "two", "one"], [0, 2, 1, 3]), k=2).to_pylist()
    assert [row["node_id"] for row in rows] == ["n1", "n2"]
    assert [row["node_kind"] for row in rows] == ["chunk", "response"]
    assert [row["score"] for row in rows] == [1, 1 / 2]


def test_node_that_does_not_fit_is_skipped():
    rows = nodes_within(*tables(TEXTS, [0, 4, 1, 2, 3]), 6, n_words).to_pylist()
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
    rows = nodes_within(*tables(texts, order), budget, n_words).to_pylist()
    chosen = [int(row["node_id"][1:]) for row in rows]
    assert sum(sizes[i] for i in chosen) <= budget
    spent = 0
    for i in order:
        assert (i in chosen) == (spent + sizes[i] <= budget)
        spent += sizes[i] if i in chosen else 0
