"""`passage_walk`: seeds and walk, communities, and how far a graph is trusted."""

from functools import cache
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsum_assets.graphs.pagerank import WalkGraph
from gsum_assets.lightpal import passage_walk
from gsum_assets.lightpal.passage_graph import PassageGraphs, ScopeGraphs
from gsum_assets.lightpal.passage_walk import (
    PassageWalk,
    communities,
    community_of,
    means_of,
    peaked,
    spread_out,
    walk_from,
    walk_trust,
    walked,
)
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval import held_out as module
from gsum_assets.retrieval.collection import Collection
from gsum_assets.retrieval.held_out import Evidence, trust
from gsum_assets.retrieval.hybrid import min_max
from gsum_assets.retrieval.ranking import Scores
from gsum_resources.store.arrow import pc
from tests.lightpal.toys import (
    EMPTY,
    Fixed,
    documents_of,
    edge_table,
    edges_of,
    ends_of,
    topic_tables,
    walk_graph,
)
from tests.retrieval.toys import toy_question

# `passage_walk` between its seeds and its walk.

# 0 is the best seed and leads to 3, which no seed names; 1 and 2 are seeds, too
GRAPH = walk_graph(6, (0, 3), (1, 2), both_ways=True)
SEEDS = np.array([[1.0, 0.5, 0.4, 0.0, 0.0, 0.0]])


def order(scores: np.ndarray) -> list[int]:
    return np.argsort(-scores[0], kind="stable").tolist()


def test_walk_known_values():
    # All jumps go to 0: x0 = r + (1 - r) x3, x3 = (1 - r) x0
    with patch.multiple(passage_walk, N_RESTARTS=1, RESTART=0.2):
        found = walk_from(GRAPH, SEEDS[0])
    assert found == pytest.approx([1 / 1.8, 0, 0, 0.8 / 1.8, 0, 0], abs=2e-6)


@given(st.lists(st.floats(-3, 3), min_size=6, max_size=6))
def test_zero_trust_gives_the_order_of_the_seeds(scores):
    seeds = np.array([scores])
    np.testing.assert_array_equal(walked(GRAPH, seeds, 0.0), min_max(seeds))


def test_passage_reached_only_by_the_graph_is_found():
    assert order(walked(GRAPH, SEEDS, 1.0))[1] == 3
    assert order(walked(GRAPH, SEEDS, 0.0))[:3] == [0, 1, 2]


def test_each_level_has_its_own_trust_and_graph():
    for trusts, expected in (((1.0, 0.0), ([0, 3], [0, 1])), ((0.0, 1.0), ([0, 1], [0, 5]))):
        found = of_chunks(trusts, np.zeros(6, int))  # one community
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


def of_chunks(trusts: tuple[float, float], community: np.ndarray) -> Scores:
    """Scores of documents of one chunk each, whose graph has the edge 0 - 5 alone."""
    graphs = ScopeGraphs(GRAPH, walk_graph(6, (0, 5), both_ways=True))
    walk = PassageWalk(Fixed(SEEDS[0]), graphs, trusts, np.arange(6), community)
    return walk.scores(toy_question("?"))


def test_equal_seeds_and_no_questions():
    assert np.isfinite(walked(GRAPH, np.zeros((1, 6)), 1.0)).all()
    assert walked(GRAPH, SEEDS[:0], 1.0).shape == (0, 6)


def test_power_sharpens_the_restarts():
    scores = np.array([0.1, 0.9, 0.5, 0.3])
    best, weights = peaked(scores, 3, 2.0)  # 0.9, 0.5, 0.3 scaled: 1, 1/3, 0
    assert best.tolist() == [1, 2, 3]
    assert weights == pytest.approx([1, 1 / 9, 0])
    assert peaked(scores, 3, 0.0)[1] == pytest.approx([1, 1, 1])
    assert peaked(scores, 100, 1.0)[1] == pytest.approx([1, 1 / 2, 1 / 4, 0])


# Communities of documents, on groups that anyone can see.

