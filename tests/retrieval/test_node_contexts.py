"""Which nodes an answer is written from."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsum_assets.gor.source_ranks import mean_reciprocal_ranks, source_rank_rows, source_ranks
from gsum_assets.pipeline.embed import vector_column
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.contexts import nodes_within, top_nodes
from tests.gor.toy_graphs import toy_graph

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


# The rank of the source passage of a question, and the entropy over all.

SIMILAR = np.array([[0.9], [0.5], [0.1], [0.7]])  # three chunks, one response


def graph_and_nodes():
    graph = toy_graph("d", n_chunks=3, n_queries=1, k=1)
    return graph, (graph.queries[0] * SIMILAR).astype(np.float32)


@pytest.mark.parametrize(("source", "rank", "chunk_rank"), [(0, 1, 1), (1, 3, 2), (2, 4, 3)])
def test_source_is_ranked_among_all_nodes_and_among_chunks(source, rank, chunk_rank):
    graph, nodes = graph_and_nodes()
    graph.sources[0] = source
    found = source_ranks(graph, nodes, 1.0)
    assert found.among_nodes.tolist() == [rank]
    assert found.among_chunks.tolist() == [chunk_rank]


def test_ties_count_against_the_source_and_have_maximum_entropy():
    graph, nodes = graph_and_nodes()
    found = source_ranks(graph, np.zeros_like(nodes), 0.05)
    assert found.among_nodes.tolist() == [4]
    assert found.entropy == pytest.approx([np.log(4)])


def test_entropy_is_that_of_the_softmax():
    graph, nodes = graph_and_nodes()
    shares = np.exp(SIMILAR.ravel() / 0.5) / np.exp(SIMILAR.ravel() / 0.5).sum()
    wanted = -(shares * np.log(shares)).sum()
    assert source_ranks(graph, nodes, 0.5).entropy == pytest.approx([wanted], rel=1e-5)


def test_question_without_source_has_no_rank():
    graph, nodes = graph_and_nodes()
    graph.sources[0] = -1
    assert len(source_ranks(graph, nodes, 1.0).among_nodes) == 0


def test_ranks_before_and_after_do_not_depend_on_embedding_order():
    learnt, other = toy_graph("learnt"), toy_graph("other", n_queries=3)
    nodes = [*zip(learnt.node_ids, -learnt.features, strict=True)]
    nodes += [*zip(other.node_ids, other.features, strict=True)]
    nodes.reverse()
    table = pa.table(
        {
            "node_id": [str(node) for node, _ in nodes],
            "embedding": vector_column(np.stack([vector for _, vector in nodes])),
        }
    )
    rows = source_rank_rows([learnt, other], table, {"learnt"}, 1.0)
    assert rows["query_id"].to_pylist() == [*learnt.query_ids, *other.query_ids]
    mine = [row for row in rows.to_pylist() if row["is_learnt"]]
    assert [row["document_id"] for row in mine] == ["learnt"] * learnt.n_queries
    for row in rows.to_pylist():
        if not row["is_learnt"]:  # its embeddings are those of the texts
            assert row["rank"] == row["rank_before"]
            assert row["entropy"] == pytest.approx(row["entropy_before"])
        else:  # turned round: what was first is last
            assert row["rank"] == learnt.n_nodes + 1 - row["rank_before"]
    means = mean_reciprocal_ranks(rows)
    dense = means["MRR of the source among chunks, dense, documents never learnt from"]
    assert dense == means["MRR of the source among chunks, trained, documents never learnt from"]
    assert dense == np.mean([1 / r["chunk_rank_before"] for r in rows.to_pylist()[-3:]])
    assert next(iter(means)).startswith("MRR of the source among chunks, dense")
    assert len(means) == 8
    assert source_rank_rows([], table, {"learnt"}, 1.0).num_rows == 0
