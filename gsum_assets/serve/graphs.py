"""Graphs of a corpus from its tables, as arrays: records, passages, entities and JERR's.

Each kind of graph is made by one function from tables to a `Graph`. What the page shows of it
(nodes with positions, neighbours, a way from one node to others) is the same for all kinds.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from scipy import sparse

from gsum_assets.plots.figure import COLOURS, OTHERS
from gsum_assets.serve.layout import positions
from gsum_resources.store.arrow import lengths_of, pc, values_of
from gsum_resources.store.content_hash import numbers_of

_GROUPS = (*COLOURS, "#8a6fc0", "#7f9a2b", "#b0573c", "#3f8f8a")
"""Colours of the largest groups; the others share `OTHERS`."""
_SIZES = 2.0, 12.0  # pixels, of the node with fewest and, in a small graph, most edges
_LABEL = 90  # characters
_LONG = 4  # letters of a word that says what a question is about


@dataclass(frozen=True, eq=False)
class Graph:
    """A graph in arrays.

    Attributes
    ----------
    ids, labels : of the nodes, `(n,)`.
    kinds : kind of each node, as 'passage', `(n,)`.
    groups : group of each node, by which it is coloured, an index of `group_labels`, int64 `(n,)`.
    ends : source and target of each edge, indices of nodes, int64 `(n_edges, 2)`.
    weights : of the edges, float64 `(n_edges,)`.
    relations : what each edge says, as 'used by', `(n_edges,)`.
    chunks : passages that each node comes from, besides itself, by index of the node.
    """

    ids: Sequence[str]
    labels: Sequence[str]
    kinds: Sequence[str]
    groups: np.ndarray
    group_labels: Sequence[str]
    ends: np.ndarray
    weights: np.ndarray
    relations: Sequence[str]
    chunks: Sequence[Sequence[str]] | None = None

    @cached_property
    def index(self) -> Mapping[str, int]:
        """Index of each node by its id."""
        return {node_id: i for i, node_id in enumerate(self.ids)}

    @cached_property
    def degrees(self) -> np.ndarray:
        """Number of edges at each node, int64 `(n,)`."""
        return np.bincount(self.ends.ravel(), minlength=len(self.ids))

    @cached_property
    def positions(self) -> np.ndarray:
        """Positions of the nodes, `(n, 2)`."""
        return positions(self.ends, self.weights, self.groups)

    @cached_property
    def adjacency(self) -> sparse.csr_matrix:
        """Which nodes are neighbours, in both directions, `(n, n)`."""
        both = np.concatenate([self.ends, self.ends[:, ::-1]]).T
        return sparse.csr_matrix((np.ones(both.shape[1]), both), (len(self.ids),) * 2)

    def part(self, nodes: np.ndarray) -> "Graph":
        """Return the graph of some nodes, given by their indices, and the edges between them."""
        new = np.full(len(self.ids), -1)
        new[nodes] = np.arange(len(nodes))
        ends = new[self.ends]
        inside = np.flatnonzero((ends >= 0).all(axis=1))
        rows: list[int] = nodes.tolist()
        return Graph(
            [self.ids[i] for i in rows],
            [self.labels[i] for i in rows],
            [self.kinds[i] for i in rows],
            self.groups[nodes],
            self.group_labels,
            ends[inside],
            self.weights[inside],
            [self.relations[int(i)] for i in inside],
            None if self.chunks is None else [self.chunks[i] for i in rows],
        )


def record_graph(nodes: pa.Table, edges: pa.Table) -> Graph:
    """Return the record graph: passages, and responses to simulated questions that used them.

    Parameters
    ----------
    nodes, edges : rows of `gor.record_nodes` and `gor.record_edges`.
    """
    ids, kinds = nodes["node_id"].to_pylist(), nodes["kind"].to_pylist()
    shown = ["passage" if kind == "chunk" else kind for kind in kinds]
    is_used = nodes["degree"].to_numpy() > 0
    groups = np.where(np.array(kinds) == "response", 1, np.where(is_used, 0, 2))
    ends, kept = _ends(ids, edges["source_id"], edges["target_id"])
    weights = 1 / edges["rank"].to_numpy()[kept]
    names = ("passage used by responses", "response", "passage not used")
    labels = _beginnings(nodes["text"])
    return Graph(ids, labels, shown, groups, names, ends, weights, ["used by"] * len(ends))


def passage_graph(chunks: pa.Table, edges: pa.Table, titles: Mapping[str, str]) -> Graph:
    """Return the passage graph: passages, and the passages that each predicts best.

    Parameters
    ----------
    chunks : rows of `chunks` with `chunk_id`, `document_id` and `text`.
    edges : rows of `lightpal.passage_edges` of one graph, level 'node' and one scope.
    titles : of the documents by id.
    """
    ids, documents = chunks["chunk_id"].to_pylist(), chunks["document_id"].to_pylist()
    numbers = numbers_of(chunks["chunk_id"].combine_chunks())
    by_number = np.argsort(numbers, kind="stable")
    targets = values_of(edges["targets"])
    at = np.minimum(np.searchsorted(numbers[by_number], targets), max(0, len(ids) - 1))
    targets_at = by_number[at] if len(ids) else at
    sources = pc.index_in(edges["source_id"], value_set=chunks["chunk_id"].combine_chunks())
    sources = np.repeat(sources.fill_null(-1).to_numpy(), lengths_of(edges["targets"]))
    known = (sources >= 0) & (numbers[targets_at] == targets) if len(ids) else sources > 0
    ends = np.stack([sources, targets_at], 1)[known].astype(np.int64)
    weights = values_of(edges["weights"])[known]
    ends, weights = _undirected(ends, weights)
    groups, names = _largest([titles.get(document, document) for document in documents])
    document_at = np.array(documents, object)
    is_same = document_at[ends[:, 0]] == document_at[ends[:, 1]]
    relations = np.where(is_same, "similar, in one document", "similar, in another document")
    kinds = ["passage"] * len(ids)
    labels = _beginnings(chunks["text"])
    return Graph(ids, labels, kinds, groups, names, ends, weights, relations.tolist())


def entity_graph(entities: pa.Table, relationships: pa.Table, communities: pa.Table) -> Graph:
    """Return the entity graph, coloured by communities of the coarsest level.

    Parameters
    ----------
    entities, relationships, communities : rows of GraphRAG's tables.
    """
    ids = entities["entity_id"].to_pylist()
    community: dict[str, str] = {}
    for row in communities.filter(pc.equal(communities["level"], 0)).to_pylist():
        community |= dict.fromkeys(row["entity_ids"], row["title"])
    groups, names = _largest([community.get(entity, "in no community") for entity in ids])
    ends, kept = _ends(ids, relationships["source_id"], relationships["target_id"])
    relations = _beginnings(relationships["description"].take(pa.array(kept)))
    kinds = [kind or "other" for kind in entities["type"].to_pylist()]
    weights = relationships["weight"].to_numpy()[kept].astype(float)
    chunks = entities["chunk_ids"].to_pylist()
    labels = entities["name"].to_pylist()
    return Graph(ids, labels, kinds, groups, names, ends, weights, relations, chunks)


def jerr_graph(nodes: pa.Table, edges: pa.Table, titles: Mapping[str, str]) -> Graph:
    """Return JERR's graph: elements of synopses, and relations between them.

    Parameters
    ----------
    nodes, edges : rows of `jerr.nodes` and `jerr.edges` of one size of line chunks.
    titles : of the documents by id.
    """
    ids, documents = nodes["node_id"].to_pylist(), nodes["document_ids"].to_pylist()
    ends, kept = _ends(ids, edges["source_id"], edges["target_id"])
    has_source, has_target = (np.bincount(ends[:, i], minlength=len(ids)) for i in (1, 0))
    kinds = np.select(
        [(has_source == 0) & (has_target == 0), has_source == 0, has_target == 0],
        ["unconnected concept", "first concept", "last concept"],
        "concept",
    )
    groups, names = _largest(
        [titles.get(of[0], of[0]) if len(of) == 1 else "in several documents" for of in documents]
    )
    return Graph(
        ids,
        nodes["name"].to_pylist(),
        kinds.tolist(),
        groups,
        names,
        ends,
        edges["weight"].to_numpy()[kept].astype(float),
        edges["relation"].take(pa.array(kept)).to_pylist(),
        nodes["chunk_ids"].to_pylist(),
    )


def drawn(graph: Graph, most: int) -> dict[str, Any]:
    """Return the nodes with most edges and the edges between them, as plain values for the page.

    Parameters
    ----------
    most : nodes at most.
    """
    n, m = len(graph.ids), len(graph.ends)
    if n > most:
        best = np.sort(np.argsort(-graph.degrees, kind="stable")[:most])
        degrees, graph = graph.degrees[best], graph.part(best)
    else:
        degrees = graph.degrees
    least, largest = _SIZES
    largest = float(np.clip(130 / np.sqrt(max(1, n)), 2 * least, largest))
    relative = np.sqrt(degrees / max(6, degrees.max(initial=1)))
    sizes = np.round(least + (largest - least) * relative, 1).tolist()
    at = np.round(graph.positions, 2).tolist()
    relations = list(dict.fromkeys(graph.relations))
    relation = {name: i for i, name in enumerate(relations)}
    counts = np.bincount(graph.groups, minlength=len(graph.group_labels))
    return {
        "nodes": [
            {"id": a, "label": b, "kind": c, "group": d, "size": e, "x": f[0], "y": f[1]}
            for a, b, c, d, e, f in zip(
                graph.ids, graph.labels, graph.kinds, graph.groups.tolist(), sizes, at, strict=True
            )
        ],
        "edges": [
            [a, b, w, relation[name]]
            for (a, b), w, name in zip(
                graph.ends.tolist(),
                np.round(graph.weights, 3).tolist(),
                graph.relations,
                strict=True,
            )
        ],
        "kinds": sorted(set(graph.kinds)),
        "relations": relations,
        "legend": [
            {"group": i, "label": label, "color": _colour(i, label), "count": int(counts[i])}
            for i, label in enumerate(graph.group_labels)
            if counts[i]
        ],
        "total_nodes": n,
        "total_edges": m,
    }


def neighbours(graph: Graph, node_id: str, depth: int, most: int) -> Graph:
    """Return the part of a graph around a node, the node first, then the nearest ones.

    Parameters
    ----------
    depth : edges from the node, at most.
    most : nodes at most; of equally near ones those with most edges.
    """
    near = sparse.csgraph.dijkstra(
        graph.adjacency, indices=graph.index[node_id], unweighted=True, limit=depth
    )
    order = np.lexsort((-graph.degrees, near))
    return graph.part(order[: min(most, int(np.isfinite(near).sum()))])


class Step(NamedTuple):
    """A node on a way, and how the way reaches it; `relation` of the first one is ''."""

    node: int
    relation: str


def way(graph: Graph, sources: Collection[int], targets: Collection[int]) -> list[Step]:
    """Return a shortest way from one of the sources to one of the targets; [] if there is none.

    Edges are followed in both directions.
    """
    if not sources or not targets:
        return []
    far, before, _ = sparse.csgraph.dijkstra(
        graph.adjacency,
        indices=sorted(sources),
        unweighted=True,
        return_predecessors=True,
        min_only=True,
    )
    last = min(sorted(targets), key=far.__getitem__)
    if not np.isfinite(far[last]):
        return []
    nodes = [last]
    while before[nodes[-1]] >= 0:
        nodes.append(int(before[nodes[-1]]))
    nodes.reverse()
    return [Step(nodes[0], "")] + [
        Step(node, _relation(graph, earlier, node)) for earlier, node in pairwise(nodes)
    ]


def holding(graph: Graph, node_id: str) -> list[int]:
    """Return the nodes that are `node_id`, or that come from the passage `node_id`."""
    if node_id in graph.index:
        return [graph.index[node_id]]
    return [i for i, chunks in enumerate(graph.chunks or ()) if node_id in chunks]


def named_in(graph: Graph, question: str, most: int = 8) -> list[int]:
    """Return the nodes whose whole label stands in a question, the longest labels first.

    If there is none, those that share most long words with it.
    """
    words = _words(question)
    text, long = f" {' '.join(words)} ", {word for word in words if len(word) >= _LONG}
    labels = [_words(label) for label in graph.labels]
    whole = {
        i: sum(map(len, label)) for i, label in enumerate(labels) if f" {' '.join(label)} " in text
    }
    shared = whole or {i: len(long & {*label}) for i, label in enumerate(labels)}
    return sorted((i for i in shared if shared[i]), key=lambda i: (-shared[i], i))[:most]


def search(graph: Graph, query: str, most: int) -> list[int]:
    """Return the nodes whose label contains every word of a query, most connected first."""
    words = query.casefold().split()
    found = [
        i
        for i, label in enumerate(graph.labels)
        if words and all(word in label.casefold() for word in words)
    ]
    return sorted(found, key=lambda i: (-int(graph.degrees[i]), i))[:most]


def _words(text: str) -> list[str]:
    return "".join(c if c.isalnum() else " " for c in text.casefold()).split()


def _relation(graph: Graph, first: int, second: int) -> str:
    at = np.flatnonzero((np.sort(graph.ends, axis=1) == sorted((first, second))).all(axis=1))
    return graph.relations[int(at[np.argmax(graph.weights[at])])]


def _ends(
    ids: Sequence[str], sources: pa.ChunkedArray, targets: pa.ChunkedArray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of edges as indices, int64 `(n, 2)`, and the rows that have both ends."""
    known = pa.array(ids, pa.string())
    found = [
        pc.index_in(end, value_set=known).fill_null(-1).to_numpy() for end in (sources, targets)
    ]
    ends = np.stack(found, 1).astype(np.int64).reshape(-1, 2)
    has_both = (ends >= 0).all(axis=1)
    return ends[has_both], np.flatnonzero(has_both)


