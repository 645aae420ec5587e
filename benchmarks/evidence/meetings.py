"""Meetings of QMSum train with the questions whose evidence is marked.

Vectors are kept in the system's folder for temporary files, document by document, so that an
interrupted run continues.
"""

import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from benchmarks import MissingDataError
from gsum_assets.corpus.chunk import chunk_documents
from gsum_assets.corpus.importers import read_benchmark
from gsum_assets.corpus.queries import query_rows
from gsum_assets.corpus.rows import rows_of
from gsum_assets.evidence.sentence_index import sentence_rows
from gsum_assets.pipeline.corpus_settings import ChunkingSettings
from gsum_assets.pipeline.embed import embed_questions, vector_column
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_resources.embedding.embedder import LocalEmbedder, OnProgress
from gsum_resources.embedding.processor import Precision
from gsum_resources.store.arrow import pc
from gsum_resources.store.content_hash import hash_texts

# The packaged weights and the stored figures are from chunks cut by length.
CHUNKING = ChunkingSettings(borders="length")


class Meetings(NamedTuple):
    """Passages with their vectors, and the questions with marked evidence.

    Attributes
    ----------
    sentences : rows of `evidence.sentences`.
    texts : the questions as they were asked, `(n_questions,)`.
    evidence : ids of the passages that hold evidence, by question.
    """

    collection: Collection
    sentences: pa.Table
    questions: Questions
    texts: Sequence[str]
    evidence: Mapping[str, frozenset[str]]


class KeepingEmbedder(LocalEmbedder):
    """An embedder whose vectors are kept in a file for each list of texts."""

    def embed(self, texts: Sequence[str], on_progress: OnProgress | None = None) -> np.ndarray:
        """Return the vectors of passages, `(n_texts, dim)`."""
        name = f"gsum-benchmark-{hash_texts([self.identity, *texts], 16)}.npy"
        file = Path(tempfile.gettempdir()) / name
        if not file.exists():
            np.save(file, super().embed(texts, on_progress))
        return np.load(file)


def load(file: Path, precision: Precision = "float32") -> Meetings:
    """Return the meetings of an official file, cut by the default lengths.

    Raises
    ------
    MissingDataError
        If the file is not there.
    """
    if not file.exists():
        raise MissingDataError(f"needs {file}; name the folder with the benchmark's official files")
    contents = read_benchmark("qmsum", file)
    embedder = KeepingEmbedder(precision=precision)
    cut, sentences, vectors = [], [], []
    for i, document in enumerate(contents.documents, 1):
        own_chunks = chunk_documents({document.document_id: document.text}, CHUNKING)
        cut.append(rows_of(TABLES["chunks"], own_chunks))
        vectors.append(embedder.embed(cut[-1]["text"].to_pylist()))
        sentences.append(sentence_rows(cut[-1], embedder))
        if i % 20 == 0:
            print(f"{i} of {len(contents.documents)} documents embedded", file=sys.stderr)
    chunks = pa.concat_tables(cut).combine_chunks()
    embedded = chunks.select(["chunk_id"]).append_column(
        "embedding", vector_column(np.concatenate(vectors))
    )
    documents = pa.Table.from_pylist([asdict(document) for document in contents.documents])
    queries, _ = query_rows(contents.queries, chunks)
    marked = queries.filter(
        pc.and_(
            pc.equal(queries["split"], "train"),
            pc.greater(pc.list_value_length(queries["relevant_chunk_ids"]), 0),
        )
    )
    if not marked.num_rows:
        raise ValueError(f"{file} has no question with marked evidence; take the train split")
    return Meetings(
        Collection.from_tables(documents, chunks, embedded),
        pa.concat_tables(sentences).combine_chunks(),
        Questions.from_tables(marked, embed_questions(marked, embedder)),
        marked["text"].to_pylist(),
        {row["query_id"]: frozenset(row["relevant_chunk_ids"]) for row in marked.to_pylist()},
    )
