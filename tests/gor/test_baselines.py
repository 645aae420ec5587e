"""Node2Vec over graphs small enough to know the answer."""

import numpy as np
import pyarrow as pa
import pytest

from gsum_assets.gor.node2vec import anchored_scores, node_vectors, text_scores
from gsum_assets.pipeline.embed import vector_column
from tests.gor.toy_documents import shuffled


def graph(n_nodes, pairs, vectors=None) -> tuple[pa.Table, pa.Table]:
    """Nodes n0, n1, … with unit vectors of the axes unless given, and edges between them."""
    vectors = np.eye(n_nodes) if vectors is None else np.asarray(vectors, float)
    nodes = pa.table(
        {"node_id": [f"n{i}" for i in range(n_nodes)], "embedding": vector_column(vectors)}
    )
    ends = {"source_id": [f"n{a}" for a, _ in pairs], "target_id": [f"n{b}" for _, b in pairs]}
    return nodes, pa.table({name: pa.array(ids, pa.string()) for name, ids in ends.items()})


CLIQUES = [(a + at, b + at) for at in (0, 4) for a in range(4) for b in range(a)]


def node2vec(queries, nodes, edges, n_anchors=3):
    return anchored_scores(queries, nodes, node_vectors(nodes, edges), n_anchors)


def test_texts_are_compared_by_their_vectors():
    vectors = np.random.default_rng(1).normal(size=(5, 8)).astype(np.float32)
    nodes, _ = graph(5, [], vectors)
    queries = np.random.default_rng(2).normal(size=(3, 8)).astype(np.float32)
    np.testing.assert_allclose(text_scores(queries, nodes), queries @ vectors.T, atol=1e-6)


def test_questions_of_another_model_raise():
    nodes, edges = graph(3, [(0, 1)])
    with pytest.raises(ValueError, match="do not match questions of 5 dimensions"):
        node2vec(np.ones((1, 5), np.float32), nodes, edges)


def test_empty_graph_gives_no_scores():
    nodes, edges = graph(3, [])
    assert node2vec(np.ones((2, 3), np.float32), nodes.slice(0, 0), edges).shape == (2, 0)


def test_walks_place_connected_nodes_together():
    nodes, edges = graph(9, CLIQUES)  # two cliques of four, and a node without an edge
    vectors = node_vectors(nodes, edges)
    similar = vectors @ vectors.T
    np.testing.assert_allclose(np.diag(similar), [*np.ones(8), 0], atol=1e-6)
    within = np.kron(np.eye(2), np.ones((4, 4))).astype(bool)
    assert similar[:8, :8][within].min() > similar[:8, :8][~within].max()


def test_question_finds_the_neighbours_of_its_anchors():
    nodes, edges = graph(9, CLIQUES)
    scores = node2vec(np.eye(9, dtype=np.float32)[[1, 6, 8]], nodes, edges, n_anchors=1)
    assert set(np.argsort(-scores[0])[:4]) == {0, 1, 2, 3}
    assert set(np.argsort(-scores[1])[:4]) == {4, 5, 6, 7}
    assert not scores[2].any()  # its anchor is not in the graph


def test_anchors_weigh_by_their_similarity():
    nodes, _ = graph(3, [], np.eye(3))
    vectors = np.array([[1, 0], [0, 1], [0.6, 0.8]])
    scores = anchored_scores(np.array([[0.6, 0.8, -0.1]]), nodes, vectors, n_anchors=3)
    np.testing.assert_allclose(scores, [[0.6, 0.8, 1]], atol=1e-6)


def test_walks_are_reproducible_in_any_row_order():
    nodes, edges = graph(9, CLIQUES)
    queries = np.random.default_rng(3).normal(size=(4, 9)).astype(np.float32)
    scores = node2vec(queries, nodes, edges)
    np.testing.assert_array_equal(scores, node2vec(queries, nodes, shuffled(edges)))
    order = np.random.default_rng(4).permutation(9)
    # other columns of a product may be summed in another order: one step of the rounding at most
    turned = node2vec(queries, nodes.take(order), edges)
    np.testing.assert_allclose(scores[:, order], turned, rtol=0, atol=1.1e-6)


def test_edges_of_other_documents_are_ignored():
    nodes, edges = graph(9, CLIQUES)
    own = nodes.slice(0, 4)
    alone = edges.slice(0, 6)
    np.testing.assert_array_equal(node_vectors(own, edges), node_vectors(own, alone))
