"""Comparison of clusterings: their quality measures, and which one is chosen.

Labels (the relevant passages of questions) are read only for pair precision and recall, which do
not affect the choice.
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
from gsum_assets.gae.clusters import by_size, clusterers, named_by_members
from gsum_assets.gae.graph_edges import edges_of
from gsum_assets.gae.levels import Level, in_order, level_vectors, levels, of_level
from gsum_assets.gae.settings import ClusterSettings
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection
from gsum_resources.store.arrow import pc
from gsum_resources.store.content_hash import numbers_of

_SILHOUETTE_OF = 2000  # passages: its time is quadratic


def clusters(
    graph_edges: pa.Table, embeddings: pa.Table, collection: Collection, settings: ClusterSettings
) -> pa.Table:
    """Return the rows of `gae.clusters`: every clustering of documents and of chunks.

    Parameters
    ----------
    graph_edges, embeddings : rows of `gae.graph_edges` and `gae.embeddings`.
    """
    tables = []
    for level in levels(collection):
        everyone = np.arange(len(level.ids))
        numbers = numbers_of(pa.array(level.ids, pa.string()))
        for name, clusterer in _ways(graph_edges, embeddings, level, settings).items():
            columns = {
                "level": pa.repeat(level.name, len(everyone)),
                "clustering": pa.repeat(name, len(everyone)),
                "passage_id": pa.array(level.ids, pa.string()),
                "cluster": named_by_members(clusterer(everyone), numbers),
            }
            tables.append(pa.table(columns, schema=TABLES["gae.clusters"].schema))
    return pa.concat_tables(tables).combine_chunks()


def _ways(graph_edges: pa.Table, embeddings: pa.Table, level: Level, settings: ClusterSettings):
    vectors = level_vectors(embeddings, level, "gae/embeddings")
    return clusterers(vectors, edges_of(graph_edges, level.name, level.ids), settings)


def labels_of(rows: pa.Table, level: Level) -> Labels:
    """Return the clusters of a level's passages in their order, by name of the clustering.

    They are counted from 0, largest first.

    Parameters
    ----------
    rows : rows of `gae.clusters`.
    """
    rows = of_level(rows, level.name)
    names = pc.unique(rows["clustering"]).to_pylist()
    return {
        name: by_size(
            in_order(rows.filter(pc.equal(rows["clustering"], name)), level.ids, "gae/clusters")[
                "cluster"
            ].to_numpy()
        )
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
    """Return the rows of `gae.clusterings`, with the chosen one of each level and scope marked.

    Parameters
    ----------
    clusters, graph_edges, embeddings : rows of `gae.clusters`, `gae.graph_edges` and
        `gae.embeddings`.
    collection : with embeddings.
    queries : rows of `queries`; read for pair precision and recall.
    language : BCP 47 code.
    """
    labels = {level.name: labels_of(clusters, level) for level in levels(collection)}
    facts = {
        (level.name, name): fact
        for level in levels(collection)
        for name, fact in _facts(
            level, labels[level.name], graph_edges, embeddings, queries, settings
        )
    }
    agreed = agreements(collection, labels["document"], labels["node"], language, settings)
    rows = []
    for (level, scope), judged in groupby(agreed, key=lambda row: row[:2]):
        verdicts = {
            name: Verdict(
                agreement, facts[level, name]["stability"], facts[level, name]["is_split"]
            )
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
    """Yield the rows of one level and scope; a clustering named in the settings has weight 1."""
    is_free = settings.method == "chosen"
    allowed = {n: v for n, v in verdicts.items() if is_free or n.startswith(settings.method)}
    if not allowed:
        raise ValueError(
            f"gae/clusterings: [gae.clusters] method = '{settings.method}', but this corpus has "
            f"only the clusterings {', '.join(verdicts)}; choose one of them"
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
            **{key: value for key, value in facts[level, name].items() if key != "is_split"},
        }


def _facts(
    level: Level,
    labels: Labels,
    graph_edges: pa.Table,
    embeddings: pa.Table,
    queries: pa.Table,
    settings: ClusterSettings,
) -> Iterator[tuple[str, dict]]:
    """Yield the name and the quality measures of each clustering of a level."""
    vectors = level_vectors(embeddings, level, "gae/embeddings")
    column = "relevant_document_ids" if level.name == "document" else "relevant_chunk_ids"
    index = {passage_id: i for i, passage_id in enumerate(level.ids)}
    relevant = [{index[i] for i in ids or () if i in index} for ids in queries[column].to_pylist()]
    together = [ids for ids in relevant if len(ids) > 1]
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
                "is_split": 2 * largest <= n and len(sizes) < n,
                "silhouette": _silhouette(vectors, labels[name]),
                "pair_precision": precision,
                "pair_recall": recall,
            },
        )


def _silhouette(vectors: np.ndarray, labels: np.ndarray) -> float | None:
    """Return the silhouette (Rousseeuw, 1987) of at most 2,000 passages; None if undefined."""
    from sklearn.metrics import silhouette_score

    if len(labels) > _SILHOUETTE_OF:
        sample = np.random.default_rng(0).choice(len(labels), _SILHOUETTE_OF, replace=False)
        vectors, labels = vectors[sample], labels[sample]
    n = len(np.unique(labels))
    return float(silhouette_score(vectors, labels)) if 2 <= n < len(labels) else None


def pair_scores(
    labels: np.ndarray, together: Sequence[AnyOf[int]]
) -> tuple[float | None, float | None]:
    """Return precision and recall of the pairs of passages in a cluster; None without labels.

    A pair is true if both passages are relevant to one question; passages that are in no true pair
    do not count.

    Parameters
    ----------
    labels : cluster of each passage, `(n_passages,)`.
    together : indices of the relevant passages of each question.
    """
    true = {(a, b) for ids in together for a in ids for b in ids if a < b}
    if not true:
        return None, None
    relevant = np.array(sorted({index for pair in true for index in pair}))
    hits = sum(labels[a] == labels[b] for a, b in true)
    n_joined = n_pairs(labels[relevant])
    return (hits / n_joined if n_joined else None), hits / len(true)
