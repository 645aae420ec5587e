"""Communities hold every entity once a level, independent of row order and of other components."""

import random

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gsum_assets.graphrag.communities import (
    Edge,
    communities,
    community_title,
    cut,
    louvain,
    split_components,
    without_small,
)
from gsum_assets.graphrag.settings import CommunitySettings
from gsum_assets.pipeline.tables import TABLES
from tests.graphrag.toys import Graph, clique, graph, mapped

_ENTITY = st.integers(0, 24).map(lambda i: f"e{i:02}")
_GRAPHS = st.builds(
    lambda edges, alone: graph([edge for edge in edges if edge[0] != edge[1]], alone),
    st.lists(st.tuples(_ENTITY, _ENTITY), max_size=60),
    st.lists(_ENTITY, max_size=4),
)


def found(given: Graph, max_size: int = 4, method: str = "louvain") -> pa.Table:
    chosen = CommunitySettings(max_size=max_size, method=method)  # type: ignore[arg-type]
    return communities(given.entities, given.relationships, chosen)


def members(rows: pa.Table) -> set[frozenset[str]]:
    return {frozenset(entity_ids) for entity_ids in rows["entity_ids"].to_pylist()}


def ring(*cliques: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Cliques, each joined to the next by one edge."""
    first = [edges[0][0] for edges in cliques]
    last = [edges[-1][0] for edges in cliques]
    joined = zip(last, [*first[1:], first[0]], strict=True)
    return [*(edge for edges in cliques for edge in edges), *joined]


@given(_GRAPHS, st.sampled_from(["louvain", "leiden"]), st.integers(0, 2**32 - 1))
@settings(max_examples=100)
def test_levels_form_a_tree_that_row_order_does_not_change(
    given: Graph, method: str, seed: int
) -> None:
    table = found(given, method=method)
    rng = np.random.default_rng(seed)
    entities, relationships = (
        rows.take(rng.permutation(rows.num_rows)) for rows in (given.entities, given.relationships)
    )
    assert found(Graph(entities, relationships, given.chunks), method=method) == table
    every = sorted(given.entities["entity_id"].to_pylist())
    for level in range(5):
        shown = cut(table, level)["entity_ids"].to_pylist()
        assert sorted(entity for entity_ids in shown for entity in entity_ids) == every
    # `tests/invariants.py` has what else holds of the tables
    whole = nx.Graph()
    for row in given.relationships.to_pylist():
        whole.add_edge(row["source_id"], row["target_id"], name=row["relationship_id"])
    whole.add_nodes_from(every)
    chunk_ids_of = mapped(given.entities, "entity_id", "chunk_ids")
    rows = table.to_pylist()

    order = [(row["level"], -row["size"], sorted(row["entity_ids"])) for row in rows]
    assert order == sorted(order)
    for row in rows:
        assert len(row["child_ids"]) != 1
        own = whole.subgraph(row["entity_ids"])
        assert row["relationship_ids"] == sorted(name for *_, name in own.edges(data="name"))
        # what modularity does not split is halved, whatever is connected
        assert nx.is_connected(own) or (row["level"] and row["size"] <= 4)
        assert row["chunk_ids"] == sorted({c for e in row["entity_ids"] for c in chunk_ids_of[e]})


def test_change_in_one_component_leaves_the_others() -> None:
    here = ring(*(clique(name, 5) for name in "abcdef"))
    there = ring(*(clique(name, 5) for name in "uvwxyz"))
    own = {end for edge in here for end in edge}

    def rows_here(edges: list[tuple[str, str]]) -> list[dict]:
        given = graph(edges, alone=["z-lonely"])
        rows = found(given, method="leiden").drop_columns(["number"]).to_pylist()
        return [row for row in rows if own.issuperset(row["entity_ids"])]

    before = rows_here([*here, *there])
    assert len(before) >= 6
    for edges in ([*there, ("u0", "y3")], [*there, ("new0", "new1")], there[1:], []):
        assert rows_here([*here, *edges]) == before


def test_too_large_communities_are_split_until_small_enough() -> None:
    cliques = [clique(f"{letter}-", 5) for letter in "abcdefghijklmnopqrstuvwxyz"]
    rows = found(graph(ring(*cliques)), max_size=5)
    assert rows["level"].to_pylist()[-1] >= 1  # modularity joins neighbours in a long ring
    leaves = cut(rows, 99)
    assert members(leaves) == {frozenset(e for edge in edges for e in edge) for edges in cliques}
    assert leaves == cut(rows, max(rows["level"].to_pylist()))
    whole = nx.barabasi_albert_graph(1500, 2, seed=0)
    rows = found(graph([(f"e{a:04}", f"e{b:04}") for a, b in whole.edges]), max_size=20)
    sizes = cut(rows, 99)["size"].to_pylist()
    assert (sum(sizes), max(sizes) <= 20) == (1500, True)


def test_a_hub_is_split_and_another_leaf_changes_one_of_the_parts() -> None:
    def leaves(n: int) -> set[frozenset[str]]:
        return members(cut(found(graph([("hub", f"leaf{i}") for i in range(n)]), 10), 99))

    before, after = leaves(3000), leaves(3001)
    assert max(map(len, before)) <= 20
    assert sum(map(len, before)) == 3001
    assert 1 <= len(after - before) <= 2  # two if the part was full


def test_sets_too_small_for_a_report_join_the_sibling_that_they_are_related_to() -> None:
    tail = [("a0", "tail0"), ("tail0", "tail1")]
    rows = found(graph([*ring(clique("a", 9), clique("b", 9)), *tail]), max_size=11)
    assert members(rows) == {
        frozenset([*(f"a{i}" for i in range(9)), "tail0", "tail1"]),
        frozenset(f"b{i}" for i in range(9)),
    }
    edges = [("a", "b", 9.0), ("a", "x", 1.0), ("d", "e", 1.0), ("e", "x", 2.0)]
    assert without_small([["a", "b"], ["d", "e"], ["x"]], edges, 2) == [["a", "b"], ["d", "e", "x"]]


@pytest.mark.parametrize(
    ("names", "edges", "title"),
    [
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
    # most connected first
    assert rows["entity_ids"].to_pylist() == [["b", "c", "a", "d"], ["x", "y"], ["z"]]
    assert rows["title"].to_pylist() == ["B, c and a", "X and y", "Z"]
    assert found(graph([])) == TABLES["graphrag.communities"].empty()


def _caves(n: int, seed: int = 0) -> list[Edge]:
    """Groups of eight nodes, dense inside, with two edges for each group to random other nodes."""
    chosen = random.Random(seed)
    edges = {}
    for group in range(n):
        nodes = [f"m{chosen.random():.12f}-{group}" for _ in range(8)]
        edges |= {(a, b): 1.0 for a in nodes for b in nodes if a < b and chosen.random() < 0.7}
    names = sorted({end for pair in edges for end in pair})
    for _ in range(2 * n):
        a, b = sorted(chosen.sample(names, 2))
        edges.setdefault((a, b), 1.0)
    return [(a, b, weight) for (a, b), weight in sorted(edges.items())]


def test_louvain_finds_cliques_and_has_the_modularity_of_networkx() -> None:
    edges = [(min(pair), max(pair), 1.0) for pair in ring(*(clique(name, 4) for name in "abc"))]
    assert sorted(louvain(edges)) == [[f"{name}{i}" for i in range(4)] for name in "abc"]
    for seed in range(5):
        edges = _caves(40, seed)
        whole = nx.Graph()
        whole.add_weighted_edges_from(edges)
        modularity = nx.community.modularity
        theirs = modularity(whole, nx.community.louvain_communities(whole, seed=0))
        ours = louvain(edges)
        assert modularity(whole, map(set, ours)) > theirs - 0.01
        assert all(nx.is_connected(whole.subgraph(own)) for own in ours)


def test_an_edit_changes_few_communities() -> None:
    """Leiden moves entities all over the graph, Louvain in the order of ids near the edit."""
    edges = _caves(150)
    names = sorted({end for edge in edges for end in edge[:2]})
    changed = {}
    for method in ("leiden", "louvain"):
        chosen = CommunitySettings(max_size=20, method=method)  # type: ignore[arg-type]
        before = {frozenset(c.members) for c in split_components(names, edges, chosen)}
        n_new = []
        for seed in range(5):
            rng = random.Random(seed)
            left = [edge for edge in edges if edge not in rng.sample(edges, 3)]
            added = sorted([*left, (rng.choice(names), "new", 1.0)])
            after = split_components(sorted([*names, "new"]), added, chosen)
            n_new.append(len({frozenset(c.members) for c in after} - before))
        changed[method] = sum(n_new) / len(n_new)
    assert changed["louvain"] <= 0.5 * changed["leiden"]
