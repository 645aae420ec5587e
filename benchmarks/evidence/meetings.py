"""Documents of a benchmark with the tables that `evidence` reads.

Documents are cut by the default lengths. Vectors are kept in the system's folder for temporary
files, document by document, so that an interrupted run continues.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks import MissingDataError
from benchmarks.odsum import kept
from gsum_assets.corpus.chunk import chunk_documents, default_tokenizer
from gsum_assets.corpus.embed import embed_questions, vector_column
from gsum_assets.corpus.evidence import query_rows
from gsum_assets.corpus.importers.benchmark import Contents
from gsum_assets.corpus.importers.qmsum import read_qmsum
from gsum_assets.corpus.rows import rows_of
from gsum_assets.corpus.settings import ChunkingSettings, CorpusSettings
from gsum_assets.evidence.sentences import sentence_rows
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.tables import TABLES
from gsum_resources.embedder import LocalEmbedder, Precision

# The packaged weights and the stored figures are from chunks cut by length.
SETTINGS = CorpusSettings(chunking=ChunkingSettings(borders="length"))


class Remembered:
    """An embedder that embeds no text twice.

    Parameters
    ----------
    embedder : embeds what is not known.
    known : vectors by text, to which new ones are added.
    """

    def __init__(self, embedder: LocalEmbedder, known: dict[str, np.ndarray]) -> None:
        self._embedder, self._known = embedder, known
        self.identity, self.dimension = embedder.identity, embedder.dimension
        self.embed_queries = embedder.embed_queries

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Return the vectors of passages, `(n_texts, dim)`."""
        if new := [text for text in dict.fromkeys(texts) if text not in self._known]:
            self._known.update(zip(new, self._embedder.embed(new), strict=True))
        return np.stack([self._known[text] for text in texts])


class Kept(Remembered):
    """An embedder whose vectors are also kept in a file for each list of texts."""

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Return the vectors of passages, `(n_texts, dim)`."""
        vectors = kept(self.identity, texts, self._embedder.embed)
        self._known.update(zip(texts, vectors, strict=True))
        return vectors


@dataclass(frozen=True)
class Meetings:
    """Tables of a split, and their rows as retrievers read them.

    Attributes
    ----------
    queries, chunks, sentences : rows of these tables.
    collection, questions : of the same rows, with vectors.
    embedder : knows the vectors of all passages and sentences.
    """

    queries: pa.Table
    chunks: pa.Table
    sentences: pa.Table
    collection: Collection
    questions: Questions
    embedder: Remembered

    @property
    def marked(self) -> dict[str, frozenset[str]]:
        """Ids of the passages with evidence by question; questions without marks are left out."""
        rows = self.queries.select(["query_id", "relevant_chunk_ids"]).to_pylist()
        found = {row["query_id"]: frozenset(row["relevant_chunk_ids"]) for row in rows}
        return {query_id: ids for query_id, ids in found.items() if ids}


def load(
    file: Path,
    read: Callable[[Path], Contents] = read_qmsum,
    precision: Precision = "float32",
    with_sentences: bool = True,
) -> Meetings:
    """Return the documents and questions of an official file.

    Parameters
    ----------
    with_sentences : whether sentences are embedded, which takes most of the time.

    Raises
    ------
    MissingDataError
        If the file is not there.
    """
    if not file.exists():
        raise MissingDataError(f"needs {file}; name the folder with the benchmark's official files")
    contents = read(file)
    embedder = LocalEmbedder(precision=precision)
    known: dict[str, np.ndarray] = {}
    keeping = Kept(embedder, known)
    cut, sentences, vectors = [], [], []
    for i, document in enumerate(contents.documents, 1):
        own = chunk_documents([document], SETTINGS, default_tokenizer())
        rows = rows_of(TABLES["chunks"], own)
        cut.append(rows)
        vectors.append(keeping.embed(rows["text"].to_pylist()))
        sentences.append(sentence_rows(rows if with_sentences else rows.slice(0, 0), keeping))
        if i % 20 == 0:
            print(f"{i} of {len(contents.documents)} documents embedded", file=sys.stderr)
    chunks = pa.concat_tables(cut).combine_chunks()
    queries, _ = query_rows(contents.queries, chunks)
    embedded = chunks.select(["chunk_id"]).append_column(
        "embedding", vector_column(np.concatenate(vectors))
    )
    documents = pa.Table.from_pylist([asdict(document) for document in contents.documents])
    return Meetings(
        queries,
        chunks,
        pa.concat_tables(sentences).combine_chunks(),
        Collection.from_tables(documents, chunks, embedded),
        Questions.from_tables(queries, embed_questions(queries, embedder)),
        Remembered(embedder, known),
    )


def only(meetings: Meetings, query_ids: Sequence[str]) -> Meetings:
    """Return the meetings with only these questions."""
    ids = meetings.queries["query_id"].to_pylist()
    wanted = set(query_ids)
    rows = [i for i, query_id in enumerate(ids) if query_id in wanted]
    return replace(
        meetings,
        queries=meetings.queries.take(rows),
        questions=meetings.questions.take(rows),
    )
