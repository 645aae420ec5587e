"""Index assets of graph-augmented summarization: graph, features, auto-encoder and clusters."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from gsum_assets.gae.autoencoder import embed_graph
from gsum_assets.gae.clusterings import clusterings, clusters, labels_of
from gsum_assets.gae.graph_edges import edges_of, graph_edges
from gsum_assets.gae.levels import Level, level_vectors, levels, vector_rows
from gsum_assets.gae.node_features import node_features
from gsum_assets.gae.plots import clusters_picture, loss_picture
from gsum_assets.gae.settings import ClusterSettings, GraphSettings, TrainingSettings
from gsum_assets.method import Inputs, Step
from gsum_assets.result import Picture, Result
from gsum_assets.retrieval.collection import Collection

_LOG_EVERY = 50  # epochs
TEXTS = ("documents", "chunks")
_NUMBERS = ("weight", "agreement", "stability", "silhouette", "pair_precision", "pair_recall")


def collection_of(inputs: Inputs, *vectors: str) -> Collection:
    """Return the documents and chunks of the corpus, with the embeddings of the named table."""
    return Collection.from_tables(*map(inputs.table, (*TEXTS, *vectors)))


def _graph_edges(inputs: Inputs) -> pa.Table:
    documents, chunks = map(inputs.table, TEXTS)
    named = (documents[column].to_pylist() for column in ("document_id", "cites"))
    return graph_edges(
        Collection.from_tables(documents, chunks),
        {document_id: cited for document_id, cited in zip(*named, strict=True) if cited},
        inputs.settings("language"),
        GraphSettings.model_validate(inputs.settings("gae.graph")),
        inputs.engine,
    )


def _node_features(inputs: Inputs) -> pa.Table:
    return node_features(
        collection_of(inputs, "chunk_embeddings"),
        inputs.settings("language"),
        GraphSettings.model_validate(inputs.settings("gae.graph")),
    )


def _embeddings(inputs: Inputs) -> Result:
    settings = TrainingSettings.model_validate(inputs.settings("gae.training"))
    tables = inputs.table("graph_edges"), inputs.table("node_features")
    trained = {
        level.name: _trained(inputs, level, *tables, settings)
        for level in levels(collection_of(inputs))
    }
    rows = pa.concat_tables(rows for rows, _ in trained.values()).combine_chunks()

    def shown() -> Mapping[str, Any]:
        if not rows.num_rows:
            return {}
        png = loss_picture({name: losses for name, (_, losses) in trained.items()}, inputs.title)
        return {"embeddings": {"plot": Picture(png, "loss of the auto-encoder")}}

    return Result(rows, shown=shown)


def _trained(
    inputs: Inputs,
    level: Level,
    edges: pa.Table,
    features: pa.Table,
    settings: TrainingSettings,
) -> tuple[pa.Table, list[float]]:
    """Return the rows of `gae.embeddings` of one level, and the loss of every epoch."""
    show = inputs.progress(f"epochs, level {level.name}")
    losses: list[float] = []

    def on_epoch(epoch: int, loss: float) -> None:
        losses.append(loss)
        show(epoch, settings.epochs)
        if epoch in (1, settings.epochs) or epoch % _LOG_EVERY == 0:
            inputs.log(f"level {level.name}, epoch {epoch} of {settings.epochs}: loss {loss:.5f}")

    vectors = embed_graph(
        level_vectors(features, level, "gae/node_features"),
        edges_of(edges, level.name, level.ids),
        settings,
        on_epoch,
    )
    return vector_rows(level.name, level.ids, vectors), losses


def _clusters(inputs: Inputs) -> pa.Table:
    return clusters(
        inputs.table("graph_edges"),
        inputs.table("embeddings"),
        collection_of(inputs),
        ClusterSettings.model_validate(inputs.settings("gae.clusters")),
    )


def _clusterings(inputs: Inputs) -> Result:
    found, embeddings = inputs.table("clusters"), inputs.table("embeddings")
    collection = collection_of(inputs, "chunk_embeddings")
    judged = clusterings(
        found,
        inputs.table("graph_edges"),
        embeddings,
        collection,
        inputs.table("queries"),
        inputs.settings("language"),
        ClusterSettings.model_validate(inputs.settings("gae.clusters")),
    )
    return Result(
        judged,
        shown=lambda: {"clusterings": _chosen(inputs.title, judged, found, embeddings, collection)},
    )


def _chosen(
    title: str, judged: pa.Table, clusters: pa.Table, embeddings: pa.Table, collection: Collection
) -> dict[str, Any]:
    """Return plots and measures of the clusterings used for questions about the whole corpus."""
    shown: dict[str, Any] = {}
    rows = [row for row in judged.to_pylist() if row["is_chosen"] and row["scope"] == "corpus"]
    if not rows:  # of an empty corpus
        return shown
    for level, row in zip(levels(collection), rows, strict=True):
        labels = labels_of(clusters, level)[row["clustering"]]
        what = "documents" if level.name == "document" else "chunks"
        sizes, counts = np.unique(np.bincount(labels), return_counts=True)
        by_size = zip(sizes[::-1], counts[::-1].tolist(), strict=True)
        png = clusters_picture(
            level_vectors(embeddings, level, "gae/embeddings"),
            labels,
            _names(level, collection),
            f"{title}: {what} by {row['clustering']}",
            row["silhouette"],
            what,
        )
        shown |= {
            f"{what}_clustering": row["clustering"],
            f"{what}_clusters_by_size": {f"{size:,}": count for size, count in by_size},
            f"{what}_plot": Picture(png, f"clusters of {what}"),
            **{f"{what}_{name}": row[name] for name in _NUMBERS if row[name] is not None},
        }
    return shown


def _names(level: Level, collection: Collection) -> Sequence[str]:
    """Return readable names of passages: ids of documents, or document and position of chunks."""
    if level.name == "document":
        return level.ids
    lengths = np.diff(collection.starts).tolist()
    return [
        f"{document_id} #{position}"
        for document_id, n in zip(collection.document_ids, lengths, strict=True)
        for position in range(n)
    ]


INDEX = (
    Step(
        _graph_edges,
        {
            "graph_edges": "Neighbours, citations, and the nearest by TF-IDF; the auto-encoder "
            "reconstructs them, and Leiden clusters them."
        },
        (*TEXTS, "corpus_settings"),
    ),
    Step(
        _node_features,
        {"node_features": "Input of the auto-encoder besides the edges."},
        (*TEXTS, "chunk_embeddings", "corpus_settings"),
        code_version="2",
    ),
    Step(
        _embeddings,
        {"embeddings": "The auto-encoder is retrained whenever the graph changes."},
        (*TEXTS, "graph_edges", "node_features", "corpus_settings"),
        code_version="2",
    ),
    Step(
        _clusters,
        {
            "clusters": "DBSCAN, HDBSCAN and K-Means use the embeddings, Leiden the graph; a "
            "noise point is a cluster of its own."
        },
        (*TEXTS, "graph_edges", "embeddings", "corpus_settings"),
        code_version="2",
    ),
    Step(
        _clusterings,
        {
            "clusterings": "One is chosen without labels, by the results of re-ranking for "
            "held-out passages, and by its stability when a tenth of the passages is left out."
        },
        (
            *(*TEXTS, "chunk_embeddings", "queries"),
            *("graph_edges", "embeddings", "clusters", "corpus_settings"),
        ),
    ),
)