IDS = [f"d{i}" for i in range(9)]
GROUP = np.repeat([0, 1], [4, 5])


def graph(ids: list[str]) -> WalkGraph:
    """Two groups, joined by one edge; the nodes are in the order of `ids`."""
    group = np.array([GROUP[IDS.index(name)] for name in ids])
    sources, targets = np.nonzero((group[:, None] == group) & ~np.eye(9, dtype=bool))
    sources, targets = np.append(sources, ids.index("d0")), np.append(targets, ids.index("d8"))
    return WalkGraph(9, sources, targets, np.ones(len(sources)))


def groups(rows: pa.Table) -> set[frozenset[str]]:
    of: dict[int, set[str]] = {}
    for row in rows.to_pylist():
        of.setdefault(row["community"], set()).add(row["document_id"])
    return {frozenset(members) for members in of.values()}


def test_groups_are_found_in_any_order() -> None:
    expected = {frozenset(IDS[:4]), frozenset(IDS[4:])}
    for ids in (IDS, IDS[::-1]):
        assert groups(communities(graph(ids), ids)) == expected
    assert communities(WalkGraph(0, *np.empty((3, 0), int)), []).num_rows == 0


def test_the_same_groups_are_found_among_many_others() -> None:
    """By modularity alone neighbouring groups join when the corpus grows."""
    n_groups, size = 300, 5
    group = np.repeat(np.arange(n_groups), size)
    inner = np.nonzero((group[:, None] == group) & ~np.eye(len(group), dtype=bool))
    ring = np.arange(0, len(group), size), np.roll(np.arange(0, len(group), size), -1)
    sources, targets = (np.concatenate(ends) for ends in zip(inner, ring, strict=True))
    ids = [f"{i:05}" for i in range(len(group))]
    whole = WalkGraph(len(ids), sources, targets, np.ones(len(sources)))
    assert len(groups(communities(whole, ids))) == n_groups
    assert len(groups(communities(whole, ids, len(ids)))) < n_groups


def test_a_document_without_a_row_is_alone() -> None:
    rows = communities(graph(IDS), IDS)
    found = community_of(rows, ["d1", "new", "d3", "d7", "other"])
    assert found[0] == found[2]
    assert len(set(found.tolist())) == 4
    assert set(found.tolist()) == set(range(4))


def test_means_are_those_of_a_community() -> None:
    scores = np.array([[1.0, 0.0, 3.0, 6.0], [0.0, 2.0, 0.0, 0.0]])
    found = means_of(scores, np.array([1, 0, 1, 0]))
    assert found.tolist() == [[2.0, 3.0, 2.0, 3.0], [0.0, 1.0, 0.0, 1.0]]


# Trust in a graph that joins what belongs together, and in one that does not.


def test_trust_known_values():
    def of(*differences: float) -> float:
        return trust(Evidence(np.array(differences), np.zeros(len(differences))))

    assert of(1.0, 3.0) == pytest.approx(0.97725, abs=1e-5)  # 2 standard errors above 0
    assert of(-1.0, -3.0) == pytest.approx(0.02275, abs=1e-5)
    assert of(1.0, -1.0) == pytest.approx(0.5)
    assert (of(0.5, 0.5), of(0.0, 0.0), of(-0.5, -0.5)) == (1.0, 0.5, 0.0)
    assert of(5.0) == of() == 0.0  # of one passage nothing follows


@cache
def topics() -> Collection:
    """60 documents of 10 topics, 3 chunks each."""
    return Collection.from_tables(*topic_tables(10, 6, 3))


@cache
def books() -> Collection:
    """4 documents, each of 30 chunks about 6 topics."""
    _, chunks, vectors = topic_tables(6, 4, 5)
    owners = [f"book{row[-1]}" for row in chunks["document_id"].to_pylist()]
    chunks = chunks.set_column(1, "document_id", pa.array(owners))
    chunks = chunks.set_column(2, "position", pa.array(range(chunks.num_rows)))
    return Collection.from_tables(documents_of(chunks), chunks, vectors)


