"""Graph, features, auto-encoder and clusters of a corpus as assets."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import dagster as dg
import numpy as np
import pyarrow as pa

from gsum_assets.gae.autoencoder import embed_graph
from gsum_assets.gae.clusterings import clusterings as judge_clusterings
from gsum_assets.gae.clusterings import clusters as find_clusters
from gsum_assets.gae.clusterings import labels_of
from gsum_assets.gae.graph_edges import edges_of
from gsum_assets.gae.graph_edges import graph_edges as join_passages
from gsum_assets.gae.levels import Level, level_vectors, levels, vector_rows
from gsum_assets.gae.node_features import node_features as reduce_vectors
from gsum_assets.gae.plots import clusters_picture, loss_picture
from gsum_assets.gae.settings import (
    ClusterSettings,
    GraphSettings,
    TrainingSettings,
)
from gsum_assets.partitions import corpora, to_corpus
from gsum_assets.presentation import picture, plot_of
from gsum_assets.retrieval.collection import Collection
from gsum_resources.progress import reporter
from gsum_resources.settings_io import SettingsReader
from gsum_resources.warehouse_io import partition_of

GROUP = "gae"
_LOG_EVERY = 50  # epochs

_PASSAGES = {
    name: dg.AssetIn(name, partition_mapping=to_corpus)
    for name in ("documents", "chunks", "chunk_embeddings")
}

_of_corpus = partial(
    dg.asset,
    key_prefix=GROUP,
    partitions_def=corpora,
    group_name=GROUP,
    pool="compute",
    code_version="1",
)


def _own(*names: str) -> Mapping[str, dg.AssetIn]:
    return {name: dg.AssetIn([GROUP, name]) for name in names}


@_of_corpus(
    ins={name: _PASSAGES[name] for name in ("documents", "chunks")},
    description="Neighbours, citations, and the nearest by TF-IDF: what the auto-encoder learns to "
    "give back, and what Leiden parts.",
)
def graph_edges(
    context: dg.AssetExecutionContext,
    documents: pa.Table,
    chunks: pa.Table,
    corpus_settings: SettingsReader,
) -> pa.Table:
    corpus = partition_of(context.partition_key).corpus
    settings = GraphSettings.model_validate(corpus_settings.section(corpus, "gae.graph"))
    cites = dict(
        zip(documents["document_id"].to_pylist(), documents["cites"].to_pylist(), strict=True)
    )
    return join_passages(
        Collection.from_tables(documents, chunks),
        {document_id: cited for document_id, cited in cites.items() if cited},
        corpus_settings.section(corpus, "language"),
        settings,
    )


@_of_corpus(
    ins=_PASSAGES,
    code_version="2",
    description="What the auto-encoder knows of a passage besides its edges.",
)
def node_features(
    context: dg.AssetExecutionContext,
    documents: pa.Table,
    chunks: pa.Table,
    chunk_embeddings: pa.Table,
    corpus_settings: SettingsReader,
) -> pa.Table:
    corpus = partition_of(context.partition_key).corpus
    settings = GraphSettings.model_validate(corpus_settings.section(corpus, "gae.graph"))
    collection = Collection.from_tables(documents, chunks, chunk_embeddings)
    return reduce_vectors(collection, corpus_settings.section(corpus, "language"), settings)


@_of_corpus(
    ins={
        **{name: _PASSAGES[name] for name in ("documents", "chunks")},
        **_own("graph_edges", "node_features"),
    },
    code_version="2",
    description="Trained anew whenever the graph changes: the auto-encoder knows no other.",
)
def embeddings(
    context: dg.AssetExecutionContext,
    documents: pa.Table,
    chunks: pa.Table,
    graph_edges: pa.Table,
    node_features: pa.Table,
    corpus_settings: SettingsReader,
) -> pa.Table:
    corpus = partition_of(context.partition_key).corpus
    settings = TrainingSettings.model_validate(corpus_settings.section(corpus, "gae.training"))
    trained = {
        level.name: _trained(level, graph_edges, node_features, settings, context.log.info)
        for level in levels(Collection.from_tables(documents, chunks))
    }
    losses = {name: losses for name, (_, losses) in trained.items()}
    rows = pa.concat_tables(rows for rows, _ in trained.values()).combine_chunks()
    context.add_asset_metadata(
        plot_of(rows, lambda: loss_picture(losses, corpus), "loss of the auto-encoder")
    )
    return rows


def _trained(
    level: Level,
    graph_edges: pa.Table,
    node_features: pa.Table,
    settings: TrainingSettings,
    log: Callable[[str], None],
) -> tuple[pa.Table, list[float]]:
    """One level's rows of `gae.embeddings`, and the loss of every epoch."""
    told = reporter(f"gae/embeddings, level {level.name}: epochs", lambda _: None)
    losses: list[float] = []

    def tell(epoch: int, loss: float) -> None:
        losses.append(loss)
        told(epoch, settings.epochs)
        if epoch in (1, settings.epochs) or epoch % _LOG_EVERY == 0:
            log(f"level {level.name}, epoch {epoch} of {settings.epochs}: loss {loss:.5f}")

    vectors = embed_graph(
        level_vectors(node_features, level, "gae/node_features"),
        edges_of(graph_edges, level.name, level.ids),
        settings,
        tell,
    )
    return vector_rows(level.name, level.ids, vectors), losses


