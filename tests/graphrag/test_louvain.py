"""Louvain in the order of ids: known communities, quality, and what an edit changes."""

import random

import networkx as nx
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from gsum_assets.graphrag.communities import communities, cut, split_components
from gsum_assets.graphrag.louvain import Edge, louvain
from gsum_assets.graphrag.settings import CommunitySettings
from tests.graphrag.test_communities import _GRAPHS, members, ring
from tests.graphrag.toys import Graph, clique

LOUVAIN = CommunitySettings(max_size=4, method="louvain")


def _caves(n: int, seed: int = 0) -> list[Edge]:
    """Groups of eight nodes, dense inside, with two edges for each group to random other nodes."""
    chosen = random.Random(seed)
    found = {}
    for group in range(n):
        nodes = [f"m{chosen.random():.12f}-{group}" for _ in range(8)]
        found |= {(a, b): 1.0 for a in nodes for b in nodes if a < b and chosen.random() < 0.7}
    names = sorted({end for pair in found for end in pair})
    for _ in range(2 * n):
        a, b = sorted(chosen.sample(names, 2))
        found.setdefault((a, b), 1.0)
    return [(a, b, weight) for (a, b), weight in sorted(found.items())]


def test_cliques_are_communities() -> None:
    edges = [(min(pair), max(pair), 1.0) for pair in ring(*(clique(name, 4) for name in "abc"))]
    assert sorted(louvain(edges, 1.0)) == [[f"{name}{i}" for i in range(4)] for name in "abc"]


def test_modularity_is_that_of_networkx() -> None:
    for seed in range(5):
        edges = _caves(40, seed)
        whole = nx.Graph()
        whole.add_weighted_edges_from(edges)
        modularity = nx.community.modularity
        theirs = modularity(whole, nx.community.louvain_communities(whole, seed=0))
        assert modularity(whole, map(set, louvain(edges, 1.0))) > theirs - 0.01


@given(_GRAPHS, st.integers(0, 100))
@settings(max_examples=30)
def test_communities_hold_every_entity_and_do_not_depend_on_order(given: Graph, seed: int) -> None:
    rows = communities(given.entities, given.relationships, LOUVAIN)
    every = sorted(given.entities["entity_id"].to_pylist())
    for level in range(5):
        shown = cut(rows, level)["entity_ids"].to_pylist()
        assert sorted(entity for entity_ids in shown for entity in entity_ids) == every
    order = random.Random(seed).sample(
        range(given.relationships.num_rows), k=given.relationships.num_rows
    )
    shuffled = given.relationships.take(pa.array(order, pa.int64()))
    assert communities(given.entities, shuffled, LOUVAIN) == rows


@given(_GRAPHS)
@settings(max_examples=30)
def test_communities_are_connected(given: Graph) -> None:
    related = given.relationships
    whole = nx.Graph(
        zip(related["source_id"].to_pylist(), related["target_id"].to_pylist(), strict=True)
    )
    for own in members(communities(given.entities, related, LOUVAIN)):
        assert len(own) == 1 or nx.is_connected(whole.subgraph(own))


def test_an_edit_changes_few_communities() -> None:
    """Leiden moves entities all over the graph, Louvain in the order of ids near the edit."""
    edges = _caves(150)
    names = sorted({end for edge in edges for end in edge[:2]})
    changed = {}
    for method in ("leiden", "louvain"):
        chosen = CommunitySettings(max_size=20, method=method)
        before = {frozenset(c.members) for c in split_components(names, edges, chosen)}
        found = []
        for seed in range(5):
            rng = random.Random(seed)
            left = [edge for edge in edges if edge not in rng.sample(edges, 3)]
            added = sorted([*left, (rng.choice(names), "new", 1.0)])
            after = split_components(sorted([*names, "new"]), added, chosen)
            found.append(len({frozenset(c.members) for c in after} - before))
        changed[method] = sum(found) / len(found)
    assert changed["louvain"] <= 0.5 * changed["leiden"]
