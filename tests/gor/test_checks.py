"""The rank of the source passage of a question, and the entropy over all."""

import numpy as np
import pyarrow as pa
import pytest

from gsum_assets.gor.checks import source_rank_rows, source_ranks
from gsum_assets.pipeline.embed import vector_column
from tests.gor.toy_graphs import toy_graph

SIMILAR = np.array([[0.9], [0.5], [0.1], [0.7]])  # three chunks, one response


def graph_and_nodes():
    graph = toy_graph("d", n_chunks=3, n_queries=1, k=1)
    return graph, (graph.queries[0] * SIMILAR).astype(np.float32)


@pytest.mark.parametrize(("source", "rank", "chunk_rank"), [(0, 1, 1), (1, 3, 2), (2, 4, 3)])
def test_source_is_ranked_among_all_nodes_and_among_chunks(source, rank, chunk_rank):
    graph, nodes = graph_and_nodes()
    graph.sources[0] = source
    chunk_ranks, ranks, _ = source_ranks(graph, nodes, 1.0)
    assert (ranks.tolist(), chunk_ranks.tolist()) == ([rank], [chunk_rank])


def test_ties_count_against_the_source_and_have_maximum_entropy():
    graph, nodes = graph_and_nodes()
    _, ranks, entropy = source_ranks(graph, np.zeros_like(nodes), 0.05)
    assert ranks.tolist() == [4]
    assert entropy == pytest.approx([np.log(4)])


def test_entropy_is_that_of_the_softmax():
    graph, nodes = graph_and_nodes()
    shares = np.exp(SIMILAR.ravel() / 0.5) / np.exp(SIMILAR.ravel() / 0.5).sum()
    wanted = -(shares * np.log(shares)).sum()
    assert source_ranks(graph, nodes, 0.5)[2] == pytest.approx([wanted], rel=1e-5)


def test_question_without_source_has_no_rank():
    graph, nodes = graph_and_nodes()
    graph.sources[0] = -1
    assert len(source_ranks(graph, nodes, 1.0)[1]) == 0


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
    assert source_rank_rows([], table, {"learnt"}, 1.0).num_rows == 0
