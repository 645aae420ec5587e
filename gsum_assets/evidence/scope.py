"""The passages that a question is searched in, with everything that no question changes."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from gsum_assets.retrieval.bm25 import Bm25Index, Bm25Settings
from gsum_assets.retrieval.collection import Collection
from gsum_assets.retrieval.vectors import stacked
from gsum_assets.retrieval.words import Words

N_NEAREST = 5
FURTHEST = 3  # neighbours that count, in passages
_WINDOWS = (3, 6)  # sentences


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
    def windows(self) -> np.ndarray:
        """Unit vectors of 3 and 6 sentences in a row, each weighted by its words, `(n, dim)`."""
        weighted = self.vectors * self.n_words[:, None]
        sums = np.concatenate([np.zeros((1, weighted.shape[1])), np.cumsum(weighted, axis=0)])
        n, found = len(weighted), []
        for length in _WINDOWS:
            first = np.arange(max(1, n - length + 1))
            found.append(sums[np.minimum(first + length, n)] - sums[first])
        vectors = np.concatenate(found)
        return vectors / (np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-9)

    @cached_property
    def shares(self) -> Mapping[str, float]:
        """Share of the words by speaker, in lower case; prose has none."""
        total = float(self.n_words.sum()) or 1.0
        shares: dict[str, float] = {}
        for speaker, n in zip(self.speakers, self.n_words.tolist(), strict=True):
            if speaker:
                shares[speaker.lower()] = shares.get(speaker.lower(), 0.0) + n / total
        return shares


class SentenceIndex:
    """The table `evidence.sentences` by passage; vectors are copied when they are needed.

    Parameters
    ----------
    rows : rows of the table, in any order.
    """

    def __init__(self, rows: pa.Table) -> None:
        self._rows = rows.sort_by([("chunk_id", "ascending"), ("position", "ascending")])
        ids = np.array(self._rows["chunk_id"].to_pylist(), dtype=object)
        names, first = np.unique(ids, return_index=True) if len(ids) else (ids, np.array([], int))
        ends = np.append(first[1:], len(ids)) if len(ids) else first
        self._range = dict(zip(names, zip(first.tolist(), ends.tolist(), strict=True), strict=True))

    def of(self, chunk_id: str) -> Sentences | None:
        """Return the sentences of a passage; None if it has none."""
        if chunk_id not in self._range:
            return None
        first, end = self._range[chunk_id]
        rows = self._rows.slice(first, end - first)
        vectors = stacked(rows["embedding"])
        return Sentences(vectors, rows["n_words"].to_numpy(), rows["speaker"].to_pylist())


@dataclass(frozen=True, eq=False)
class Scope:
    """Passages in reading order, document by document.

    Attributes
    ----------
    ids : `(n,)`.
    vectors : unit vectors of the passages, `(n, dim)`.
    starts : index of each document's first passage, then n, `(n_documents + 1,)`.
    places : position of each passage in its document, 0 for the first to 1 for the last, `(n,)`.
    before, behind : passages directly before and behind in the document, `(n, FURTHEST)`, nearest
        first; -1 where there is none.
    terms : words of each passage, as BM25 counts them, `(n,)`.
    sentences : of each passage; None where it has none, `(n,)`.
    """

    ids: Sequence[str]
    vectors: np.ndarray
    starts: np.ndarray
    places: np.ndarray
    before: np.ndarray
    behind: np.ndarray
    terms: Sequence[frozenset[str]]
    sentences: Sequence[Sentences | None]

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def idf(self) -> Mapping[str, float]:
        """Inverse document frequency of each word over these passages, as in BM25."""
        n = len(self)
        counts = Counter(term for terms in self.terms for term in terms)
        return {term: math.log(1 + (n - m + 0.5) / (m + 0.5)) for term, m in counts.items()}

    @cached_property
    def nearest(self) -> np.ndarray:
        """The most similar other passages, best first; -1 beyond the last, `(n, N_NEAREST)`."""
        similar = np.round(self.vectors @ self.vectors.T, 6)
        np.fill_diagonal(similar, -np.inf)
        best = np.full((len(self), N_NEAREST), -1)
        k = min(N_NEAREST, len(self) - 1)
        best[:, :k] = np.argsort(-similar, axis=1, kind="stable")[:, :k]
        return best

    @cached_property
    def walk(self) -> np.ndarray:
        """Personalized PageRank from each passage, `(n, n)`: column j for a restart at j.

        Edges lead to both neighbours, with weight 1/2, and between nearest passages by cosine.
        """
        n = len(self)
        weights = np.zeros((n, n))
        own = np.arange(n)
        for others in (self.before[:, 0], self.behind[:, 0]):
            there = others >= 0
            weights[own[there], others[there]] = 0.5
        for others in self.nearest.T:
            here, there = own[others >= 0], others[others >= 0]
            cosine = np.maximum((self.vectors[here] * self.vectors[there]).sum(axis=1), 0)
            weights[here, there] = np.maximum(weights[here, there], cosine)
            weights[there, here] = np.maximum(weights[there, here], cosine)
        steps = weights / (weights.sum(axis=1, keepdims=True) + 1e-9)
        return np.linalg.inv(np.eye(n) - 0.85 * steps.T) * 0.15


class ScopeIndex:
    """All passages of a collection; `scope` takes those that are judged for a question."""

    def __init__(self, collection: Collection, sentences: SentenceIndex, words: Words) -> None:
        assert collection.embeddings is not None
        self._collection, self._sentences = collection, sentences
        self.vectors, self.words = collection.embeddings, words
        self.bm25 = Bm25Index(collection.chunk_texts, Bm25Settings(words=words))
        lengths = np.diff(collection.starts)
        self._owner = np.repeat(np.arange(len(lengths)), lengths)
        last = np.maximum(lengths - 1, 1)[self._owner]
        self._places = (np.arange(len(self._owner)) - collection.starts[self._owner]) / last

    def scope(self, candidates: np.ndarray | None = None) -> Scope:
        """Return the passages at `candidates`, ascending indices, or all.

        Neighbours that are not among the candidates are left out.
        """
        n = len(self._owner)
        chosen = np.arange(n) if candidates is None else candidates
        ids = [self._collection.chunk_ids[int(i)] for i in chosen]
        texts = [self._collection.chunk_texts[int(i)] for i in chosen]
        owners = self._owner[chosen]
        return Scope(
            ids=ids,
            vectors=self.vectors[chosen],
            starts=np.append(np.unique(owners, return_index=True)[1], len(chosen)),
            places=self._places[chosen],
            before=self._shifted(chosen, -1),
            behind=self._shifted(chosen, 1),
            terms=[frozenset(self.words.split(text)) for text in texts],
            sentences=[self._sentences.of(chunk_id) for chunk_id in ids],
        )

    def candidates(self, vector: np.ndarray, bm25: np.ndarray, n: int) -> np.ndarray | None:
        """Return the best passages by a cheap score and their neighbours, ascending.

        Parameters
        ----------
        vector : of the question, `(dim,)`.
        bm25 : of each passage for the question, `(n_passages,)`.
        n : number of passages without neighbours.

        Returns
        -------
        Indices of passages; None stands for all.
        """
        total = len(self._owner)
        if total <= n:
            return None
        score = standardized(np.round(self.vectors @ vector, 6)) + standardized(bm25)
        best = np.argsort(-score, kind="stable")[:n]
        near = np.concatenate([best - 1, best, best + 1]).clip(0, total - 1)
        same = self._owner[near] == np.tile(self._owner[best], 3)
        return np.unique(near[same])

    def _shifted(self, chosen: np.ndarray, sign: int) -> np.ndarray:
        """Return the row of the passage 1 to FURTHEST further; -1 where there is none."""
        n = len(self._owner)
        row_of = np.full(n, -1)
        row_of[chosen] = np.arange(len(chosen))
        found = np.full((len(chosen), FURTHEST), -1)
        for step in range(1, FURTHEST + 1):
            other = chosen + sign * step
            inside = (other >= 0) & (other < n)
            inside[inside] = self._owner[other[inside]] == self._owner[chosen[inside]]
            found[inside, step - 1] = row_of[other[inside]]
        return found


def standardized(values: np.ndarray) -> np.ndarray:
    """Return values with mean 0 and deviation 1; equal values become 0."""
    return (values - values.mean()) / (values.std() + 1e-6)
