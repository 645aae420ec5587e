"""Index of graph-augmented summarization: graph, auto-encoder and clusters."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from gsum_assets.gae.clusters import agreements, clustered, weight_of
from gsum_assets.gae.graph import Edges, edges_of, graph_edges, node_features
from gsum_assets.gae.methods import METHODS
from gsum_assets.gae.settings import ClusterSettings, GraphSettings, TrainingSettings
from gsum_assets.graphs.clusters import named_by_members
from gsum_assets.pipeline.embed import vector_column
from gsum_assets.pipeline.result import Result, result_of
from gsum_assets.pipeline.step import Inputs, Step
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection
from gsum_assets.retrieval.loading import collection_of
from gsum_assets.retrieval.vectors import vectors_of
from gsum_resources.store.arrow import pc
from gsum_resources.store.content_hash import numbers_of

_SILHOUETTE_OF = 2000  # passages: its time is quadratic
_TEXTS = ("documents", "chunks")


def _graph_edges(inputs: Inputs) -> pa.Table:
    documents = inputs.table("documents").select(["document_id", "cites"]).to_pylist()
    return graph_edges(
        collection_of(inputs, with_vectors=False),
        {row["document_id"]: row["cites"] for row in documents if row["cites"]},
        inputs.settings("language"),
        GraphSettings.model_validate(inputs.settings("gae.graph")).n_nearest,
        inputs.engine,
    )


def _edges(inputs: Inputs, collection: Collection) -> Edges:
    """Return the edges that the method uses; those of the nearest passages are ours."""
    rows = inputs.table("graph_edges")
    if METHODS[inputs.method].is_published:
        rows = rows.filter(pc.not_equal(rows["kind"], "nearest"))
    return edges_of(rows, collection.chunk_ids)


def _embeddings(inputs: Inputs) -> Result:
    method = METHODS[inputs.method]
    collection = collection_of(inputs) if method.is_published else None
    if collection is None or len(collection.chunk_ids) < 2:
        return result_of("gae", {"embeddings": [], "training_log": []})
    from gsum_assets.gae.encoders import constant_loss, embed_graph, undirected

    n = len(collection.chunk_ids)
    training = TrainingSettings.model_validate(inputs.settings("gae.training"))
    pairs = undirected(n, _edges(inputs, collection))
    control = constant_loss(n, pairs.shape[1])
    epochs: list[Mapping[str, Any]] = []
    show = inputs.progress("epochs")

    def on_epoch(epoch: int, loss: float) -> None:
        epochs.append({"epoch": epoch, "loss": loss, "constant_loss": control})
        show(epoch, training.epochs)

    features = node_features(collection, inputs.settings("language"))
    vectors = embed_graph(features, pairs, training, on_epoch)
    rows = {"chunk_id": pa.array(collection.chunk_ids), "embedding": vector_column(vectors)}
    log = pa.Table.from_pylist(epochs, TABLES["gae.training_log"].schema)
    embedded = pa.table(rows, schema=TABLES["gae.embeddings"].schema)
    return Result(embedded, beside={"training_log": log})


def _clusters(inputs: Inputs) -> Result:
    method = METHODS[inputs.method]
    collection = collection_of(inputs)
    if not method.clustering or not collection.chunk_ids:
        return result_of("gae", {"clusters": [], "clusterings": []})
    assert collection.embeddings is not None
    vectors = collection.embeddings  # for Leiden they only measure the result
    if method.is_published and len(vectors) > 1:
        vectors = vectors_of(inputs.table("embeddings"), collection.chunk_ids)
    settings = ClusterSettings.model_validate(inputs.settings("gae.clusters"))
    labels = clustered(method.clustering, _edges(inputs, collection), vectors, settings)
    measures = {
        "clustering": method.clustering,
        "n_clusters": int(labels.max()) + 1,
        "largest": float(np.bincount(labels).max() / len(labels)),
        "silhouette": _silhouette(vectors, labels),
    }
    scopes = [
        {
            **{"scope": scope, "agreement": agreement, **measures},
            "weight": 1.0 if method.is_published else weight_of(agreement),
        }
        for scope, agreement in agreements(collection, labels, inputs.settings("language")).items()
    ]
    ids = pa.array(collection.chunk_ids, pa.string())
    rows = {"chunk_id": ids, "cluster": named_by_members(labels, numbers_of(ids))}
    judged = pa.Table.from_pylist(scopes, TABLES["gae.clusterings"].schema)
    clusters = pa.table(rows, schema=TABLES["gae.clusters"].schema)
    return Result(clusters, beside={"clusterings": judged})


def _silhouette(vectors: np.ndarray, labels: np.ndarray) -> float | None:
    """Return the silhouette (Rousseeuw, 1987) of at most 2,000 passages; None if undefined."""
    from sklearn.metrics import silhouette_score

    if len(labels) > _SILHOUETTE_OF:
        sample = np.random.default_rng(0).choice(len(labels), _SILHOUETTE_OF, replace=False)
        vectors, labels = vectors[sample], labels[sample]
    n = len(np.unique(labels))
    return float(silhouette_score(vectors, labels)) if 2 <= n < len(labels) else None


INDEX = (
    Step(
        _graph_edges,
        {
            "graph_edges": "Neighbours, citations, and the nearest by TF-IDF; Leiden clusters "
            "them, and the auto-encoder reconstructs them."
        },
        (*_TEXTS, "corpus_settings"),
        code_version="4",
    ),
    Step(
        _embeddings,
        {
            "embeddings": "Output of the auto-encoder for each passage; no row for methods that "
            "cluster the graph itself.",
            "training_log": "Loss of each epoch, beside that of a constant.",
        },
        (*_TEXTS, "chunk_embeddings", "graph_edges", "corpus_settings"),
        code_version="4",
    ),
    Step(
        _clusters,
        {
            "clusters": "Leiden clusters the graph, DBSCAN the embeddings of the auto-encoder; a "
            "noise point is a cluster of its own.",
            "clusterings": "The weight of re-ranking follows from its results for held-out "
            "passages, without labels.",
        },
        (*_TEXTS, "chunk_embeddings", "graph_edges", "embeddings", "corpus_settings"),
        code_version="5",
    ),
)
