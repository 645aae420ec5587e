"""Index assets of graph-augmented summarization: graph, auto-encoder and clusters."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from gsum_assets.gae.autoencoder import embed_graph
from gsum_assets.gae.checks import FINITE, NOT_DEGENERATE, NOT_OVER_SMOOTHED
from gsum_assets.gae.clusters import clustered
from gsum_assets.gae.graph_edges import Edges, edges_of, graph_edges
from gsum_assets.gae.methods import METHODS, PUBLISHED_EDGES, training_settings
from gsum_assets.gae.node_features import node_features
from gsum_assets.gae.plots import loss_picture
from gsum_assets.gae.reconstruction import constant_loss, edge_auc, undirected
from gsum_assets.gae.settings import ClusterSettings, GraphSettings, TrainingSettings
from gsum_assets.gae.weigh import agreements, weight_of
from gsum_assets.graphs.clusters import named_by_members
from gsum_assets.pipeline.embed import vector_column
from gsum_assets.pipeline.result import Picture, Result
from gsum_assets.pipeline.step import Inputs, Step
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection
from gsum_assets.retrieval.vectors import vectors_of
from gsum_resources.store.arrow import pc
from gsum_resources.store.content_hash import numbers_of

_LOG_EVERY = 50  # epochs
_SILHOUETTE_OF = 2000  # passages: its time is quadratic
TEXTS = ("documents", "chunks")


def collection_of(inputs: Inputs, *vectors: str) -> Collection:
    """Return the documents and chunks of the corpus, with the embeddings of the named table."""
    return Collection.from_tables(*map(inputs.table, (*TEXTS, *vectors)))


def _graph_settings(inputs: Inputs) -> GraphSettings:
    return GraphSettings.model_validate(inputs.settings("gae.graph"))


def _graph_edges(inputs: Inputs) -> pa.Table:
    documents, chunks = map(inputs.table, TEXTS)
    named = (documents[column].to_pylist() for column in ("document_id", "cites"))
    cites = {document_id: cited for document_id, cited in zip(*named, strict=True) if cited}
    return graph_edges(
        Collection.from_tables(documents, chunks),
        cites,
        inputs.settings("language"),
        _graph_settings(inputs),
        inputs.engine,
    )


def _edges(inputs: Inputs, collection: Collection) -> Edges:
    """Return the edges that the method uses."""
    rows = inputs.table("graph_edges")
    if METHODS[inputs.method].is_published:
        rows = rows.filter(pc.is_in(rows["kind"], value_set=pa.array(PUBLISHED_EDGES)))
    return edges_of(rows, collection.chunk_ids)


def _embeddings(inputs: Inputs) -> Result:
    method, log = METHODS[inputs.method], TABLES["gae.training_log"]
    empty = Result(TABLES["gae.embeddings"].empty(), beside={"training_log": log.empty()})
    if not method.is_autoencoded:
        return empty
    collection = collection_of(inputs, "chunk_embeddings")
    n = len(collection.chunk_ids)
    if n < 2:
        return empty
    training = training_settings(
        method, TrainingSettings.model_validate(inputs.settings("gae.training"))
    )
    edges = _edges(inputs, collection)
    features = node_features(collection, inputs.settings("language"), _graph_settings(inputs))
    losses: list[float] = []
    show = inputs.progress("epochs")

    def on_epoch(epoch: int, loss: float) -> None:
        losses.append(loss)
        show(epoch, training.epochs)
        if epoch in (1, training.epochs) or epoch % _LOG_EVERY == 0:
            inputs.log(f"epoch {epoch} of {training.epochs}: loss {loss:.5f}")

    vectors = embed_graph(features, edges, training, on_epoch)
    pairs = undirected(n, edges)
    control = constant_loss(n, pairs.shape[1], training.loss)
    rows = {"chunk_id": pa.array(collection.chunk_ids), "embedding": vector_column(vectors)}
    epochs = [
        {"epoch": epoch, "loss": loss, "constant_loss": control}
        for epoch, loss in enumerate(losses, 1)
    ]

    def shown() -> Mapping[str, Any]:
        auc = edge_auc(vectors, pairs)
        png = loss_picture(losses, control, auc, inputs.title)
        plot = {"plot": Picture(png, "loss of the auto-encoder"), "edge_auc": auc}
        return {"training_log": plot}

    return Result(
        pa.table(rows, schema=TABLES["gae.embeddings"].schema),
        beside={"training_log": pa.Table.from_pylist(epochs, log.schema)},
        shown=shown,
    )


def _clusters(inputs: Inputs) -> Result:
    method, table = METHODS[inputs.method], TABLES["gae.clusters"]
    judged = TABLES["gae.clusterings"]
    collection = collection_of(inputs, "chunk_embeddings")
    if not method.clustering or not collection.chunk_ids:
        return Result(table.empty(), beside={"clusterings": judged.empty()})
    assert collection.embeddings is not None
    settings = ClusterSettings.model_validate(inputs.settings("gae.clusters"))
    vectors = collection.embeddings  # of Leiden they are measured and drawn alone
    if method.is_autoencoded and len(vectors) > 1:
        vectors = vectors_of(inputs.table("embeddings"), collection.chunk_ids)
    labels = clustered(method.clustering, _edges(inputs, collection), vectors, settings)
    agreed = agreements(collection, labels, inputs.settings("language"), settings.n_probes)
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
        for scope, agreement in agreed.items()
    ]
    ids = pa.array(collection.chunk_ids, pa.string())
    rows = {"chunk_id": ids, "cluster": named_by_members(labels, numbers_of(ids))}
    return Result(
        pa.table(rows, schema=table.schema),
        beside={"clusterings": pa.Table.from_pylist(scopes, judged.schema)},
        shown=lambda: {"clusterings": _shown(labels, scopes)},
    )


def _silhouette(vectors: np.ndarray, labels: np.ndarray) -> float | None:
    """Return the silhouette (Rousseeuw, 1987) of at most 2,000 passages; None if undefined."""
    from sklearn.metrics import silhouette_score

    if len(labels) > _SILHOUETTE_OF:
        sample = np.random.default_rng(0).choice(len(labels), _SILHOUETTE_OF, replace=False)
        vectors, labels = vectors[sample], labels[sample]
    n = len(np.unique(labels))
    return float(silhouette_score(vectors, labels)) if 2 <= n < len(labels) else None


def _shown(labels: np.ndarray, scopes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return sizes and measures of a clustering."""
    sizes, counts = np.unique(np.bincount(labels), return_counts=True)
    by_size = zip(sizes[::-1].tolist(), counts[::-1].tolist(), strict=True)
    return {
        "clusters_by_size": {f"{size:,}": n for size, n in by_size},
        **{f"{row['scope']}_{key}": row[key] for row in scopes for key in ("weight", "agreement")},
    }


INDEX = (
    Step(
        _graph_edges,
        {
            "graph_edges": "Neighbours, citations, and the nearest by TF-IDF; Leiden clusters "
            "them, and the auto-encoder reconstructs them."
        },
        (*TEXTS, "corpus_settings"),
        code_version="4",
    ),
    Step(
        _embeddings,
        {
            "embeddings": "Output of the auto-encoder for each passage; no row for methods that "
            "cluster the graph itself.",
            "training_log": "Loss of each epoch, beside that of a constant.",
        },
        (*TEXTS, "chunk_embeddings", "graph_edges", "corpus_settings"),
        code_version="4",
        checks={"embeddings": [FINITE, NOT_OVER_SMOOTHED]},
    ),
    Step(
        _clusters,
        {
            "clusters": "Leiden clusters the graph, K-Means and DBSCAN the embeddings of the "
            "auto-encoder; a noise point is a cluster of its own.",
            "clusterings": "The weight of re-ranking follows from its results for held-out "
            "passages, without labels.",
        },
        (*TEXTS, "chunk_embeddings", "graph_edges", "embeddings", "corpus_settings"),
        code_version="5",
        checks={"clusterings": [NOT_DEGENERATE]},
    ),
)
