"""Index assets of graph-augmented summarization: graph, features, auto-encoder and clusters."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from gsum_assets.gae.checks import EVERY_PASSAGE_ONCE, NOT_DEGENERATE, NOT_OVER_SMOOTHED
from gsum_assets.gae.clusterings import clusterings, clusters, labels_of
from gsum_assets.gae.graph_edges import graph_edges
from gsum_assets.gae.levels import Level, level_vectors, levels
from gsum_assets.gae.model import OnEpoch, embeddings, load_model, model_rows, trained_model
from gsum_assets.gae.node_features import node_features
from gsum_assets.gae.plots import clusters_picture, loss_picture
from gsum_assets.gae.settings import ClusterSettings, GraphSettings, TrainingSettings
from gsum_assets.pipeline.result import Picture, Result
from gsum_assets.pipeline.step import Inputs, Retraining, Step
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection
from gsum_resources.messages.progress import Report

_LOG_EVERY = 50  # epochs
_PASSAGES = {"document": "documents", "node": "chunks"}
TEXTS = ("documents", "chunks")
_NUMBERS = ("weight", "agreement", "stability", "silhouette", "pair_precision", "pair_recall")


def collection_of(inputs: Inputs, *vectors: str) -> Collection:
    """Return the documents and chunks of the corpus, with the embeddings of the named table."""
    return Collection.from_tables(*map(inputs.table, (*TEXTS, *vectors)))


def _cites(documents: pa.Table) -> dict[str, Sequence[str]]:
    """Return the ids of the documents that a document cites, by its id."""
    named = (documents[column].to_pylist() for column in ("document_id", "cites"))
    return {document_id: cited for document_id, cited in zip(*named, strict=True) if cited}


def _graph_settings(inputs: Inputs) -> GraphSettings:
    return GraphSettings.model_validate(inputs.settings("gae.graph"))


def _training(inputs: Inputs) -> TrainingSettings:
    return TrainingSettings.model_validate(inputs.settings("gae.training"))


def _model(inputs: Inputs) -> Result:
    for table in TEXTS:
        inputs.size(table)  # bases of few passages do not fit many: train again when it doubles
    collection = collection_of(inputs, "chunk_embeddings")
    graph, training = _graph_settings(inputs), _training(inputs)
    losses: dict[str, list[float]] = {}
    model = trained_model(
        collection,
        _cites(inputs.table("documents")),
        inputs.settings("language"),
        graph,
        training,
        _reporter(inputs, training.epochs, losses),
        inputs.engine,
    )
    embedder = inputs.model("embedding_model").identity
    rows = model_rows(model, collection, embedder, graph, training)
    log = pa.Table.from_pylist(
        [
            {"level": level, "epoch": epoch, "loss": loss}
            for level, of_level in losses.items()
            for epoch, loss in enumerate(of_level, 1)
        ],
        TABLES["gae.training_log"].schema,
    )

    def shown() -> Mapping[str, Any]:
        learnt = f"learnt from {len(collection.document_ids)} documents"
        by_passages = {_PASSAGES[level]: of_level for level, of_level in losses.items()}
        png = loss_picture(by_passages, inputs.title)
        plot = {"plot": Picture(png, "loss of the auto-encoder")}
        return {"model": {"documents": learnt}, "training_log": plot if losses else {}}

    return Result(rows, beside={"training_log": log}, shown=shown)


def _reporter(inputs: Inputs, n_epochs: int, losses: dict[str, list[float]]) -> OnEpoch:
    """Return the function that reports an epoch, and adds its loss to those of its level."""

    def on_epoch(level: str, epoch: int, loss: float) -> None:
        if level not in losses:
            losses[level] = []
            shows[level] = inputs.progress(f"epochs, level {level}")
        losses[level].append(loss)
        shows[level](epoch, n_epochs)
        if epoch in (1, n_epochs) or epoch % _LOG_EVERY == 0:
            inputs.log(f"level {level}, epoch {epoch} of {n_epochs}: loss {loss:.5f}")

    shows: dict[str, Report] = {}
    return on_epoch


def _graph_edges(inputs: Inputs) -> pa.Table:
    documents, chunks = map(inputs.table, TEXTS)
    return graph_edges(
        Collection.from_tables(documents, chunks),
        _cites(documents),
        inputs.settings("language"),
        _graph_settings(inputs),
        load_model(inputs.table("model")).words,
        inputs.engine,
    )


def _node_features(inputs: Inputs) -> pa.Table:
    collection = collection_of(inputs, "chunk_embeddings")
    return node_features(
        collection,
        inputs.settings("language"),
        _graph_settings(inputs),
        load_model(inputs.table("model"), collection).bases,
    )


def _embeddings(inputs: Inputs) -> pa.Table:
    return embeddings(
        load_model(inputs.table("model")),
        collection_of(inputs),
        inputs.table("graph_edges"),
        inputs.table("node_features"),
        _training(inputs).dim,
    )


def _clusters(inputs: Inputs) -> pa.Table:
    return clusters(
        inputs.table("graph_edges"),
        inputs.table("embeddings"),
        collection_of(inputs),
        ClusterSettings.model_validate(inputs.settings("gae.clusters")),
    )


def _clusterings(inputs: Inputs) -> Result:
    inputs.column("model", "epochs")  # the choice is part of the trained state: it depends on this
    clusters, embeddings = inputs.table("clusters"), inputs.table("embeddings")
    collection = collection_of(inputs, "chunk_embeddings")
    judged = clusterings(
        clusters,
        inputs.table("graph_edges"),
        embeddings,
        collection,
        inputs.table("queries"),
        inputs.settings("language"),
        ClusterSettings.model_validate(inputs.settings("gae.clusters")),
    )
    return Result(
        judged,
        shown=lambda: {
            "clusterings": _chosen(inputs.title, judged, clusters, embeddings, collection)
        },
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
        what = _PASSAGES[level.name]
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
        _model,
        {
            "model": "It is applied to new documents unchanged, and trained again when code, "
            "settings or embedding model change, or the number of documents or chunks passes a "
            "power of two.",
            "training_log": "Loss of each epoch.",
        },
        (*TEXTS, "chunk_embeddings", "corpus_settings", "embedding_model"),
        code_version="2",
        untracked=(*TEXTS, "chunk_embeddings"),  # a change of a document does not train again
        retraining=Retraining("retrain_gae", "retrain_gae_weekly"),
    ),
    Step(
        _graph_edges,
        {
            "graph_edges": "Neighbours, citations, and the nearest by TF-IDF; the auto-encoder "
            "reconstructs them, and Leiden clusters them."
        },
        (*TEXTS, "model", "corpus_settings"),
        code_version="3",
    ),
    Step(
        _node_features,
        {"node_features": "Input of the auto-encoder besides the edges."},
        (*TEXTS, "chunk_embeddings", "model", "corpus_settings"),
        code_version="4",
    ),
    Step(
        _embeddings,
        {
            "embeddings": "Output of the auto-encoder for each passage, including those of "
            "documents that it was not trained on."
        },
        (*TEXTS, "model", "graph_edges", "node_features", "corpus_settings"),
        code_version="3",
        checks={"embeddings": [NOT_OVER_SMOOTHED]},
    ),
    Step(
        _clusters,
        {
            "clusters": "DBSCAN, HDBSCAN and K-Means use the embeddings, Leiden the graph; a "
            "noise point is a cluster of its own."
        },
        (*TEXTS, "graph_edges", "embeddings", "corpus_settings"),
        code_version="4",
        checks={"clusters": [EVERY_PASSAGE_ONCE]},
    ),
    Step(
        _clusterings,
        {
            "clusterings": "One is chosen without labels, by the results of re-ranking for "
            "held-out passages, and by its stability when a tenth of the passages is left out. "
            "The choice is kept until the auto-encoder is trained again."
        },
        (
            *(*TEXTS, "chunk_embeddings", "queries", "model"),
            *("graph_edges", "embeddings", "clusters", "corpus_settings"),
        ),
        code_version="3",
        untracked=(*TEXTS, "chunk_embeddings", "graph_edges", "embeddings", "clusters"),
        checks={"clusterings": [NOT_DEGENERATE]},
    ),
)
