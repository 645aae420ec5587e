"""Corpora of nothing, of one document and of few: every step has something sensible to say."""

import numpy as np
import pyarrow as pa
import pytest

from gsum_assets.gae.index import INDEX
from gsum_assets.gae.methods import METHODS
from gsum_assets.gae.rank import Clusters, rank
from gsum_assets.pipeline.step import Inputs, run
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_resources.store.lazy import Lazy
from tests.lightpal.toys import topic_tables


class Settings:
    """Those of a corpus without a file, but for few epochs."""

    def section(self, corpus: str, section: str) -> object:
        few = {"gae.training": {"epochs": 2}}
        return "en" if section == "language" else few.get(section, {})


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("n_documents", "n_chunks"), [(0, 1), (1, 1), (1, 2), (2, 1), (3, 3)])
def test_every_step_runs(n_documents: int, n_chunks: int, method: str) -> None:
    documents, chunks, vectors = topic_tables(1, 3, n_chunks)
    kept = documents["document_id"].to_pylist()[:n_documents]
    documents, chunks = (
        rows.filter(pa.array([i in kept for i in rows["document_id"].to_pylist()]))
        for rows in (documents, chunks)
    )
    cites = pa.array([[]] * n_documents, pa.list_(pa.string()))
    given = {
        "documents": documents.append_column("cites", cites).append_column(
            "title", documents["document_id"]
        ),
        "chunks": chunks.append_column("start", chunks["position"]),
        "chunk_embeddings": vectors,
    }
    tables = {name: Lazy.of(rows) for name, rows in given.items()}
    inputs = Inputs({**tables, "corpus_settings": Settings()}, "toys", method)
    found = run(INDEX, inputs)
    chosen, n = METHODS[method], n_documents * n_chunks
    for name in ("graph_edges", "embeddings", "training_log", "clusters", "clusterings"):
        assert found[name].schema.equals(TABLES[f"gae.{name}"].schema)
    assert found["embeddings"].num_rows == (n if chosen.is_published and n > 1 else 0)
    assert found["clusters"].num_rows == (n if chosen.clustering else 0)
    here = Collection.from_tables(documents, chunks, vectors)
    dim = len(vectors["embedding"][0])
    question = Questions(["q"], ["common1 common2"], [None], np.ones((1, dim)))
    clusters = Clusters.from_tables(found["clusters"], found["clusterings"])
    rows = rank(method, here, question, clusters if chosen.clustering else None, "en", 5, 0.7)
    assert rows.num_rows == n_documents * (1 + n_chunks)
