"""Passage graphs as they are walked: numbered as in the collection, one or both ways."""

import numpy as np
import pyarrow as pa

from gsum_assets.graphs.pagerank import WalkGraph
from gsum_assets.lightpal.passage_graph import PassageGraphs
from tests.lightpal.toys import edge_table
from tests.retrieval.toys import collection

EDGES = (
    ("walk", "node", "corpus", "c-apple-1", "c-boat-1", 4.0),
    ("walk", "node", "corpus", "c-boat-1", "c-apple-1", 1.0),
    ("walk", "node", "corpus", "c-boat-1", "c-cloud-1", 2.0),
    ("walk", "node", "corpus", "c-boat-1", "c-of-a-document-that-went", 9.0),
    ("walk", "node", "document", "c-boat-1", "c-boat-2", 3.0),
    ("walk", "document", "corpus", "clouds", "apples", 5.0),
    ("context", "node", "corpus", "c-cloud-1", "c-boat-2", 1.0),
)


def some_edges() -> pa.Table:
    names = ("graph", "level", "scope", "source_id", "target_id", "weight")
    return edge_table(dict(zip(names, row, strict=True)) for row in EDGES)


def weights(graph: WalkGraph) -> dict[tuple[int, int], float]:
    """Weight of each step."""
    steps: dict[tuple[int, int], float] = {}
    for source, target, weight in zip(graph.sources, graph.targets, graph.weights, strict=True):
        steps[source, target] = steps.get((source, target), 0.0) + weight
    return steps


def test_edges_belong_to_one_graph_of_existing_passages():
    graphs = PassageGraphs.of(some_edges(), "walk").walked(collection(), "corpus")
    assert weights(graphs.nodes) == {(0, 2): 4.0, (2, 0): 1.0, (2, 4): 2.0}
    assert weights(graphs.documents) == {(2, 0): 5.0}
    assert (graphs.nodes.n_nodes, graphs.documents.n_nodes) == (5, 3)


def test_opposite_edges_add_up_in_both_directions():
    graphs = PassageGraphs.of(some_edges(), "walk", both_ways=True).walked(collection(), "corpus")
    steps = {(0, 2): 5.0, (2, 0): 5.0, (2, 4): 2.0, (4, 2): 2.0}
    assert weights(graphs.nodes) == steps
    assert weights(graphs.documents) == {(2, 0): 5.0, (0, 2): 5.0}
    assert graphs.nodes.is_symmetric


def test_document_graph_has_its_own_edges():
    boats = collection().document(1)
    graphs = PassageGraphs.of(some_edges(), "walk").walked(boats, "document")
    assert weights(graphs.nodes) == {(0, 1): 3.0}
    assert (graphs.nodes.n_nodes, graphs.documents.n_nodes) == (2, 1)
    assert weights(graphs.documents) == {}


def test_graph_without_edges_has_its_nodes():
    graphs = PassageGraphs.of(some_edges(), "embedding").walked(collection(), "corpus")
    assert (graphs.nodes.n_nodes, graphs.documents.n_nodes) == (5, 3)
    assert len(graphs.nodes.sources) == len(graphs.documents.sources) == 0
    assert graphs.nodes.weights.dtype == np.float64
