"""Communities of documents, on groups that anyone can see."""

import numpy as np
import pyarrow as pa

from gsum_assets.graphs.pagerank import WalkGraph
from gsum_assets.lightpal.communities import communities, community_of, means_of
from gsum_assets.lightpal.settings import CommunitySettings

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
        assert groups(communities(graph(ids), ids, CommunitySettings())) == expected
    assert communities(WalkGraph(0, *np.empty((3, 0), int)), [], CommunitySettings()).num_rows == 0


def test_the_same_groups_are_found_among_many_others() -> None:
    """By modularity alone neighbouring groups join when the corpus grows."""
    n_groups, size = 300, 5
    group = np.repeat(np.arange(n_groups), size)
    inner = np.nonzero((group[:, None] == group) & ~np.eye(len(group), dtype=bool))
    ring = np.arange(0, len(group), size), np.roll(np.arange(0, len(group), size), -1)
    sources, targets = (np.concatenate(ends) for ends in zip(inner, ring, strict=True))
    ids = [f"{i:05}" for i in range(len(group))]
    whole = WalkGraph(len(ids), sources, targets, np.ones(len(sources)))
    assert len(groups(communities(whole, ids, CommunitySettings()))) == n_groups
    assert len(groups(communities(whole, ids, CommunitySettings(scale=len(ids))))) < n_groups


def test_a_document_without_a_row_is_alone() -> None:
    rows = communities(graph(IDS), IDS, CommunitySettings())
    found = community_of(rows, ["d1", "new", "d3", "d7", "other"])
    assert found[0] == found[2]
    assert len(set(found.tolist())) == 4
    assert set(found.tolist()) == set(range(4))


def test_means_are_those_of_a_community() -> None:
    scores = np.array([[1.0, 0.0, 3.0, 6.0], [0.0, 2.0, 0.0, 0.0]])
    found = means_of(scores, np.array([1, 0, 1, 0]))
    assert found.tolist() == [[2.0, 3.0, 2.0, 3.0], [0.0, 1.0, 0.0, 1.0]]
