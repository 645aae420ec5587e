"""Sentences of all passages with their vectors, so that a question needs only its own vector."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

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
_KEPT = 2**13  # passages whose sentences, without vectors, stay in memory: some 15 MB
_WINDOWS = (3, 6)  # sentences


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
            "text": sentence.text,
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
    """Sentences of one passage, in order.

    Attributes
    ----------
    vectors : unit vectors, `(n_sentences, dim)`.
    n_words : `(n_sentences,)`.
    speakers : `(n_sentences,)`; "" for prose.
    """

    vectors: np.ndarray
    n_words: np.ndarray
    speakers: Sequence[str]

    @cached_property
    def shares(self) -> Mapping[str, float]:
        """Share of the words by speaker, in lower case; prose has none."""
        total = float(self.n_words.sum()) or 1.0
        shares: dict[str, float] = {}
        for speaker, n in zip(self.speakers, self.n_words.tolist(), strict=True):
            if speaker:
                shares[speaker.lower()] = shares.get(speaker.lower(), 0.0) + n / total
        return shares


class JoinedSentences:
    """Sentences of all passages of a scope, one after another.

    Attributes
    ----------
    vectors : unit vectors, `(n, dim)`.
    """

    def __init__(self, passages: Sequence[Sentences | None]) -> None:
        self._n_passages = len(passages)
        present = [(i, sentences) for i, sentences in enumerate(passages) if sentences is not None]
        lengths = np.array([len(sentences.vectors) for _, sentences in present], int)
        self._owners = np.repeat(np.array([i for i, _ in present], int), lengths)
        vectors = [sentences.vectors for _, sentences in present]
        self.vectors = np.concatenate(vectors or [np.empty((0, 1), np.float32)])
        counts = [sentences.n_words for _, sentences in present]
        self._n_words = np.concatenate([np.empty(0, int), *counts])
        ends = np.repeat(np.cumsum(lengths), lengths)
        self._bounds = _windows(ends - np.repeat(lengths, lengths), ends)

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
            sums = _sums(products * self._n_words[:n] * self._n_words[apart:])
            lower = np.minimum(first, n)
            upper = np.maximum(last - apart, lower)
            squares += (2 if apart else 1) * (sums[upper] - sums[lower])
        return np.sqrt(np.maximum(squares, 0))

    def means_of_best(self, values: np.ndarray, numbers: Sequence[int]) -> list[np.ndarray]:
        """Return the mean of each passage's n largest values, or of all, for each n of `numbers`.

        Means are `(n_passages,)`; 0 for a passage without sentences.
        """
        order = np.lexsort((-values, self._owners))  # the passages stay where they are
        counts = np.bincount(self._owners, minlength=self._n_passages)
        rank = np.arange(len(values)) - np.repeat(np.cumsum(counts) - counts, counts)
        means = []
        for n in numbers:
            best = rank < n
            sums = np.bincount(self._owners[best], values[order[best]], minlength=self._n_passages)
            means.append(sums / np.clip(counts, 1, n))
        return means

    def best_windows(self, question: np.ndarray) -> np.ndarray:
        """Return the cosine of each passage's best window, 0 without any, `(n_passages,)`.

        A window is 3 or 6 sentences in a row, or a whole shorter passage; its vector is the sum of
        the sentences' vectors, each weighted by its words.
        """
        best = np.full(self._n_passages, -np.inf)
        if len(self._bounds):
            sums = _sums((self.vectors @ question) * self._n_words)
            first, last = self._bounds.T
            cosines = (sums[last] - sums[first]) / (self._lengths + 1e-9)
            np.maximum.at(best, self._owners[first], np.round(cosines, 6))
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


class SentenceArrays(NamedTuple):
    """Sentences of some passages, passage by passage.

    Attributes
    ----------
    passages : ids, ascending, `(n_passages,)`.
    starts : index of each passage's first sentence, then n, `(n_passages + 1,)`.
    vectors : unit vectors, `(n, dim)`.
    n_words, speakers : `(n,)`.
    """

    passages: np.ndarray
    starts: np.ndarray
    vectors: np.ndarray
    n_words: np.ndarray
    speakers: np.ndarray

    @classmethod
    def of(cls, rows: pa.Table) -> "SentenceArrays":
        """Return rows of `evidence.sentences`, at least one, in any order."""
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

    def at(self, index: int) -> Sentences:
        """Return the sentences of passage number `index`."""
        of_passage = slice(*self.starts[index : index + 2].tolist())
        return Sentences(
            self.vectors[of_passage], self.n_words[of_passage], self.speakers[of_passage].tolist()
        )


class SentenceIndex:
    """The table `evidence.sentences` by passage.

    Parameters
    ----------
    parts : each with passages that others lack.
    """

    def __init__(self, parts: Sequence[SentenceArrays]) -> None:
        self._parts = parts
        self._passage = lru_cache(_KEPT)(lambda part, position: parts[part].at(position))

    @classmethod
    def of_rows(cls, rows: pa.Table) -> "SentenceIndex":
        """Return the index of rows in any order."""
        return cls([SentenceArrays.of(rows)] if rows.num_rows else [])

    @property
    def dim(self) -> int | None:
        """Length of the vectors; None without any."""
        return self._parts[0].vectors.shape[1] if self._parts else None

    def of(self, chunk_ids: Sequence[str]) -> list[Sentences | None]:
        """Return the sentences of each passage, None for one that has none, `(n,)`."""
        ids = np.array(chunk_ids)
        sentences: list[Sentences | None] = [None] * len(ids)
        order = np.argsort(ids)  # in order, the search in a part is faster
        for number, part in enumerate(self._parts):
            positions = np.searchsorted(part.passages, ids[order])
            positions = positions.clip(0, len(part.passages) - 1)
            for i in np.flatnonzero(part.passages[positions] == ids[order]).tolist():
                sentences[order[i]] = self._passage(number, int(positions[i]))
        return sentences


def sentence_index(table: Lazy, n_chunks: int, cache: ArrayCache | None) -> SentenceIndex:
    """Return the index of `evidence.sentences`, mapped into memory if there are many passages.

    Parameters
    ----------
    cache : keeps the arrays of each partition, so that an edit writes those of one.
    """
    if cache is None or n_chunks < SENTENCES_MAPPED_FROM or table.version() is None:
        return SentenceIndex.of_rows(table.get())
    parts, versions = [], []
    for part in table.parts():
        versions.append(version := str(part.version()))
        arrays = cache.read(_KEPT_AS, version)
        if arrays is None and (rows := part.get()).num_rows:
            arrays = SentenceArrays.of(rows)._asdict()
            if part.version() == version:  # not written meanwhile
                cache.write(_KEPT_AS, version, arrays)
                arrays = cache.read(_KEPT_AS, version) or arrays
        if arrays:
            parts.append(SentenceArrays(**arrays))
    cache.keep_only(_KEPT_AS, versions)
    return SentenceIndex(parts)


def kept_sentences(table: Lazy, n_chunks: int, cache: ArrayCache) -> SentenceIndex | None:
    """Return the index if it need not be written: of few passages, or with all arrays mapped."""
    if n_chunks < SENTENCES_MAPPED_FROM:
        return sentence_index(table, n_chunks, None)
    each = [(part, cache.read(_KEPT_AS, str(part.version()))) for part in table.parts()]
    if any(arrays is None and part.columns(["position"]).num_rows for part, arrays in each):
        return None
    return SentenceIndex([SentenceArrays(**arrays) for _, arrays in each if arrays])
