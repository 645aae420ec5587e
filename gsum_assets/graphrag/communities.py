"""Hierarchical communities of all components (paper, 2.4), stable under unrelated changes.

A component of more than `max_size` entities is split by modularity, and so is each of its parts
from its own edges. What modularity does not split, such as a hub with its leaves, is halved by
hashes, so that a new member changes one of the parts.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from gsum_assets.graphrag.settings import CommunitySettings
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.store.arrow import pc
from gsum_resources.store.content_hash import hash_texts
from gsum_resources.text.keyphrases import enumerate_phrases

LEAST_REPORTED = 3  # entities of a community with a report of its own (ours)

# With 20 trials Leiden changes fewer communities per edit than with one (59% stay, not 50%).
_LEIDEN = {"resolution": 1.0, "randomness": 0.001, "iterations": 3, "seed": 0, "trials": 20}
_TITLED = 3  # entities of one kind in a title
_MOST_SWEEPS = 50  # over all nodes of a level; usually under ten

Edge = tuple[str, str, float]
_Links = Sequence[dict[int, float]]
"""Weights by neighbour, of each node; a node itself has twice the weight of the edges inside it."""


@dataclass(frozen=True)
class Community:
    """A set of entities, by their sorted ids; `parent` is an index in the list of all, or -1."""

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

    Communities of under `LEAST_REPORTED` entities or of a single chunk have no report, unless none
    has. Given ones are in this order, each with its report, if it has one.
    """
    entity_of = {row["entity_id"]: row for row in entities.to_pylist()}
    columns = ["relationship_id", "source_id", "target_id", "weight"]
    related = relationships.select(columns).sort_by("relationship_id").to_pylist()
    if given is None:
        edges = [(*sorted((row["source_id"], row["target_id"])), row["weight"]) for row in related]
        ordered = split_components(sorted(entity_of), sorted(edges), settings)
    else:
        ordered = [community for community, _ in given]
    ids = [community.community_id for community in ordered]
    children: dict[int, list[str]] = defaultdict(list)
    of_entity: dict[str, set[int]] = defaultdict(set)
    for index, community in enumerate(ordered):
        children[community.parent].append(ids[index])
        for entity_id in community.members:
            of_entity[entity_id].add(index)
    inside: dict[int, list[dict]] = defaultdict(list)
    for row in related:
        for index in of_entity[row["source_id"]] & of_entity[row["target_id"]]:
            inside[index].append(row)
    rows = []
    for index, community in enumerate(ordered):
        members = [entity_of[entity_id] for entity_id in community.members]
        members.sort(key=lambda e: (-e["degree"], e["name"], e["entity_id"]))
        chunk_ids = sorted({c for entity in members for c in entity["chunk_ids"]})
        rows.append(
            {
                "community_id": ids[index],
                "level": community.level,
                "number": index,
                "parent_id": ids[community.parent] if community.parent >= 0 else None,
                "child_ids": children[index],
                "title": community_title(members, inside[index]),
                "size": len(members),
                "is_reported": len(members) >= LEAST_REPORTED and len(chunk_ids) > 1,
                "entity_ids": [entity["entity_id"] for entity in members],
                "relationship_ids": [row["relationship_id"] for row in inside[index]],
                "chunk_ids": chunk_ids,
            }
        )
    if given and any(report for _, report in given):
        for row, (_, report) in zip(rows, given, strict=True):
            row["is_reported"] = report is not None
    if not any(row["is_reported"] for row in rows):
        rows = [row | {"is_reported": True} for row in rows]
    return pa.Table.from_pylist(rows, TABLES["graphrag.communities"].schema)