def _undirected(ends: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return each pair of nodes once, with the sum of the weights of its edges."""
    pairs, pair = np.unique(np.sort(ends, axis=1), axis=0, return_inverse=True)
    return pairs, np.bincount(pair.ravel(), weights, len(pairs))


def _largest(names: Sequence[str]) -> tuple[np.ndarray, Sequence[str]]:
    """Return the group of each node, `(n,)`, and the names of the groups, the largest first.

    More groups than there are colours become one, 'others'.
    """
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    ordered = sorted(counts, key=lambda name: (-counts[name], name))
    shown = ordered if len(ordered) <= len(_GROUPS) else ordered[: len(_GROUPS)]
    group = {name: i for i, name in enumerate(shown)}
    labels = shown if len(shown) == len(ordered) else [*shown, "others"]
    return np.array([group.get(name, len(shown)) for name in names], np.int64), labels


def _colour(group: int, label: str) -> str:
    is_rest = group >= len(_GROUPS) or label in ("in no community", "passage not used")
    return OTHERS if is_rest else _GROUPS[group]


def _beginnings(texts: pa.ChunkedArray) -> list[str]:
    """Return the first characters of texts, in one line."""
    begun = pc.utf8_slice_codeunits(texts, 0, _LABEL + 1).to_pylist()
    lines = (" ".join(text.split()) + "…" * (len(text) > _LABEL) for text in begun)
    return [line if len(line) <= _LABEL else f"{line[: _LABEL - 1]}…" for line in lines]
