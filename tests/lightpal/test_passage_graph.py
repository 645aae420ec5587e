"""Passage graphs as they are walked: numbered as in the collection, one or both ways."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsum_assets.graphs.pagerank import WalkGraph, personalized_pagerank
from gsum_assets.lightpal.passage_graph import PassageGraphs, ScopeGraphs
from gsum_assets.lightpal.passage_walk import PassageWalk, peaked, spread_out, walk_from, walked
from gsum_assets.lightpal.settings import LightpalSettings, WalkSettings
from gsum_assets.retrieval.collection import Collection
from gsum_assets.retrieval.hybrid import min_max
from gsum_assets.retrieval.ranking import Scores
from gsum_resources.store.arrow import pc
from tests.gor.toy_documents import shuffled
from tests.lightpal.toys import Fixed, edge_table, edges_of, ends_of, topic_tables, walk_graph
from tests.retrieval.toys import collection, toy_question

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


def test_row_order_does_not_matter():
    turned = PassageGraphs.of(shuffled(some_edges()), "walk").walked(collection(), "corpus")
    expected = PassageGraphs.of(some_edges(), "walk").walked(collection(), "corpus")
    assert weights(turned.nodes) == weights(expected.nodes)


def test_documents_have_the_edges_among_their_chunks():
    here = Collection.from_tables(*topic_tables(3, 4, 6))
    rows = shuffled(edges_of(here))
    rows = rows.filter(pc.equal(rows["graph"], "walk"))
    within = rows.filter(pc.equal(rows["scope"], "document"))
    within = ends_of(within, here.chunk_ids)
    rows = PassageGraphs.of(rows, "walk", both_ways=True)
    for index in reversed(range(len(here.document_ids))):
        document = here.document(index)
        at = {chunk_id: position for position, chunk_id in enumerate(document.chunk_ids)}
        expected = [
            (at[row["source_id"]], at[row["target_id"]], row["weight"])
            for row in within
            if row["source_id"] in at and row["target_id"] in at
        ]
        assert expected
        expected += [(target, source, weight) for source, target, weight in expected]
        graph = rows.walked(document, "document").nodes
        found = zip(graph.sources, graph.targets, graph.weights, strict=True)
        assert list(found) == expected


def test_documents_do_not_read_the_edges_of_others():
    here = Collection.from_tables(*topic_tables(3, 4, 6))
    graphs = PassageGraphs.of(edges_of(here), "walk")
    graphs.walked(here.document(0), "document")
    object.__setattr__(graphs, "edges", None)  # grouped once, the table is read no more
    assert len(graphs.walked(here.document(1), "document").nodes.sources)


# `passage_walk` between its seeds and its walk.

# 0 is the best seed and leads to 3, which no seed names; 1 and 2 are seeds, too
GRAPH = walk_graph(6, (0, 3), (1, 2), both_ways=True)
SEEDS = np.array([[1.0, 0.5, 0.4, 0.0, 0.0, 0.0]])
WHOLE = WalkSettings(most_trust=1.0)


def order(scores: np.ndarray) -> list[int]:
    return np.argsort(-scores[0], kind="stable").tolist()


def test_walk_known_values():
    # All jumps go to 0: x0 = r + (1 - r) x3, x3 = (1 - r) x0
    found = walk_from(GRAPH, SEEDS[0], WalkSettings(n_teleport=1, restart=0.2))
    assert found == pytest.approx([1 / 1.8, 0, 0, 0.8 / 1.8, 0, 0], abs=2e-6)


@given(st.lists(st.floats(-3, 3), min_size=6, max_size=6))
def test_zero_trust_gives_the_order_of_the_seeds(scores):
    seeds = np.array([scores])
    np.testing.assert_array_equal(walked(GRAPH, seeds, 0.0, WHOLE), min_max(seeds))


def test_full_trust_gives_the_order_of_the_walk():
    found = walked(GRAPH, SEEDS, 1.0, WHOLE)
    walk = walk_from(GRAPH, SEEDS[0], WHOLE)
    assert found[0] == pytest.approx(walk / walk.max())
    assert order(found)[:4] == [0, 3, 1, 2]


def test_passage_reached_only_by_the_graph_is_found():
    assert order(walked(GRAPH, SEEDS, 1.0, WalkSettings()))[1] == 3
    assert order(walked(GRAPH, SEEDS, 0.0, WalkSettings()))[:3] == [0, 1, 2]


def test_trust_weights_the_walk():
    settings = WalkSettings(most_trust=0.8)
    walk = walk_from(GRAPH, SEEDS[0], settings)
    found = walked(GRAPH, SEEDS, 0.5, settings)
    assert found[0] == pytest.approx(0.6 * SEEDS[0] + 0.4 * walk / walk.max())


def test_restarts_favour_the_best_seeds_by_power():
    settings = WalkSettings(n_teleport=3, power=2.0, restart=0.3)
    expected = personalized_pagerank(GRAPH, [0, 1, 2], np.array([1, 1 / 36, 0]), 0.3)
    assert walk_from(GRAPH, SEEDS[0], settings) == pytest.approx(expected, abs=2e-6)


def test_each_level_has_its_own_trust_and_graph():
    for trust, expected in (((1.0, 0.0), ([0, 3], [0, 1])), ((0.0, 1.0), ([0, 1], [0, 5]))):
        found = of_chunks(trust, np.zeros(6, int))  # one community
        assert (order(found.nodes)[:2], order(found.documents)[:2]) == expected


def test_a_community_is_found_together():
    apart, joined = (of_chunks((0.0, 1.0), np.array(c)) for c in (range(6), [0, 1, 2, 3, 4, 0]))
    assert order(apart.documents)[:2] == order(joined.documents)[:2] == [0, 5]
    assert joined.documents[0, 0] == joined.documents[0].max() == pytest.approx(1 + 0.9)
    assert apart.nodes[0, 5] < joined.nodes[0, 5] == pytest.approx(0.9)  # its seed is 0
    untrusted = of_chunks((0.0, 0.0), np.array([0, 1, 2, 3, 4, 0]))
    assert order(untrusted.nodes) == order(SEEDS)


def test_passages_of_one_document_give_way_to_others():
    scores = np.array([0.9, 0.85, 0.8, 0.7, 0.66, 0.1])
    spread_out(scores, np.array([0, 0, 0, 1, 1, 2]), 0.1)
    assert scores == pytest.approx([0.9, 0.75, 0.6, 0.7, 0.56, 0.1])


def of_chunks(trust: tuple[float, float], community: np.ndarray) -> Scores:
    """Scores of documents of one chunk each, whose graph has the edge 0 - 5 alone."""
    graphs = ScopeGraphs(GRAPH, walk_graph(6, (0, 5), both_ways=True))
    walk = PassageWalk(Fixed(SEEDS[0]), graphs, trust, np.arange(6), community, LightpalSettings())
    return walk.scores(toy_question("?"))


def test_graph_without_edges_keeps_the_seed_order():
    found = walked(walk_graph(6), SEEDS, 1.0, WalkSettings())
    assert order(found) == order(SEEDS)


def test_equal_seeds_and_no_questions():
    assert np.isfinite(walked(GRAPH, np.zeros((1, 6)), 1.0, WHOLE)).all()
    assert walked(GRAPH, SEEDS[:0], 1.0, WHOLE).shape == (0, 6)


def test_power_sharpens_the_restarts():
    scores = np.array([0.1, 0.9, 0.5, 0.3])
    best, weights = peaked(scores, 3, 2.0)  # 0.9, 0.5, 0.3 scaled: 1, 1/3, 0
    assert best.tolist() == [1, 2, 3]
    assert weights == pytest.approx([1, 1 / 9, 0])
    assert peaked(scores, 3, 0.0)[1] == pytest.approx([1, 1, 1])
    assert peaked(scores, 100, 1.0)[1] == pytest.approx([1, 1 / 2, 1 / 4, 0])


@pytest.mark.parametrize("n", [1, 3])
def test_equal_scores_restart_equally(n):
    best, weights = peaked(np.full(3, 0.5, np.float32), n, 3.0)
    assert best.tolist() == [*range(n)]
    assert weights.tolist() == [1.0] * n
