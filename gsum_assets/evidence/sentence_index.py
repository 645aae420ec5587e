"""Sentences of all passages with their vectors, so that a question needs only its own vector."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from gsum_assets.pipeline.embed import vector_column
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.vectors import stacked
from gsum_resources.protocols.models import Embedder
from gsum_resources.store.array_cache import ArrayCache
from gsum_resources.store.lazy import Lazy
from gsum_resources.text.sentences import read_sentences

SENTENCES_MAPPED_FROM = 2**13
"""Chunks from which their sentences are mapped into memory; fewer take 100 MB."""

_KEPT_AS = "sentences"
_WINDOWS = (3, 6)  # sentences
_NONE = np.empty((0, 1), np.float32)


def sentence_rows(chunks: pa.Table, embedder: Embedder) -> pa.Table:
    """Return the rows of the table `evidence.sentences`, in the order of `chunks`.

    A passage that consists of noise has no sentence.
    """
    rows = [
        {
            "chunk_id": chunk["chunk_id"],
            "document_id": chunk["document_id"],
            "position": position,
            "speaker": sentence.speaker,
            "n_words": len(sentence.text.split()),
            "text": sentence.embedded,
        }
        for chunk in chunks.select(["chunk_id", "document_id", "text"]).to_pylist()
        for position, sentence in enumerate(read_sentences([chunk["text"]]))
    ]
    if not rows:
        return TABLES["evidence.sentences"].empty()
    vectors = embedder.embed([row.pop("text") for row in rows])
    return pa.Table.from_pylist(rows).append_column("embedding", vector_column(vectors))


@dataclass(frozen=True, eq=False)
class Sentences:
    """Sentences of some passages, passage by passage.

    Attributes
    ----------
    passages : ids, `(n_passages,)`.
    starts : index of each passage's first sentence, then n, `(n_passages + 1,)`.
    vectors : unit vectors, `(n, dim)`.
    n_words, speakers : `(n,)`; the speaker is "" for prose.
    """

    passages: np.ndarray
    starts: np.ndarray
    vectors: np.ndarray
    n_words: np.ndarray
    speakers: np.ndarray

    @classmethod
    def from_rows(cls, rows: pa.Table) -> "Sentences":
        """Return rows of `evidence.sentences`, at least one, in any order; passages by id."""
        rows = rows.sort_by([("chunk_id", "ascending"), ("position", "ascending")])
        ids = rows["chunk_id"].to_pylist()
        passages, starts = np.unique(np.array(ids), return_index=True)
        return cls(
            passages,
            np.append(starts, len(ids)),
            stacked(rows["embedding"]),
            rows["n_words"].to_numpy(),
            np.array(rows["speaker"].to_pylist()),
        )

    def vectors_of(self, passage: int) -> np.ndarray:
        """Return the vectors of passage number `passage`, `(n_sentences, dim)`."""
        return self.vectors[slice(*self.starts[passage : passage + 2].tolist())]

    @cached_property
    def owners(self) -> np.ndarray:
        """Number of the passage of each sentence, `(n,)`."""
        return np.repeat(np.arange(len(self.passages)), np.diff(self.starts))

    @cached_property
    def _bounds(self) -> np.ndarray:
        return _windows(self.starts[self.owners], self.starts[self.owners + 1])

    @cached_property
    def _lengths(self) -> np.ndarray:
        """Lengths of the windows' vectors, the sums of their sentences', `(n_windows,)`.

        From the inner products of sentences: the square of a sum has one for each pair.
        """
        first, last = self._bounds.T
        squares = np.zeros(len(first))
        for apart in range(min(max(_WINDOWS), len(self.vectors))):
            n = len(self.vectors) - apart
            products = np.einsum("ij,ij->i", self.vectors[:n], self.vectors[apart:])
            sums = _sums(products * self.n_words[:n] * self.n_words[apart:])
            lower = np.minimum(first, n)
            upper = np.maximum(last - apart, lower)
            squares += (2 if apart else 1) * (sums[upper] - sums[lower])
        return np.sqrt(np.maximum(squares, 0))

    def means_of_best(self, values: np.ndarray, numbers: Sequence[int]) -> list[np.ndarray]:
        """Return the mean of each passage's n largest values, or of all, for each n of `numbers`.

        Means are `(n_passages,)`; 0 for a passage without sentences.
        """
        order = np.lexsort((-values, self.owners))  # the passages stay where they are
        counts = np.bincount(self.owners, minlength=len(self.passages))
        rank = np.arange(len(values)) - np.repeat(np.cumsum(counts) - counts, counts)
        means = []
        for n in numbers:
            best = rank < n
            sums = np.bincount(self.owners[best], values[order[best]], minlength=len(self.passages))
            means.append(sums / np.clip(counts, 1, n))
        return means

    def best_windows(self, question: np.ndarray) -> np.ndarray:
        """Return the cosine of each passage's best window, 0 without any, `(n_passages,)`.

        A window is 3 or 6 sentences in a row, or a whole shorter passage; its vector is the sum of
        the sentences' vectors, each weighted by its words.
        """
        best = np.full(len(self.passages), -np.inf)
        if len(self._bounds):
            sums = _sums((self.vectors @ question) * self.n_words)
            first, last = self._bounds.T
            cosines = (sums[last] - sums[first]) / (self._lengths + 1e-9)
            np.maximum.at(best, self.owners[first], np.round(cosines, 6))
        return np.where(np.isfinite(best), best, 0.0)


def _windows(starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return first and last sentence, exclusive, of all windows, `(n_windows, 2)`.

    `starts` and `ends` bound the passage of each sentence, `(n,)`.
    """
    rows, bounds = np.arange(len(starts)), [np.empty((0, 2), int)]
    for length in _WINDOWS:
        first = rows[(rows == starts) | (rows + length <= ends)]
        bounds.append(np.stack([first, np.minimum(first + length, ends[first])], axis=1))
    return np.concatenate(bounds)