def judged(collection: Collection, edges: pa.Table) -> dict[tuple[str, str], dict]:
    """Rows of `walk_trust` by level and scope."""
    graphs = PassageGraphs.of(edges, "walk", both_ways=True)
    rows = walk_trust(collection, graphs, "en", 300)
    assert rows.schema.equals(TABLES["lightpal.walk_trust"].schema)
    return {(row["level"], row["scope"]): row for row in rows.to_pylist()}


def with_random_targets(edges: pa.Table, collection: Collection) -> pa.Table:
    """The same edges, their targets redrawn among those of the same level and scope."""
    random = np.random.default_rng(0)
    owners = np.repeat(np.array(collection.document_ids), np.diff(collection.starts)).tolist()
    owner = dict(zip(collection.chunk_ids, owners, strict=True))
    groups: dict[tuple, list[int]] = {}
    rows = ends_of(edges, [*collection.chunk_ids, *collection.document_ids])
    for i, row in enumerate(rows):
        within = owner[row["source_id"]] if row["scope"] == "document" else ""
        groups.setdefault((row["graph"], row["level"], within), []).append(i)
    order = np.arange(len(rows))
    for indices in groups.values():
        order[indices] = random.permutation(indices)
    targets = [rows[other]["target_id"] for other in order]
    return edge_table({**row, "target_id": to} for row, to in zip(rows, targets, strict=True))


def test_topical_edges_are_trusted_and_random_ones_are_not():
    edges = edges_of(topics())
    good, poor = judged(topics(), edges), judged(topics(), with_random_targets(edges, topics()))
    for level in ("document", "node"):
        assert good[level, "corpus"]["trust"] > 0.95
        assert good[level, "corpus"]["walk_evidence"] > good[level, "corpus"]["seed_evidence"]
        assert poor[level, "corpus"]["trust"] < 0.05
        assert good[level, "corpus"]["n_probes"] == 180
    # three chunks are too few to judge a document by
    assert good["node", "document"]["trust"] == good["node", "document"]["n_probes"] == 0


def test_trust_within_documents():
    edges = edges_of(books(), 119)
    good, poor = judged(books(), edges), judged(books(), with_random_targets(edges, books()))
    assert good["node", "document"]["trust"] > 0.95
    assert good["node", "document"]["n_probes"] == 120
    assert poor["node", "document"]["trust"] < 0.05
    # four documents are too few
    assert good["document", "corpus"]["trust"] == good["document", "corpus"]["n_probes"] == 0


@pytest.mark.parametrize("here", [EMPTY, topics().document(0)])
def test_too_few_passages_are_insufficient(here):
    rows = judged(here, edges_of(here))
    assert list(rows) == [("document", "corpus"), ("node", "corpus"), ("node", "document")]
    for row in rows.values():
        assert [row[n] for n in ("n_probes", "walk_evidence", "seed_evidence", "trust")] == [0] * 4


def test_blocks_of_held_out_passages_give_the_same_trust(monkeypatch):
    here = topics()
    graphs = PassageGraphs.of(edges_of(here), "walk", both_ways=True)
    expected = walk_trust(here, graphs, "en", 300)
    monkeypatch.setattr(module, "_SCORES_AT_ONCE", 3 * len(here.chunk_ids))
    assert len(list(module.held_out(here, "en", 300))) > 3
    found = walk_trust(here, graphs, "en", 300)
    for name in ("n_probes", "walk_evidence", "seed_evidence", "trust"):
        np.testing.assert_allclose(found[name], expected[name], atol=1e-6)


def test_new_document_replaces_few_probes():
    whole = topic_tables(10, 6, 3)
    before = [t.filter(pc.not_equal(t["document_id"], "d00-00")) for t in whole]
    with_document, without = (
        {here.chunk_ids[i] for probes in module.held_out(here, "en", 20) for i in probes.chunks}
        for here in (Collection.from_tables(*tables) for tables in (whole, before))
    )
    assert len(with_document) == len(without) == 20
    assert len(without - with_document) <= 3  # no more than it has chunks
