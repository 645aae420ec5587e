"""The kinds of graphs: records, passages, entities and JERR's, each from its tables."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from gsum_assets.serve.graphs import GROUPS, Graph
from gsum_resources.store.arrow import lengths_of, pc, values_of
from gsum_resources.store.content_hash import numbers_of

_LABEL = 90  # characters


def record_graph(nodes: pa.Table, edges: pa.Table) -> Graph:
    """Return the record graph: passages, and responses to simulated questions that used them.

    Rows are those of `gor.record_nodes` and `gor.record_edges`.
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
    """Return the passage graph: rows of `chunks`, and the passages that each predicts best.

    `edges` are rows of `lightpal.passage_edges` of one graph, level 'node' and one scope.
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
    """Return the entity graph of GraphRAG's tables, coloured by the coarsest communities."""
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
    """Return JERR's graph of `jerr.nodes` and `jerr.edges`: elements of synopses, and relations."""
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
    counts = Counter(names)
    ordered = sorted(counts, key=lambda name: (-counts[name], name))
    shown = ordered if len(ordered) <= len(GROUPS) else ordered[: len(GROUPS)]
    group = {name: i for i, name in enumerate(shown)}
    labels = shown if len(shown) == len(ordered) else [*shown, "others"]
    return np.array([group.get(name, len(shown)) for name in names], np.int64), labels


def _beginnings(texts: pa.ChunkedArray) -> list[str]:
    """Return the first characters of texts, in one line."""
    begun = pc.utf8_slice_codeunits(texts, 0, _LABEL + 1).to_pylist()
    lines = (" ".join(text.split()) + "…" * (len(text) > _LABEL) for text in begun)
    return [line if len(line) <= _LABEL else f"{line[: _LABEL - 1]}…" for line in lines]