def _sums(values: np.ndarray) -> np.ndarray:
    """Return the sums of all prefixes, from the empty one, `(n + 1,)`."""
    return np.concatenate([[0.0], np.cumsum(values, dtype=np.float64)])


class SentenceIndex:
    """The table `evidence.sentences` by passage, in parts without common passages."""

    def __init__(self, parts: Sequence[Sentences]) -> None:
        self._parts = parts

    @classmethod
    def of_rows(cls, rows: pa.Table) -> "SentenceIndex":
        """Return the index of rows in any order."""
        return cls([Sentences.from_rows(rows)] if rows.num_rows else [])

    @property
    def dim(self) -> int | None:
        """Length of the vectors; None without any."""
        return self._parts[0].vectors.shape[1] if self._parts else None

    def of(self, chunk_ids: Sequence[str]) -> Sentences:
        """Return the sentences of some passages, in the order of these."""
        ids = np.array(chunk_ids, str)
        stored: dict[int, tuple[Sentences, slice]] = {}
        order = np.argsort(ids)  # in order, the search in a part is faster
        for part in self._parts:
            positions = np.searchsorted(part.passages, ids[order])
            positions = positions.clip(0, len(part.passages) - 1)
            for i in np.flatnonzero(part.passages[positions] == ids[order]).tolist():
                bounds = part.starts[positions[i] : positions[i] + 2].tolist()
                stored[int(order[i])] = part, slice(*bounds)
        lengths = np.zeros(len(ids), int)
        chosen = [stored[passage] for passage in sorted(stored)]
        lengths[sorted(stored)] = [rows.stop - rows.start for _, rows in chosen]
        return Sentences(
            ids,
            np.append(0, np.cumsum(lengths)),
            np.concatenate([part.vectors[rows] for part, rows in chosen] or [_NONE]),
            np.concatenate([np.empty(0, int), *(part.n_words[rows] for part, rows in chosen)]),
            np.concatenate([np.empty(0, str), *(part.speakers[rows] for part, rows in chosen)]),
        )


def sentence_index(table: Lazy, n_chunks: int, cache: ArrayCache | None) -> SentenceIndex:
    """Return the index of `evidence.sentences`, mapped into memory if there are many passages.

    `cache` keeps the arrays of each partition, so that an edit writes those of one.
    """
    if cache is None or n_chunks < SENTENCES_MAPPED_FROM or table.version() is None:
        return SentenceIndex.of_rows(table.get())
    parts, versions = [], []
    for part in table.parts():
        versions.append(version := str(part.version()))
        arrays = cache.read(_KEPT_AS, version)
        if arrays is None and (rows := part.get()).num_rows:
            arrays = vars(Sentences.from_rows(rows))
            if part.version() == version:  # not written meanwhile
                cache.write(_KEPT_AS, version, arrays)
                arrays = cache.read(_KEPT_AS, version) or arrays
        if arrays:
            parts.append(Sentences(**arrays))
    cache.keep_only(_KEPT_AS, versions)
    return SentenceIndex(parts)


def kept_sentences(table: Lazy, n_chunks: int, cache: ArrayCache) -> SentenceIndex | None:
    """Return the index if it need not be written: of few passages, or with all arrays mapped."""
    if n_chunks < SENTENCES_MAPPED_FROM:
        return sentence_index(table, n_chunks, None)
    each = [(part, cache.read(_KEPT_AS, str(part.version()))) for part in table.parts()]
    if any(arrays is None and part.columns(["position"]).num_rows for part, arrays in each):
        return None
    return SentenceIndex([Sentences(**arrays) for _, arrays in each if arrays])
