"""Hierarchical communities of all components (paper, 2.4), stable under unrelated changes.

1. Components are processed one by one, so that a change in one does not affect the others.
2. A component of at most `max_size` entities is one community, also a single entity.
3. A larger one is split by modularity: by Louvain in the order of ids (`louvain.py`), or by Leiden
   (Traag et al., 2019) with a seed and edges in order of ids; each community of over `max_size`
   entities is split again from its own edges.
   One that modularity does not split, such as a hub with its leaves, is halved by the bits of its
   members' hashes, so that a new member changes one of the parts.
4. Sets of under `least_reported` entities are joined to the sibling that they are related to most.
5. A community that is not split further is a leaf. Those of under `least_reported` entities or of
   a single chunk have no report, unless none has.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from gsum_assets.graphrag.louvain import Edge, louvain
from gsum_assets.graphrag.settings import CommunitySettings
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.store.content_hash import hash_texts
from gsum_resources.text.keyphrases import enumerate_phrases

# Of Leiden. With 20 trials 59% of the communities of 20 meetings are unchanged when one meeting is
# left out, with one trial 50%, with fifty 59%; each changed community needs a new report.
_RANDOMNESS, _ITERATIONS, _TRIALS = 0.001, 3, 20
_TITLED = 3  # entities of one kind in a title


@dataclass(frozen=True)
class Community:
    """A set of entities.

    Attributes
    ----------
    members : entity_ids, in order.
    parent : index of the parent community in the list of all; -1: none.
    """

    level: int
    members: Sequence[str]
    parent: int

    @property
    def community_id(self) -> str:
        """Hash of level and members."""
        return hash_texts(["community", str(self.level), *self.members])


def communities(
    entities: pa.Table,
    relationships: pa.Table,
    settings: CommunitySettings,
    given: Sequence[tuple[Community, object | None]] | None = None,
) -> pa.Table:
    """Return the rows of `graphrag.communities`, ordered by number.

    Parameters
    ----------
    given : communities of another origin in this order, each with its report, if it has one.
    """
    entity_of = {row["entity_id"]: row for row in entities.to_pylist()}
    related = relationships.select(["relationship_id", "source_id", "target_id", "weight"])
    edges = sorted(
        (*sorted((row["source_id"], row["target_id"])), row["weight"])
        for row in related.to_pylist()
    )
    if given is None:
        ordered = split_components(sorted(entity_of), edges, settings)
    else:
        ordered = [community for community, _ in given]
    ids = [community.community_id for community in ordered]
    children: dict[int, list[str]] = defaultdict(list)
    for index, community in enumerate(ordered):
        if community.parent >= 0:
            children[community.parent].append(ids[index])
    inside = _relationships_inside(ordered, related)
    row_of = {row["relationship_id"]: row for row in related.to_pylist()}
    rows = []
    for index, community in enumerate(ordered):
        members = sorted(
            community.members, key=lambda e: (-entity_of[e]["degree"], entity_of[e]["name"], e)
        )
        links = [row_of[i] for i in inside[index]]
        rows.append(
            {
                "community_id": ids[index],
                "level": community.level,
                "number": index,
                "parent_id": ids[community.parent] if community.parent >= 0 else None,
                "child_ids": children[index],
                "title": community_title([entity_of[e] for e in members], links),
                "size": len(members),
                "entity_ids": members,
                "relationship_ids": inside[index],
                "chunk_ids": sorted({c for e in members for c in entity_of[e]["chunk_ids"]}),
            }
        )
        rows[-1]["is_reported"] = (
            rows[-1]["size"] >= settings.least_reported and len(rows[-1]["chunk_ids"]) > 1
        )
    if given and any(report for _, report in given):
        for row, (_, report) in zip(rows, given, strict=True):
            row["is_reported"] = report is not None
    if not any(row["is_reported"] for row in rows):
        rows = [row | {"is_reported": True} for row in rows]
    return pa.Table.from_pylist(rows, TABLES["graphrag.communities"].schema)


def community_title(members: Sequence[Mapping], relationships: Sequence[Mapping]) -> str:
    """Return a title of the members with most weight inside: names, then what relates them.

    "Nell Kettle and Tobias Lund: train staff and plaque"; without one of both, up to three of the
    other.
    """
    weight: dict[str, float] = defaultdict(float)
    for row in relationships:
        weight[row["source_id"]] += row["weight"]
        weight[row["target_id"]] += row["weight"]
    ordered = sorted(members, key=lambda e: -weight[e["entity_id"]])  # ties: as given
    names = [e["name"] for e in ordered if not e["name"].islower()]
    concepts = [e["name"] for e in ordered if e["name"].islower()]
    if names and concepts:
        names, concepts = names[: _TITLED - 1], concepts[: _TITLED - 1]
    heading = ": ".join(enumerate_phrases(part[:_TITLED]) for part in (names, concepts) if part)
    return heading[:1].upper() + heading[1:]


def split_components(
    entity_ids: Sequence[str], edges: Sequence[Edge], settings: CommunitySettings
) -> list[Community]:
    """Return the communities of sorted entities, by level, largest first, then by first member."""
    with_parents: list[tuple[Community, int]] = []  # with the parent's index in this list
    for component, inside in _components(entity_ids, edges):
        _split(component, inside, settings, 0, -1, with_parents)
    return ranked(with_parents)[0]


def ranked(with_parents: Sequence[tuple[Community, int]]) -> tuple[list[Community], list[int]]:
    """Return communities by level, largest first, then by first member, and their indices before.

    Parameters
    ----------
    with_parents : communities, each with the index of its parent in this list, or -1.
    """

    def rank(i: int) -> tuple:
        community, _ = with_parents[i]
        return community.level, -len(community.members), community.members

    order = sorted(range(len(with_parents)), key=rank)
    index = {old: new for new, old in enumerate(order)} | {-1: -1}
    return [replace(with_parents[i][0], parent=index[with_parents[i][1]]) for i in order], order


def _split(
    members: Sequence[str],
    edges: Sequence[Edge],
    settings: CommunitySettings,
    level: int,
    parent: int,
    with_parents: list[tuple[Community, int]],
) -> None:
    """Append the subsets of a large set, recursively, or a whole component that is small enough."""
    subsets = [members]
    if len(members) > settings.max_size:
        least = min(settings.least_reported, settings.max_size // 2)
        subsets = without_small(_partition(edges, settings), edges, least)
        if len(subsets) == 1 and level:
            subsets = halved(members, settings.max_size)
    for subset in subsets:
        index = len(with_parents)
        with_parents.append((Community(level, subset, -1), parent))
        if len(subset) > settings.max_size:
            subset_ids = set(subset)
            inside = [edge for edge in edges if edge[0] in subset_ids and edge[1] in subset_ids]
            _split(subset, inside, settings, level + 1, index, with_parents)


def without_small(
    subsets: Sequence[Sequence[str]], edges: Sequence[Edge], least: int
) -> list[list[str]]:
    """Return subsets with those of under `least` members joined to the most related other one."""
    joined = {index: list(subset) for index, subset in enumerate(subsets)}
    subset_of = {member: index for index, subset in joined.items() for member in subset}
    weights: dict[int, dict[int, float]] = {index: defaultdict(float) for index in joined}
    for source, target, weight in edges:
        first, other = subset_of[source], subset_of[target]
        if first != other:
            weights[first][other] += weight
            weights[other][first] += weight
    for index in sorted(joined, key=lambda i: (len(joined[i]), min(joined[i]))):
        if len(joined[index]) >= least or len(joined) == 1:
            continue
        related = weights.pop(index)
        best = min(related, key=lambda i: (-related[i], min(joined[i])))
        joined[best] += joined.pop(index)
        for other, weight in related.items():
            del weights[other][index]
            if other != best:
                weights[best][other] += weight
                weights[other][best] += weight
    return [sorted(subset) for subset in joined.values()]


def halved(members: Sequence[str], max_size: int, bit: int = 0) -> list[list[str]]:
    """Return sets of at most `max_size` members, split by one bit of their hashes after another."""
    if len(members) <= max_size:
        return [list(members)] if members else []
    halves: tuple[list[str], list[str]] = ([], [])
    for member in members:
        halves[int(hash_texts([member]), 16) >> bit & 1].append(member)
    return [part for half in halves for part in halved(half, max_size, bit + 1)]


def _partition(edges: Sequence[Edge], settings: CommunitySettings) -> list[list[str]]:
    """Return the communities of a connected graph; Leiden's are the best of several trials."""
    if settings.method == "louvain":
        return louvain(edges, settings.resolution)
    from graspologic_native import leiden  # pyright: ignore[reportAttributeAccessIssue]

    _, community_of = leiden(
        edges=list(edges),
        starting_communities=None,
        resolution=settings.resolution,
        randomness=_RANDOMNESS,
        iterations=_ITERATIONS,
        use_modularity=True,
        seed=settings.seed,
        trials=_TRIALS,
    )
    subsets: dict[int, list[str]] = defaultdict(list)
    for entity_id, community in sorted(community_of.items()):
        subsets[community].append(entity_id)
    return list(subsets.values())


