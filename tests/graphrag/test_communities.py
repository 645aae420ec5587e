"""Communities hold every entity once a level, independent of row order and of other components."""

import random

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gsum_assets.graphrag.communities import communities, community_title, cut, split_components
from gsum_assets.graphrag.louvain import Edge, louvain
from gsum_assets.graphrag.settings import CommunitySettings
from gsum_assets.pipeline.tables import TABLES
from tests.graphrag.toys import Graph, clique, graph, mapped

SMALL = CommunitySettings(max_size=4, method="leiden")  # `test_louvain.py` has the default
EMPTY = graph([])

_ENTITY = st.integers(0, 24).map(lambda i: f"e{i:02}")
_GRAPHS = st.builds(
    lambda edges, alone: graph([edge for edge in edges if edge[0] != edge[1]], alone),
    st.lists(st.tuples(_ENTITY, _ENTITY), max_size=60),
    st.lists(_ENTITY, max_size=4),
)


def found(given: Graph, settings: CommunitySettings = SMALL) -> pa.Table:
    return communities(given.entities, given.relationships, settings)


def members(rows: pa.Table) -> set[frozenset[str]]:
    return {frozenset(entity_ids) for entity_ids in rows["entity_ids"].to_pylist()}


def ring(*cliques: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Cliques, each joined to the next by one edge."""
    first = [edges[0][0] for edges in cliques]
    last = [edges[-1][0] for edges in cliques]
    joined = zip(last, [*first[1:], first[0]], strict=True)
    return [*(edge for edges in cliques for edge in edges), *joined]


@given(_GRAPHS, st.integers(0, 2**32 - 1))
@settings(max_examples=50)
def test_row_order_does_not_change_communities(given: Graph, seed: int) -> None:
    rng = np.random.default_rng(seed)
    entities, relationships = (
        rows.take(rng.permutation(rows.num_rows)) for rows in (given.entities, given.relationships)
    )
    assert found(Graph(entities, relationships, given.chunks)) == found(given)


@given(_GRAPHS)
@settings(max_examples=50)
def test_every_level_shows_every_entity_once(given: Graph) -> None:
    rows = found(given)
    every = sorted(given.entities["entity_id"].to_pylist())
    for level in range(5):
        shown = cut(rows, level)["entity_ids"].to_pylist()
        assert sorted(entity for entity_ids in shown for entity in entity_ids) == every


@given(_GRAPHS)
@settings(max_examples=50)
def test_subcommunities_form_their_parents(given: Graph) -> None:
    rows = found(given).to_pylist()
    by_id = {row["community_id"]: row for row in rows}
    assert len(by_id) == len(rows)
    assert [row["number"] for row in rows] == list(range(len(rows)))
    order = [(row["level"], -row["size"], sorted(row["entity_ids"])) for row in rows]
    assert order == sorted(order)
    for row in rows:
        assert row["size"] == len(row["entity_ids"]) > 0
        assert (row["parent_id"] is None) == (row["level"] == 0)
        children = [by_id[i] for i in row["child_ids"]]
        assert all(child["parent_id"] == row["community_id"] for child in children)
        assert all(child["level"] == row["level"] + 1 for child in children)
        inside = sorted(entity for child in children for entity in child["entity_ids"])
        assert not children or (len(children) > 1 and inside == sorted(row["entity_ids"]))
        if row["parent_id"]:
            assert row["community_id"] in by_id[row["parent_id"]]["child_ids"]


@given(_GRAPHS)
@settings(max_examples=50)
def test_relationships_have_both_ends_inside(given: Graph) -> None:
    whole = nx.Graph()
    for row in given.relationships.to_pylist():
        whole.add_edge(row["source_id"], row["target_id"], name=row["relationship_id"])
    whole.add_nodes_from(given.entities["entity_id"].to_pylist())
    chunk_ids_of = mapped(given.entities, "entity_id", "chunk_ids")
    for row in found(given).to_pylist():
        child = whole.subgraph(row["entity_ids"])
        names = [name for *_, name in child.edges(data="name")]
        assert row["relationship_ids"] == sorted(names)
        # what modularity does not split is halved, whatever is connected
        assert nx.is_connected(child) or (row["level"] and row["size"] <= SMALL.max_size)
        assert row["chunk_ids"] == sorted({c for e in row["entity_ids"] for c in chunk_ids_of[e]})


def test_change_in_one_component_leaves_the_others() -> None:
    here = ring(*(clique(name, 5) for name in "abcdef"))
    there = ring(*(clique(name, 5) for name in "uvwxyz"))
    own = {end for edge in here for end in edge}

    def rows_here(edges: list[tuple[str, str]]) -> list[dict]:
        rows = found(graph(edges, alone=["z-lonely"])).drop_columns(["number"]).to_pylist()
        return [row for row in rows if own.issuperset(row["entity_ids"])]

    before = rows_here([*here, *there])
    assert len(before) >= 6
    assert rows_here([*here, *there, ("u0", "y3")]) == before
    assert rows_here([*here, *there, ("new0", "new1")]) == before
    assert rows_here([*here, *there[1:]]) == before
    assert rows_here(here) == before


def test_cliques_joined_by_one_edge_are_split() -> None:
    rows = found(graph(ring(clique("a", 6), clique("b", 6))), CommunitySettings(max_size=6))
    assert members(rows) == {frozenset(f"{n}{i}" for i in range(6)) for n in "ab"}
    assert set(rows["level"].to_pylist()) == {0}


def test_too_large_communities_are_split_until_small_enough() -> None:
    cliques = [clique(f"{letter}-", 5) for letter in "abcdefghijklmnopqrstuvwxyz"]
    rows = found(graph(ring(*cliques)), CommunitySettings(max_size=5))
    assert rows["level"].to_pylist()[-1] >= 1  # modularity joins neighbours in a long ring
    leaves = cut(rows, 99)
    assert max(leaves["size"].to_pylist()) == 5
    assert members(leaves) == {frozenset(e for edge in edges for e in edge) for edges in cliques}
    assert cut(rows, 99) == cut(rows, max(rows["level"].to_pylist()))


def test_community_that_modularity_does_not_split_is_halved() -> None:
    rows = found(graph(clique("a", 12)), CommunitySettings(max_size=5, method="leiden"))
    whole, *parts = rows.to_pylist()
    assert (whole["level"], whole["size"]) == (0, 12)
    assert whole["child_ids"] == [row["community_id"] for row in parts]
    assert max(row["size"] for row in parts) <= 5


def test_a_hub_is_split_and_another_leaf_changes_one_of_the_parts() -> None:
    def leaves(n: int) -> set[frozenset[str]]:
        rows = found(graph([("hub", f"leaf{i}") for i in range(n)]), CommunitySettings())
        return members(cut(rows, 99))

    before, after = leaves(3000), leaves(3001)
    assert max(map(len, before)) <= 20
    assert sum(map(len, before)) == 3001
    assert 1 <= len(after - before) <= 2  # two if the part was full


def test_sets_too_small_for_a_report_join_the_sibling_that_they_are_related_to() -> None:
    tail = [("a0", "tail0"), ("tail0", "tail1")]
    rows = found(
        graph([*ring(clique("a", 9), clique("b", 9)), *tail]), CommunitySettings(max_size=11)
    )
    assert members(rows) == {
        frozenset([*(f"a{i}" for i in range(9)), "tail0", "tail1"]),
        frozenset(f"b{i}" for i in range(9)),
    }


@pytest.mark.parametrize(
    ("names", "edges", "title"),
    [
        (["Nell", "Tobias", "staff"], ["01", "02", "12"], "Nell and Tobias: staff"),
        (
            ["Nell", "Tobias", "Quill", "staff", "plaque"],
            ["03", "13"],
            "Nell and Tobias: staff and plaque",
        ),
        (["Nell", "Tobias", "Quill", "Wren"], ["01", "12"], "Tobias, Nell and Quill"),
        (["staff", "plaque"], ["01"], "Staff and plaque"),
        (["Nell"], [], "Nell"),
    ],
)
def test_titles(names: list[str], edges: list[str], title: str) -> None:
    entities = [{"entity_id": str(i), "name": name} for i, name in enumerate(names)]
    related = [{"source_id": a, "target_id": b, "weight": 1.0} for a, b in edges]
    assert community_title(entities, related) == title


def test_small_components_and_single_entities_are_communities() -> None:
    rows = found(graph([("a", "b"), ("b", "c"), ("c", "d"), ("x", "y")], alone=["z"]))
    assert [row["entity_ids"] for row in rows.to_pylist()] == [
        ["b", "c", "a", "d"],  # most connected first
        ["x", "y"],
        ["z"],
    ]
    assert rows["title"].to_pylist() == ["B, c and a", "X and y", "Z"]
    assert rows["relationship_ids"].to_pylist()[2] == []


def test_no_entities_give_no_communities() -> None:
    assert found(EMPTY) == TABLES["graphrag.communities"].empty()
    assert cut(found(EMPTY), 0).num_rows == 0


def test_larger_graph_is_split_down_to_the_size() -> None:
    whole = nx.barabasi_albert_graph(1500, 2, seed=0)
    given = graph([(f"e{a:04}", f"e{b:04}") for a, b in whole.edges])
    rows = found(given, CommunitySettings(max_size=20))
    leaves = cut(rows, 99)
    assert sum(leaves["size"].to_pylist()) == 1500
    assert max(leaves["size"].to_pylist()) <= 20


# Louvain in the order of ids: known communities, quality, and what an edit changes.

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
    related, whole = given.relationships, nx.Graph()
    ends = related["source_id"].to_pylist(), related["target_id"].to_pylist()
    whole.add_weighted_edges_from(zip(*ends, related["weight"].to_pylist(), strict=True))
    for own in louvain(list(whole.edges(data="weight")), 1.0):
        assert nx.is_connected(whole.subgraph(own))
    whole.add_nodes_from(given.entities["entity_id"].to_pylist())
    for row in communities(given.entities, related, LOUVAIN).to_pylist():
        # a hub and its leaves are halved, whatever is connected
        is_halved = row["level"] and row["size"] <= LOUVAIN.max_size
        assert nx.is_connected(whole.subgraph(row["entity_ids"])) or is_halved


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