def community_title(members: Sequence[Mapping], relationships: Sequence[Mapping]) -> str:
    """Return a title of the members with most weight: "Nell Kettle and Tobias Lund: train staff".

    Without names or concepts, it is of up to three of the others.
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
    found: list[Community] = []

    def split(members: Sequence[str], edges: Sequence[Edge], level: int, parent: int) -> None:
        """Add the subsets of a large set, recursively, or a whole component that is small."""
        subsets = [members]
        if len(members) > settings.max_size:
            least = min(LEAST_REPORTED, settings.max_size // 2)
            subsets = without_small(_partition(edges, settings.method), edges, least)
            if len(subsets) == 1 and level:
                subsets = halved(members, settings.max_size)
        for subset in subsets:
            found.append(Community(level, subset, parent))
            if len(subset) > settings.max_size:
                subset_ids = set(subset)
                inside = [edge for edge in edges if subset_ids.issuperset(edge[:2])]
                split(subset, inside, level + 1, len(found) - 1)

    for component, inside in components(entity_ids, edges):
        split(component, inside, 0, -1)
    return [found_at for found_at, _ in ranked(found)]


def ranked(found: Sequence[Community]) -> list[tuple[Community, int]]:
    """Return communities by level, largest first, then by first member, and their old indices."""
    ranks = [(c.level, -len(c.members), c.members) for c in found]
    order = sorted(range(len(found)), key=ranks.__getitem__)
    index = {old: new for new, old in enumerate(order)} | {-1: -1}
    return [(replace(found[i], parent=index[found[i].parent]), i) for i in order]


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


def _partition(edges: Sequence[Edge], method: str) -> list[list[str]]:
    """Return the communities of a connected graph; Leiden's are the best of several trials."""
    if method == "louvain":
        return louvain(edges)
    from graspologic_native import leiden  # pyright: ignore[reportAttributeAccessIssue]

    _, community_of = leiden(
        edges=list(edges), starting_communities=None, use_modularity=True, **_LEIDEN
    )
    subsets: dict[int, list[str]] = defaultdict(list)
    for entity_id, community in sorted(community_of.items()):
        subsets[community].append(entity_id)
    return list(subsets.values())


def cut(communities: pa.Table, level: int) -> pa.Table:
    """Return the communities of a level and the leaves above it, which have each entity once."""
    is_leaf = pc.equal(pc.list_value_length(communities["child_ids"]), 0)
    levels = communities["level"]
    is_above = pc.and_(pc.less(levels, level), is_leaf)
    return communities.filter(pc.or_(pc.equal(levels, level), is_above))


def louvain(edges: Sequence[Edge]) -> list[list[str]]:
    """Return a partition of a graph by modularity: connected sets of nodes, each sorted.

    The nodes are visited in the order of their ids, and ties go to the first community (Blondel et
    al., 2008), so that an edit changes few communities but those near its edges. Each pair of nodes
    has one edge.
    """
    names = sorted({end for edge in edges for end in edge[:2]})
    index = {name: i for i, name in enumerate(names)}
    links: _Links = [{} for _ in names]
    for source, target, weight in sorted(edges):
        links[index[source]][index[target]] = links[index[target]][index[source]] = weight
    community_of = np.arange(len(names))
    while len(set(moved := _moved(links))) < len(links):
        numbers = {community: i for i, community in enumerate(dict.fromkeys(moved))}
        merged: list[dict[int, float]] = [defaultdict(float) for _ in numbers]
        for node, others in enumerate(links):
            for other, weight in others.items():
                merged[numbers[moved[node]]][numbers[moved[other]]] += weight
        links = merged
        community_of = np.array([numbers[community] for community in moved])[community_of]
    inside = [
        edge for edge in edges if community_of[index[edge[0]]] == community_of[index[edge[1]]]
    ]
    return [members for members, _ in components(names, inside)]


def _moved(links: _Links) -> list[int]:
    """Return the community of each node, after moving each to where modularity gains most."""
    degree = [sum(others.values()) for others in links]
    total = sum(degree)
    community, volume = list(range(len(links))), degree[:]
    for _ in range(_MOST_SWEEPS):
        n_moved = 0
        for node, others in enumerate(links):
            weight_to: dict[int, float] = defaultdict(float)
            for other, weight in others.items():
                if other != node:
                    weight_to[community[other]] += weight
            best = current = community[node]
            volume[current] -= degree[node]
            most = weight_to[current] * total - degree[node] * volume[current]
            for candidate in sorted(weight_to):
                gain = weight_to[candidate] * total - degree[node] * volume[candidate]
                if gain > most:
                    best, most = candidate, gain
            volume[best] += degree[node]
            community[node] = best
            n_moved += best != current
        if not n_moved:
            break
    return community


def components(names: Sequence[str], edges: Sequence[Edge]) -> list[tuple[list[str], list[Edge]]]:
    """Return the nodes and the edges of each connected component, both in order."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    index = {name: i for i, name in enumerate(names)}
    ends = np.array([[index[a], index[b]] for a, b, _ in edges], np.int64).reshape(-1, 2)
    shape = (len(names), len(names))
    joined = coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape)
    n, component_of = connected_components(joined, directed=False)
    found: list[tuple[list[str], list[Edge]]] = [([], []) for _ in range(n)]
    for name, component in zip(names, component_of.tolist(), strict=True):
        found[component][0].append(name)
    for edge in edges:
        found[component_of[index[edge[0]]]][1].append(edge)
    return found
