"""Ways to divide the entity graph of a corpus into communities, by shape and by stability.

    python -m benchmarks.communities --home HOME --corpora meetings,stories [--store]

Each corpus needs the index of GraphRAG (`gsum run CORPUS --methods graphrag-c2`). Louvain by the
number of chunks is what gsum does; by Dice the weight of a relationship is its chunks, twice, over
the sum of its ends'. The k-core hierarchy splits a set by the next core that divides it into
connected parts (after arXiv 2603.05207), with the same rules for small and oversized sets.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import networkx as nx
import numpy as np

from benchmarks import Measurement
from benchmarks.results import parser_of, publish
from gsum_assets.graphrag.communities import (
    Community,
    halved,
    split_components,
    without_small,
)
from gsum_assets.graphrag.louvain import Edge
from gsum_assets.graphrag.settings import CommunitySettings
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.store.parquet_store import ParquetStore

SETTINGS = CommunitySettings()
EDITS = 12  # documents that are left out, one after another
Divide = Callable[[Sequence[str], Sequence[Edge]], Sequence[Community]]


class Graph:
    """Entities and relationships with the documents of their chunks."""

    def __init__(self, home: Path, corpus: str) -> None:
        store = ParquetStore(str(home / "warehouse"))

        def rows(name: str) -> list[dict]:
            table = TABLES[name]
            return store.read(table, store.partitions(table, corpus))[0].to_pylist()

        self.document_of = {row["chunk_id"]: row["document_id"] for row in rows("chunks")}
        self.chunks = {row["entity_id"]: row["chunk_ids"] for row in rows("graphrag.entities")}
        self.related = rows("graphrag.relationships")

    def without(self, document_id: str | None, is_dice: bool) -> tuple[list[str], list[Edge]]:
        """Return the entities and weighted edges that other documents than one support."""

        def others(chunk_ids: Sequence[str]) -> int:
            return sum(self.document_of[i] != document_id for i in chunk_ids)

        n_chunks = {i: n for i, chunk_ids in self.chunks.items() if (n := others(chunk_ids))}
        edges = []
        for row in self.related:
            first, second = sorted((row["source_id"], row["target_id"]))
            if weight := float(others(row["chunk_ids"])):
                if is_dice:
                    weight *= 2 / (n_chunks[first] + n_chunks[second])
                edges.append((first, second, weight))
        return sorted(n_chunks), sorted(edges)


def by_louvain(entity_ids: Sequence[str], edges: Sequence[Edge]) -> Sequence[Community]:
    """Return the communities as gsum finds them."""
    return split_components(entity_ids, edges, SETTINGS)


def by_cores(entity_ids: Sequence[str], edges: Sequence[Edge]) -> Sequence[Community]:
    """Return the hierarchy of k-cores of each component."""
    graph = nx.Graph()
    graph.add_nodes_from(entity_ids)
    graph.add_weighted_edges_from(edges)
    core_of = nx.core_number(graph)
    divided: list[Community] = []

    def connected(members: Sequence[str]) -> list[list[str]]:
        return [sorted(part) for part in nx.connected_components(graph.subgraph(members))]

    def split(members: Sequence[str], level: int, parent: int) -> None:
        index = len(divided)
        divided.append(Community(level, sorted(members), parent))
        if len(members) <= SETTINGS.max_size:
            return
        kept = set(members)
        inside = [edge for edge in edges if edge[0] in kept and edge[1] in kept]
        parts: Sequence[Sequence[str]] = [members]
        for k in sorted({core_of[member] for member in members})[1:]:
            inner = connected([member for member in members if core_of[member] >= k])
            shell = connected([member for member in members if core_of[member] < k])
            parts = without_small([*inner, *shell], inside, SETTINGS.least_reported)
            if len(parts) > 1:
                break
        else:
            parts = halved(sorted(members), SETTINGS.max_size)
        for part in parts:
            split(part, level + 1, index)

    for component in sorted(connected(entity_ids)):
        split(component, 0, -1)
    return divided


WAYS: Mapping[str, tuple[Divide, bool]] = {
    "Louvain by counts": (by_louvain, False),
    "Louvain by Dice": (by_louvain, True),
    "k-cores": (by_cores, False),
}


def cut(divided: Sequence[Community], level: int) -> list[Sequence[str]]:
    """Return the sets of a level and the undivided ones above it."""
    parents = {community.parent for community in divided}
    return [
        community.members
        for index, community in enumerate(divided)
        if community.level == level or (community.level < level and index not in parents)
    ]


def modularity(sets: Sequence[Sequence[str]], edges: Sequence[Edge]) -> float:
    """Return the modularity of a partition, by the weights of the edges."""
    set_of = {member: index for index, members in enumerate(sets) for member in members}
    total, inside = sum(weight for _, _, weight in edges), 0.0
    degrees: dict[int, float] = defaultdict(float)
    for first, second, weight in edges:
        degrees[set_of[first]] += weight
        degrees[set_of[second]] += weight
        inside += weight * (set_of[first] == set_of[second])
    return inside / total - sum((degree / (2 * total)) ** 2 for degree in degrees.values())


def _reported(divided: Sequence[Community]) -> Counter[frozenset[str]]:
    sets = (community.members for community in divided)
    return Counter(frozenset(s) for s in sets if len(s) >= SETTINGS.least_reported)


def measure(home: Path, corpora: Sequence[str]) -> Iterator[Measurement]:
    """Yield a table a corpus."""
    for corpus in corpora:
        graph = Graph(home, corpus)
        entity_ids, edges = graph.without(None, is_dice=False)
        edited = sorted(set(graph.document_of.values()))[:EDITS]
        rows = []
        for name, (divide, is_dice) in WAYS.items():
            divided = divide(*graph.without(None, is_dice))
            reported = _reported(divided)
            shares = []
            for document_id in edited:
                after = _reported(divide(*graph.without(document_id, is_dice)))
                shares.append(1 - (after & reported).total() / max(1, after.total()))
            coarse, fine = cut(divided, 0), cut(divided, max(c.level for c in divided))
            rows.append(
                [
                    name,
                    str(reported.total()),
                    str(sum(len(s) >= SETTINGS.least_reported for s in coarse)),
                    str(max(map(len, coarse))),
                    f"{modularity(coarse, edges):.2f}",
                    f"{modularity(fine, edges):.2f}",
                    f"{100 * np.mean(shares):.0f}",
                ]
            )
        yield Measurement(
            f"{corpus}: communities",
            f"{len(entity_ids):,} entities, {len(edges):,} relationships. Sets of "
            f"{SETTINGS.least_reported} entities or more count. Modularity by counts, of the "
            "coarsest and the finest level. New: mean share that did not exist before one of "
            f"{len(edited)} documents was left out, %.",
            ["", "sets", "coarsest", "largest", "modularity", "of the finest", "new"],
            rows,
        )


def main() -> None:
    """Run the benchmark."""
    parser = parser_of(__doc__)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--corpora", required=True)
    chosen = parser.parse_args()
    tables = measure(chosen.home, chosen.corpora.split(","))
    publish("communities", tables, chosen.store)


if __name__ == "__main__":
    main()
