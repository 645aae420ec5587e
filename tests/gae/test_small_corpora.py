"""Corpora of nothing, of one document and of few: every step has something sensible to say."""

import numpy as np
import pyarrow as pa
import pytest

from gsum_assets.gae.clusterings import clusterings, clusters
from gsum_assets.gae.graph_edges import graph_edges
from gsum_assets.gae.model import embeddings as model_embeddings
from gsum_assets.gae.model import load_model, model_rows, trained_model
from gsum_assets.gae.node_features import node_features
from gsum_assets.gae.rank import Tables, rank
from gsum_assets.gae.settings import (
    ClusterSettings,
    GraphSettings,
    RerankSettings,
    TrainingSettings,
)
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection, Questions
from tests.lightpal.toys import topic_tables

QUERIES = TABLES["queries"].empty()


@pytest.mark.parametrize(("n_documents", "n_chunks"), [(0, 1), (1, 1), (1, 2), (2, 1), (3, 3)])
def test_every_step_runs(n_documents: int, n_chunks: int) -> None:
    documents, chunks, vectors = topic_tables(1, 3, n_chunks)
    kept = documents["document_id"].to_pylist()[:n_documents]
    documents, chunks = (
        rows.filter(pa.array([i in kept for i in rows["document_id"].to_pylist()]))
        for rows in (documents, chunks)
    )
    here = Collection.from_tables(documents, chunks, vectors)
    settings, training = GraphSettings(), TrainingSettings(epochs=2)
    trained = trained_model(here, {}, "en", settings, training)
    rows = model_rows(trained, here, "hash", settings, training)
    model = load_model(rows, here)  # as it is stored
    edges = graph_edges(here, {}, "en", settings, model.words)
    features = node_features(here, "en", settings, model.bases)
    embeddings = model_embeddings(model, here, edges, features, training.dim)
    assert embeddings.num_rows == n_documents * (1 + n_chunks)
    found = clusters(edges, embeddings, here, ClusterSettings())
    judged = clusterings(found, edges, embeddings, here, QUERIES, "en", ClusterSettings())
    assert sum(judged["is_chosen"].to_pylist()) == (3 if n_documents else 0)
    question = Questions(["q"], ["common1 common2"], [None], np.ones((1, here_dim(vectors))))
    for method in ("gae", "gae-dbscan"):
        rankings = rank(method, here, question, Tables(found, judged), "en", 5, RerankSettings())
        assert rankings.num_rows == n_documents * (1 + n_chunks)


def here_dim(vectors: pa.Table) -> int:
    return len(vectors["embedding"][0].as_py())
