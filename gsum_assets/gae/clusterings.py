"""Ways of clustering side by side: which one is taken, and what a person would ask about each.

Labels (which passages a question's answer rests on) are read for pair precision and recall alone,
which nothing is chosen by.
"""

from collections.abc import Collection as AnyOf
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa

from gsum_assets.gae.choose import (
    Labels,
    Verdict,
    agreements,
    chosen,
    n_pairs,
    stability,
    weight_of,
)
from gsum_assets.gae.clusters import clusterers
from gsum_assets.gae.graph_edges import edges_of
from gsum_assets.gae.levels import Level, in_order, level_vectors, levels, of_level
from gsum_assets.gae.settings import ClusterSettings
from gsum_assets.retrieval.collection import Collection
from gsum_assets.tables import TABLES
from gsum_resources.arrow import pc

_SILHOUETTE_OF = 2000  # passages: it takes time by the square


def clusters(
    graph_edges: pa.Table, embeddings: pa.Table, collection: Collection, settings: ClusterSettings
) -> pa.Table:
    """Return the rows of `gae.clusters`: every way of clustering, of documents and of chunks.

    Parameters
    ----------
    graph_edges, embeddings : rows of the tables of that name in `gae`.
    """
    parts = []
    for level in levels(collection):
        everyone = np.arange(len(level.ids))
        for name, clusterer in _ways(graph_edges, embeddings, level, settings).items():
            columns = {
                "level": pa.repeat(level.name, len(everyone)),
                "clustering": pa.repeat(name, len(everyone)),
                "passage_id": pa.array(level.ids, pa.string()),
                "cluster": clusterer(everyone).astype(np.int32),
            }
            parts.append(pa.table(columns, schema=TABLES["gae.clusters"].schema))
    return pa.concat_tables(parts).combine_chunks()


def _ways(graph_edges: pa.Table, embeddings: pa.Table, level: Level, settings: ClusterSettings):
    vectors = level_vectors(embeddings, level, "gae/embeddings")
    return clusterers(vectors, edges_of(graph_edges, level.name, level.ids), settings)


def labels_of(rows: pa.Table, level: Level) -> Labels:
    """Return clusters of a level's passages in their order, by clustering.

    Parameters
    ----------
    rows : of `gae.clusters`.
    """
    rows = of_level(rows, level.name)
    names = pc.unique(rows["clustering"]).to_pylist()
    return {
        name: in_order(rows.filter(pc.equal(rows["clustering"], name)), level.ids, "gae/clusters")[
            "cluster"
        ].to_numpy()
        for name in names
    }


def clusterings(
    clusters: pa.Table,
    graph_edges: pa.Table,
    embeddings: pa.Table,
    collection: Collection,
    queries: pa.Table,
    language: str,
    settings: ClusterSettings,
) -> pa.Table:
    """Return the rows of `gae.clusterings`, the chosen ones of each level and scope marked.

    Parameters
    ----------
    clusters, graph_edges, embeddings : rows of the tables of that name in `gae`.
    collection : with embeddings.
    queries : rows of `queries`; read for pair precision and recall.
    language : BCP 47 code.
    """
    found = {level.name: labels_of(clusters, level) for level in levels(collection)}
    facts = {
        (level.name, name): fact
        for level in levels(collection)
        for name, fact in _facts(
            level, found[level.name], graph_edges, embeddings, queries, settings
        )
    }
    agreed = agreements(collection, found["document"], found["node"], language, settings)
    rows = []
    for (level, scope), judged in groupby(agreed, key=lambda one: one[:2]):
        verdicts = {
            name: Verdict(agreement, facts[level, name]["stability"], facts[level, name]["parts"])
            for _, _, name, agreement in judged
        }
        rows += _rows(level, scope, verdicts, facts, settings)
    return pa.Table.from_pylist(rows, TABLES["gae.clusterings"].schema)


def _rows(
    level: str,
    scope: str,
    verdicts: Mapping[str, Verdict],
    facts: Mapping[tuple[str, str], Mapping[str, Any]],
    settings: ClusterSettings,
) -> Iterator[dict]:
    """Yield one level and scope; a clustering that the settings name is followed in full."""
    is_free = settings.method == "chosen"
    allowed = {n: v for n, v in verdicts.items() if is_free or n.startswith(settings.method)}
    if not allowed:
        raise ValueError(
            f"gae/clusterings: [gae.clusters] method = '{settings.method}', but there is no such "
            f"clustering of this corpus, only {', '.join(verdicts)}; choose one of them"
        )
    best = chosen(allowed)
    for name, verdict in verdicts.items():
        yield {
            "level": level,
            "scope": scope,
            "clustering": name,
            "is_chosen": name == best,
            "weight": weight_of(verdict.agreement) if is_free else 1.0,
            "agreement": verdict.agreement,
            **{key: value for key, value in facts[level, name].items() if key != "parts"},
        }


def _facts(
    level: Level,
    labels: Labels,
    graph_edges: pa.Table,
    embeddings: pa.Table,
    queries: pa.Table,
    settings: ClusterSettings,
) -> Iterator[tuple[str, dict]]:
    """What each clustering of a level is like."""
    vectors = level_vectors(embeddings, level, "gae/embeddings")
    together = _together(queries, level)
    ways = _ways(graph_edges, embeddings, level, settings)
    for name in labels:
        sizes = np.bincount(labels[name])
        n, largest = len(labels[name]), int(sizes.max(initial=0))
        precision, recall = pair_scores(labels[name], together)
        yield (
            name,
            {
                "stability": stability(ways[name], labels[name], settings.seed),
                "n_clusters": len(sizes),
                "largest": largest / max(1, n),
                "parts": 2 * largest <= n and len(sizes) < n,
                "silhouette": _silhouette(vectors, labels[name]),
                "pair_precision": precision,
                "pair_recall": recall,
            },
        )


def _silhouette(vectors: np.ndarray, labels: np.ndarray) -> float | None:
    """Rousseeuw (1987), of at most 2,000 passages; None where it has no meaning."""
    from sklearn.metrics import silhouette_score

    if len(labels) > _SILHOUETTE_OF:
        taken = np.random.default_rng(0).choice(len(labels), _SILHOUETTE_OF, replace=False)
        vectors, labels = vectors[taken], labels[taken]
    n = len(np.unique(labels))
    return float(silhouette_score(vectors, labels)) if 2 <= n < len(labels) else None


def _together(queries: pa.Table, level: Level) -> Sequence[AnyOf[int]]:
    """Places of the passages that each question names as its answer's ground."""
    column = "relevant_document_ids" if level.name == "document" else "relevant_chunk_ids"
    place = {passage_id: i for i, passage_id in enumerate(level.ids)}
    named = [{place[i] for i in ids or () if i in place} for ids in queries[column].to_pylist()]
    return [ids for ids in named if len(ids) > 1]


def pair_scores(
    labels: np.ndarray, together: Sequence[AnyOf[int]]
) -> tuple[float | None, float | None]:
    """Return precision and recall of the pairs that share a cluster; None without labels.

    A pair is true if a question names both; pairs of passages that no question names beside
    another do not count.

    Parameters
    ----------
    labels : cluster of each passage, `(n_passages,)`.
    together : the passages that a question names, for each question.
    """
    true = {(a, b) for ids in together for a in ids for b in ids if a < b}
    if not true:
        return None, None
    known = np.array(sorted({place for pair in true for place in pair}))
    hits = sum(labels[a] == labels[b] for a, b in true)
    found = n_pairs(labels[known])
    return (hits / found if found else None), hits / len(true)
