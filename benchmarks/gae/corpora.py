"""The corpora of ODSum with the tables of the index of `gae`.

Documents are sections of stories, or transcripts of meetings; nothing but their texts is read.
They are cut by the default settings and embedded by the default embedder, a few minutes; vectors
are kept in the system's folder for temporary files.
"""

from dataclasses import asdict
from functools import cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from benchmarks.odsum import load
from gsum_assets.corpus.queries import Query
from gsum_assets.corpus.settings import ChunkingSettings
from gsum_assets.gae.autoencoder import embed_graph
from gsum_assets.gae.clusterings import clusterings, clusters
from gsum_assets.gae.clusters import dbscan
from gsum_assets.gae.graph_edges import edges_of, graph_edges
from gsum_assets.gae.levels import level_vectors, levels, vector_rows
from gsum_assets.gae.node_features import fitted_bases, node_features
from gsum_assets.gae.rank import Tables
from gsum_assets.gae.settings import GaeSettings
from gsum_assets.retrieval.collection import Collection, Questions

CHUNKING = ChunkingSettings()
LANGUAGE = "en"


class Corpus(NamedTuple):
    """A corpus and its questions; `queries` are the rows behind `questions`."""

    collection: Collection
    questions: Questions
    queries: list[Query]


@cache
def corpus(name: str) -> Corpus:
    """'story' or 'meeting', cut by the default settings.

    Raises
    ------
    MissingDataError
        If the corpus is not there.
    """
    return Corpus(*load(CHUNKING.max_tokens, CHUNKING.overlap_tokens, name))


def index(name: str, settings: GaeSettings) -> Tables:
    """`gae.clusters` and `gae.clusterings` of a corpus, with everything retrained."""
    collection = corpus(name).collection
    edges, embeddings = trained(name, settings)
    found = clusters(edges, embeddings, collection, settings.clusters)
    query_rows = [{**asdict(query), "relevant_chunk_ids": []} for query in corpus(name).queries]
    queries = pa.Table.from_pylist(query_rows)
    judged = clusterings(found, edges, embeddings, collection, queries, LANGUAGE, settings.clusters)
    return Tables(found, judged)


def published_index(name: str, settings: GaeSettings) -> Tables:
    """The tables with DBSCAN alone, which nothing is chosen from: no clustering is judged."""
    _, embeddings = trained(name, settings)
    chosen, rows = settings.clusters, []
    for level in levels(corpus(name).collection):
        vectors = level_vectors(embeddings, level, "gae/embeddings")
        labels = dbscan(vectors, chosen.dbscan_eps, chosen.dbscan_min_samples).tolist()
        same = {"level": level.name, "clustering": "dbscan"}
        rows += [
            {**same, "passage_id": passage_id, "cluster": label}
            for passage_id, label in zip(level.ids, labels, strict=True)
        ]
    followed = [
        {"level": level, "scope": scope, "clustering": "dbscan", "is_chosen": True, "weight": 1.0}
        for level, scope in (("document", "corpus"), ("node", "corpus"), ("node", "document"))
    ]
    return Tables(pa.Table.from_pylist(rows), pa.Table.from_pylist(followed))


def trained(name: str, settings: GaeSettings) -> tuple[pa.Table, pa.Table]:
    """Rows of `gae.graph_edges` and `gae.embeddings`, retrained.

    A level whose graph has no edge has nothing to learn from, and gets its features.
    """
    collection = corpus(name).collection
    bases = fitted_bases(collection, LANGUAGE, settings.graph)
    known = {level: found.words for level, found in bases.items()}
    edges = graph_edges(collection, {}, LANGUAGE, settings.graph, known)
    features = node_features(collection, LANGUAGE, settings.graph, bases)
    parts = []
    for level in levels(collection):
        known = level_vectors(features, level, "gae/node_features")
        joined = edges_of(edges, level.name, level.ids)
        if len(joined.sources):
            vectors = embed_graph(known, joined, settings.training)
        else:
            vectors = np.zeros((len(known), settings.training.dim), np.float32)
            vectors[:, : known.shape[1]] = known[:, : settings.training.dim]
        parts.append(vector_rows(level.name, level.ids, vectors))
    return edges, pa.concat_tables(parts)