def _components(
    entity_ids: Sequence[str], edges: Sequence[Edge]
) -> Iterator[tuple[list[str], list[Edge]]]:
    """Yield the entities and edges of each component, both in order."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    index = {entity_id: i for i, entity_id in enumerate(entity_ids)}
    ends = np.array([[index[a], index[b]] for a, b, _ in edges], np.int64).reshape(-1, 2)
    shape = (len(entity_ids), len(entity_ids))
    joined = coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape)
    n, component_of = connected_components(joined, directed=False)
    members: list[list[str]] = [[] for _ in range(n)]
    inside: list[list[Edge]] = [[] for _ in range(n)]
    for entity_id, component in zip(entity_ids, component_of.tolist(), strict=True):
        members[component].append(entity_id)
    for edge in edges:
        inside[component_of[index[edge[0]]]].append(edge)
    yield from zip(members, inside, strict=True)


def _relationships_inside(ordered: Sequence[Community], related: pa.Table) -> list[list[str]]:
    """Return the ids of the relationships with both ends in each community, in order."""
    inside: list[list[str]] = [[] for _ in ordered]
    of_entity: dict[str, list[int]] = defaultdict(list)
    for index, community in enumerate(ordered):
        for entity_id in community.members:
            of_entity[entity_id].append(index)
    for row in related.sort_by("relationship_id").to_pylist():
        for index in set(of_entity[row["source_id"]]) & set(of_entity[row["target_id"]]):
            inside[index].append(row["relationship_id"])
    return inside


def cut(communities: pa.Table, level: int) -> pa.Table:
    """Return the communities of a level and the leaves above it, which have each entity once."""
    levels = communities["level"].to_pylist()
    n_children = [len(ids) for ids in communities["child_ids"].to_pylist()]
    shown = [
        at == level or (at < level and not n) for at, n in zip(levels, n_children, strict=True)
    ]
    return communities.filter(pa.array(shown, pa.bool_()))
