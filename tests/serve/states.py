"""A corpus whose tables are replaced one after the other, as a run replaces them."""

from collections.abc import Iterator

import pyarrow as pa

from gsum_assets.answering.workspace import Workspace, open_workspace
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.models.by_work import Models
from gsum_resources.settings.home import Home
from gsum_resources.settings.schema import Settings
from gsum_resources.store.input_key import InputKey
from gsum_resources.store.parquet_store import ParquetStore
from gsum_resources.store.partition import Partition, Provenance, version_of
from tests.models import FirstWords, HashEmbedder

CORPUS = "changing"
BUCKETS = ("00", "01")
N_PASSAGES = 4
_MADE_FROM = {
    "source_documents": "",
    "documents": "source_documents",
    "document_sections": "source_documents",
    "chunks": "documents",
    "chunk_embeddings": "chunks",
}
"""The table from which each is written, in the order in which a run writes them."""


def workspace_of(home: Home) -> Workspace:
    """Open a home with one corpus folder; its tables are those that `written` writes."""
    (home.corpora / CORPUS).mkdir(parents=True)
    store = home.open_store()
    overrides = {"language_model": FirstWords(), "embedding_model": HashEmbedder()}
    models = Models(Settings(), store, TABLES["llm_calls"], overrides)
    return open_workspace(home, models, store=store)


def tables_of(state: int, bucket: str) -> dict[str, pa.Table]:
    """One document of a state, whose number stands in every title, text and id."""
    document_id = f"d{bucket}"
    texts = [f"Boat {i} of bucket {bucket} in state{state:04d}. " for i in range(N_PASSAGES)]
    starts = [sum(map(len, texts[:i])) for i in range(N_PASSAGES)]
    document = {
        "document_id": document_id,
        "title": f"state{state:04d} {bucket}",
        "text": "".join(texts),
        "n_words": 7 * N_PASSAGES,
    }
    chunks = [
        {
            "chunk_id": f"c{bucket}-{i}-state{state:04d}",
            "document_id": document_id,
            "position": i,
            "start": start,
            "end": start + len(text),
            "n_tokens": 7,
            "text": text,
        }
        for i, (text, start) in enumerate(zip(texts, starts, strict=True))
    ]
    listed = {"document_id": document_id, "file": "a.txt", "line": 1}
    listed |= {"content_hash": f"state{state:04d}"}
    rows = {
        "source_documents": [listed],
        "documents": [document],
        "document_sections": [],
        "chunks": chunks,
        "chunk_embeddings": [
            {"chunk_id": chunk["chunk_id"], "document_id": document_id, "embedding": vector}
            for chunk, vector in zip(chunks, HashEmbedder().embed(texts).tolist(), strict=True)
        ],
    }
    return {name: pa.Table.from_pylist(of, TABLES[name].schema) for name, of in rows.items()}


def written(store: ParquetStore, state: int) -> Iterator[str]:
    """Write the tables of a state, and yield the name of each after a file was replaced."""
    for name, made_from in _MADE_FROM.items():
        source = TABLES.get(made_from)
        for bucket in BUCKETS:
            partition, inputs = Partition(CORPUS, bucket), {}
            if source:
                key = InputKey("table", source.name, CORPUS, bucket)
                footer = store.provenance(source, partition)
                assert footer is not None
                inputs = {str(key): version_of({partition: footer.content_hash})}
            rows = tables_of(state, bucket)[name]
            store.write(TABLES[name], partition, rows, Provenance("", "1", inputs, asset=name))
            yield name
