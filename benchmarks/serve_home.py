"""A home of many generated passages that answers questions, without a run that indexes them.

    python -m benchmarks.serve_home DIR --chunks 100000

Its tables are written as a run would write them: documents (`growing/generated.py`), passages of
five sentences, their vectors, and those of their sentences for `evidence`, all sums of words'
random directions, since embedding would take hours. Then one question a method writes the arrays
that a run keeps: BM25, and vectors in one matrix.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.growing.generated import WordVectors, document
from gsum_assets.answering.ask import ask
from gsum_assets.answering.workspace import Workspace, open_workspace
from gsum_assets.evidence.sentence_index import sentence_index
from gsum_assets.pipeline.embed import vector_column
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.answerability import PACKAGED
from gsum_resources.embedding.embedder import LocalEmbedder
from gsum_resources.llm.extractive import ExtractiveModel
from gsum_resources.models.by_work import Models
from gsum_resources.settings.home import Home
from gsum_resources.store.array_cache import ArrayCache
from gsum_resources.store.parquet_store import ParquetStore
from gsum_resources.store.partition import Partition, Provenance
from gsum_resources.text.sentences import read_sentences

CORPUS = "generated"
METHODS = ("bm25", "dense", "hybrid", "evidence")
_CHUNKS_PER_DOCUMENT = 40
_DOCUMENTS_PER_BUCKET = 100
_PER_DOCUMENT = ("source_documents", "documents", "document_sections", "chunks")


class AtPackagedCost(WordVectors):
    """Vectors of words; a question also costs a pass of the packaged encoder, without effect."""

    identity = f"{WordVectors.identity}:{PACKAGED}"  # by which cosines judge answers

    def __init__(self) -> None:
        super().__init__()
        self._encoder = LocalEmbedder(runtime="numpy")

    def embed_queries(self, texts: Sequence[str]) -> np.ndarray:
        """Return the vectors of questions."""
        self._encoder.embed_queries(texts)
        return super().embed_queries(texts)

    def unloaded(self, threads: int | None) -> "AtPackagedCost":
        """Return itself; as with a local model, vectors of questions are not stored."""
        return self


def models_of(home: Home, store: ParquetStore) -> Models:
    """Return the models of a generated home: one embedder for passages, questions and answers."""
    overrides = {"embedding_model": AtPackagedCost()}
    models = Models(home.settings(), store, TABLES["llm_calls"], dict(overrides), quick=True)
    models.overrides["language_model"] = ExtractiveModel(models.embedder)
    return models


def questions_on(n_documents: int, seed: int) -> Iterator[str]:
    """Yield questions that a generated home of so many documents answers, with names in them."""
    random = np.random.default_rng(seed)
    while True:
        names = document(int(random.integers(n_documents)), n_documents).names
        first, second, third = (names[i] for i in random.choice(4, 3, replace=False))
        yield f"What did {first} say of {second} and {third}?"


def write_home(root: Path, n_chunks: int) -> Workspace:
    """Write a home of about so many passages, and return it opened."""
    home = Home(root, str(root / "warehouse"))
    (home.corpora / CORPUS).mkdir(parents=True)
    store, words = home.open_store(), WordVectors()
    n_documents = max(1, n_chunks // _CHUNKS_PER_DOCUMENT)
    for first in range(0, n_documents, _DOCUMENTS_PER_BUCKET):
        partition = Partition(CORPUS, f"{first // _DOCUMENTS_PER_BUCKET:04x}")
        numbers = range(first, min(n_documents, first + _DOCUMENTS_PER_BUCKET))
        for name, rows in _tables(numbers, n_documents, words):
            store.write(TABLES[name], partition, rows, Provenance("", "1", {}, asset=name))
    return open_workspace(home, models_of(home, store), quick=True, store=store)


def write_arrays(workspace: Workspace) -> None:
    """Write the arrays that a run keeps."""
    table = workspace.rows("evidence.sentences", CORPUS)
    n_chunks = workspace.rows("chunks", CORPUS).columns(["chunk_id"]).num_rows
    sentence_index(table, n_chunks, ArrayCache(workspace.store, CORPUS))
    for method in METHODS:
        ask(workspace, CORPUS, "What was said about the budget?", method)


def _tables(
    numbers: Sequence[int], n_documents: int, words: WordVectors
) -> Iterator[tuple[str, pa.Table]]:
    """Yield the rows of some documents, by table."""
    rows: dict[str, list[dict]] = {name: [] for name in _PER_DOCUMENT}
    sentences: list[dict] = []
    for number in numbers:
        found = document(number, n_documents)
        document_id, start = found.document_id, 0
        file = {"document_id": document_id, "file": f"{document_id}.txt", "line": 1}
        rows["source_documents"].append({**file, "content_hash": document_id})
        title = f"Document {number} on {found.names[0]}"
        whole = {"document_id": document_id, "title": title, "text": found.text}
        rows["documents"].append({**whole, "n_words": len(found.text.split())})
        for position, text in enumerate(found.text.split("\n\n")):
            key = {"chunk_id": f"{document_id}-{position:05d}", "document_id": document_id}
            place = {"position": position, "start": start, "end": start + len(text)}
            rows["chunks"].append({**key, **place, "n_tokens": 128, "text": text})
            start += len(text) + 2
            for place_inside, sentence in enumerate(read_sentences([text])):
                n_words = len(sentence.text.split())
                of_passage = {"position": place_inside, "speaker": "", "n_words": n_words}
                sentences.append({**key, **of_passage, "text": sentence.text})
    for name in _PER_DOCUMENT:
        yield name, pa.Table.from_pylist(rows[name], TABLES[name].schema)
    vectors = words.embed([row.pop("text") for row in sentences])
    owners = np.array([row["chunk_id"] for row in sentences])
    sums = np.add.reduceat(vectors, np.unique(owners, return_index=True)[1])
    of_chunks = sums / np.linalg.norm(sums, axis=1, keepdims=True)
    keys = pa.Table.from_pylist(rows["chunks"]).select(["chunk_id", "document_id"])
    for name, of, values in (
        ("chunk_embeddings", keys, of_chunks),
        ("evidence.sentences", pa.Table.from_pylist(sentences), vectors),
    ):
        names = TABLES[name].schema.names
        whole = of.append_column("embedding", vector_column(values)).select(names)
        yield name, whole.cast(TABLES[name].schema)


def main() -> None:
    """Write a home."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("home", type=Path)
    parser.add_argument("--chunks", type=int, default=100_000)
    arguments = parser.parse_args()
    write_arrays(write_home(arguments.home, arguments.chunks))


if __name__ == "__main__":
    main()
