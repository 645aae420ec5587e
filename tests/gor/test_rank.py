"""Node2Vec over graphs small enough to know the answer."""

import sys
from importlib.util import find_spec

import numpy as np
import pyarrow as pa
import pytest

from gsum_assets.gor.rank import Node2Vec, node_vectors
from gsum_assets.retrieval.collection import Collection, Questions
from tests.gor.toy_documents import shuffled

has_graspologic = pytest.mark.skipif(
    find_spec("graspologic") is None, reason="graspologic is installed on Python 3.11 only"
)
CLIQUES = [(a + start, b + start) for start in (0, 4) for a in range(4) for b in range(a)]


def edges_of(pairs) -> pa.Table:
    ends = {"source_id": [f"n{a}" for a, _ in pairs], "target_id": [f"n{b}" for _, b in pairs]}
    return pa.table({name: pa.array(ids, pa.string()) for name, ids in ends.items()})


def scores(queries, n_nodes=9, pairs=CLIQUES, n_anchors=3):
    """Scores of nodes n0, n1, … of one document, whose texts' vectors are those of the axes."""
    ids = [f"n{i}" for i in range(n_nodes)]
    starts = np.array([0, n_nodes])
    collection = Collection(["d"], [""], ids, ids, starts, np.eye(n_nodes, dtype=np.float32))
    names = [f"q{i}" for i in range(len(queries))]
    questions = Questions(names, names, [None] * len(names), np.asarray(queries, np.float32))
    return Node2Vec(collection, edges_of(pairs), n_anchors).scores(questions).nodes


@has_graspologic
def test_walks_place_connected_nodes_together_in_any_row_order():
    ids, edges = [f"n{i}" for i in range(9)], edges_of(CLIQUES)  # n8 has no edge
    vectors = node_vectors(ids, edges)
    similar = vectors @ vectors.T
    np.testing.assert_allclose(np.diag(similar), [*np.ones(8), 0], atol=1e-6)
    within = np.kron(np.eye(2), np.ones((4, 4))).astype(bool)
    assert similar[:8, :8][within].min() > similar[:8, :8][~within].max()
    np.testing.assert_array_equal(node_vectors(ids, shuffled(edges)), vectors)
    np.testing.assert_array_equal(node_vectors(ids[::-1], edges), vectors[::-1])


@has_graspologic
def test_edges_of_other_documents_are_ignored():
    ids = [f"n{i}" for i in range(4)]
    alone = node_vectors(ids, edges_of(CLIQUES[:6]))
    np.testing.assert_array_equal(node_vectors(ids, edges_of(CLIQUES)), alone)


@has_graspologic
def test_question_finds_the_neighbours_of_its_anchors():
    found = scores(np.eye(9)[[1, 6, 8]], n_anchors=1)
    assert set(np.argsort(-found[0])[:4]) == {0, 1, 2, 3}
    assert set(np.argsort(-found[1])[:4]) == {4, 5, 6, 7}
    assert not found[2].any()  # its anchor is not in the graph


@has_graspologic
def test_anchors_weigh_by_their_similarity():
    vectors = node_vectors([f"n{i}" for i in range(9)], edges_of(CLIQUES))
    question = np.full((1, 9), -0.1)  # the weight of the third anchor is 0
    question[0, [0, 4]] = 0.6, 0.8
    mean = 0.6 * vectors[0] + 0.8 * vectors[4]
    expected = vectors @ mean / np.linalg.norm(mean)
    np.testing.assert_allclose(scores(question)[0], expected, atol=2e-6)


def test_without_its_package_the_method_names_what_it_needs(monkeypatch):
    monkeypatch.setitem(sys.modules, "graspologic", None)
    monkeypatch.setitem(sys.modules, "graspologic.embed", None)
    with pytest.raises(ModuleNotFoundError, match=r"^node2vec: it needs the package graspologic"):
        scores(np.eye(9)[:1])