@_of_corpus(
    ins={
        **{name: _PASSAGES[name] for name in ("documents", "chunks")},
        **_own("graph_edges", "embeddings"),
    },
    code_version="2",
    description="DBSCAN, HDBSCAN and K-Means by the embeddings, Leiden by the graph itself; a "
    "passage that belongs nowhere is a cluster of its own.",
)
def clusters(
    context: dg.AssetExecutionContext,
    documents: pa.Table,
    chunks: pa.Table,
    graph_edges: pa.Table,
    embeddings: pa.Table,
    corpus_settings: SettingsReader,
) -> pa.Table:
    corpus = partition_of(context.partition_key).corpus
    settings = ClusterSettings.model_validate(corpus_settings.section(corpus, "gae.clusters"))
    collection = Collection.from_tables(documents, chunks)
    return find_clusters(graph_edges, embeddings, collection, settings)


@_of_corpus(
    ins={
        **_PASSAGES,
        "queries": dg.AssetIn("queries"),
        **_own("graph_edges", "embeddings", "clusters"),
    },
    description="One is chosen without labels: by what re-ranking finds for passages that are held "
    "out, and by how much of it is found again when a tenth of the passages is left out.",
)
def clusterings(
    context: dg.AssetExecutionContext,
    documents: pa.Table,
    chunks: pa.Table,
    chunk_embeddings: pa.Table,
    queries: pa.Table,
    graph_edges: pa.Table,
    embeddings: pa.Table,
    clusters: pa.Table,
    corpus_settings: SettingsReader,
) -> pa.Table:
    corpus = partition_of(context.partition_key).corpus
    collection = Collection.from_tables(documents, chunks, chunk_embeddings)
    judged = judge_clusterings(
        clusters,
        graph_edges,
        embeddings,
        collection,
        queries,
        corpus_settings.section(corpus, "language"),
        ClusterSettings.model_validate(corpus_settings.section(corpus, "gae.clusters")),
    )
    context.add_asset_metadata(_shown(corpus, judged, clusters, embeddings, collection))
    return judged


def _shown(
    corpus: str,
    judged: pa.Table,
    clusters: pa.Table,
    embeddings: pa.Table,
    collection: Collection,
) -> dict[str, dg.MetadataValue]:
    """What a person sees of the clusterings that questions to the whole corpus go by."""
    shown: dict[str, dg.MetadataValue] = {}
    rows = [row for row in judged.to_pylist() if row["is_chosen"] and row["scope"] == "corpus"]
    numbers = ("weight", "agreement", "stability", "silhouette", "pair_precision", "pair_recall")
    if not rows:  # of an empty corpus
        return shown
    for level, row in zip(levels(collection), rows, strict=True):
        labels = labels_of(clusters, level)[row["clustering"]]
        what = "documents" if level.name == "document" else "chunks"
        sizes, counts = np.unique(np.bincount(labels), return_counts=True)
        by_size = {
            f"{size:,}": count
            for size, count in zip(sizes[::-1], counts[::-1].tolist(), strict=True)
        }
        png = clusters_picture(
            level_vectors(embeddings, level, "gae/embeddings"),
            labels,
            _names(level, collection),
            f"{corpus}: {what} by {row['clustering']}",
            row["silhouette"],
            what,
        )
        shown |= {
            f"{what}_clustering": dg.MetadataValue.text(row["clustering"]),
            f"{what}_clusters_by_size": dg.MetadataValue.json(by_size),
            f"{what}_plot": picture(png, f"clusters of {what}"),
            **{
                f"{what}_{name}": dg.MetadataValue.float(row[name])
                for name in numbers
                if row[name] is not None
            },
        }
    return shown


def _names(level: Level, collection: Collection) -> Sequence[str]:
    """What a person calls the passages: documents by their ids, chunks by document and place."""
    if level.name == "document":
        return level.ids
    lengths = np.diff(collection.starts).tolist()
    return [
        f"{document_id} #{position}"
        for document_id, n in zip(collection.document_ids, lengths, strict=True)
        for position in range(n)
    ]


graph_assets = [graph_edges, node_features, embeddings, clusters, clusterings]
