"""The passages that a question is searched in, with everything that no question changes."""

from collections.abc import Collection as AnyOf
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gsum_assets.evidence.sentence_index import SentenceIndex, Sentences
from gsum_assets.retrieval.bm25 import chunk_index
from gsum_assets.retrieval.collection import Collection
from gsum_assets.retrieval.words import Words
from gsum_resources.text.speech import is_speech

N_NEAREST = 5
FURTHEST = 3  # neighbours that count, in passages


@dataclass(frozen=True, eq=False)
class Scope:
    """Passages in reading order, document by document.

    Attributes
    ----------
    ids : `(n,)`.
    vectors : unit vectors of the passages, `(n, dim)`.
    places : position of each passage in its document, 0 for the first to 1 for the last, `(n,)`.
    before, behind : passages directly before and behind in the document, `(n, FURTHEST)`, nearest
        first; -1 where there is none.
    sentences : sentences of these passages.
    """

    ids: Sequence[str]
    vectors: np.ndarray
    places: np.ndarray
    before: np.ndarray
    behind: np.ndarray
    sentences: Sentences

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def is_speech(self) -> bool:
        """Whether the sentences are said by speakers."""
        return is_speech(self.sentences.speakers.tolist())

    @cached_property
    def nearest(self) -> np.ndarray:
        """The most similar other passages, best first; -1 beyond the last, `(n, N_NEAREST)`."""
        similar = np.round(self.vectors @ self.vectors.T, 6)
        np.fill_diagonal(similar, -np.inf)
        best, rows = np.full((len(self), N_NEAREST), -1), np.arange(len(self))
        for column in best.T[: max(0, len(self) - 1)]:
            column[:] = similar.argmax(axis=1)  # the first one of equals
            similar[rows, column] = -np.inf
        return best

    @cached_property
    def walk(self) -> tuple[np.ndarray, np.ndarray]:
        """What `scipy.linalg.lu_solve` needs to turn restarts into personalized PageRank.

        Edges lead to both neighbours, with weight 1/2, and between nearest passages by cosine.
        """
        from scipy.linalg import lu_factor

        n = len(self)
        weights = np.zeros((n, n))
        nodes = np.arange(n)
        for others in (self.before[:, 0], self.behind[:, 0]):
            has_other = others >= 0
            weights[nodes[has_other], others[has_other]] = 0.5
        for others in self.nearest.T:
            ends, near = nodes[others >= 0], others[others >= 0]
            cosine = np.maximum((self.vectors[ends] * self.vectors[near]).sum(axis=1), 0)
            weights[ends, near] = np.maximum(weights[ends, near], cosine)
            weights[near, ends] = np.maximum(weights[near, ends], cosine)
        weights /= weights.sum(axis=1, keepdims=True) + 1e-9
        weights *= -0.85
        np.fill_diagonal(weights, 1.0)
        return lu_factor(weights.T, overwrite_a=True, check_finite=False)


class ScopeIndex:
    """All passages of a collection; `scope` takes those that are judged for a question."""

    def __init__(self, collection: Collection, sentences: SentenceIndex, words: Words) -> None:
        assert collection.embeddings is not None
        self._collection, self._sentences = collection, sentences
        self.vectors = collection.embeddings
        self.bm25 = chunk_index(collection, words)
        lengths = np.diff(collection.starts)
        self._owner = np.repeat(np.arange(len(lengths)), lengths)
        last = np.maximum(lengths - 1, 1)[self._owner]
        self._places = (np.arange(len(self._owner)) - collection.starts[self._owner]) / last

    def __len__(self) -> int:
        return len(self._owner)

    @cached_property
    def whole(self) -> Scope:
        """All passages."""
        return self.scope()

    def scope(self, chosen: np.ndarray | None = None) -> Scope:
        """Return the passages at `chosen`, ascending indices, or all.

        Neighbours that are not among them are left out.
        """
        chosen = np.arange(len(self)) if chosen is None else chosen
        ids = [self._collection.chunk_ids[i] for i in map(int, chosen)]
        return Scope(
            ids=ids,
            vectors=self.vectors[chosen],
            places=self._places[chosen],
            before=self._shifted(chosen, -1),
            behind=self._shifted(chosen, 1),
            sentences=self._sentences.of(ids),
        )

    def having(self, terms: AnyOf[str], chosen: np.ndarray) -> np.ndarray:
        """Return which terms, in alphabetical order, passages have, `(n_terms, n_chosen)`."""
        has_term = np.zeros((len(terms), len(self)), bool)
        for row, term in zip(has_term, sorted(terms), strict=True):
            row[self.bm25.having(term)] = True
        return has_term[:, chosen]

    def document_ids(self, chosen: np.ndarray) -> list[str]:
        """Return the document of each passage."""
        return [self._collection.document_ids[owner] for owner in map(int, self._owner[chosen])]

    def candidates(self, vector: np.ndarray, bm25: np.ndarray, n: int) -> np.ndarray:
        """Return the `n` best passages by a cheap score and their neighbours, or all, ascending.

        `vector` is the question's, `(dim,)`; `bm25` its score of each passage, `(n_passages,)`.
        """
        total = len(self)
        if total <= n:
            return np.arange(total)
        cosines = self._collection.cosines(vector)
        score = standardized(np.round(cosines, 6)) + standardized(bm25)
        best = np.flatnonzero(score >= np.partition(score, total - n)[total - n])
        best = best[np.argsort(-score[best], kind="stable")][:n]
        near = np.concatenate([best - 1, best, best + 1]).clip(0, total - 1)
        same = self._owner[near] == np.tile(self._owner[best], 3)
        return np.unique(near[same])

    def _shifted(self, chosen: np.ndarray, sign: int) -> np.ndarray:
        """Return the row of the passage 1 to FURTHEST further; -1 where there is none."""
        n = len(self._owner)
        row_of = np.full(n, -1)
        row_of[chosen] = np.arange(len(chosen))
        shifted = np.full((len(chosen), FURTHEST), -1)
        for step in range(1, FURTHEST + 1):
            other = chosen + sign * step
            inside = (other >= 0) & (other < n)
            inside[inside] = self._owner[other[inside]] == self._owner[chosen[inside]]
            shifted[inside, step - 1] = row_of[other[inside]]
        return shifted


def standardized(values: np.ndarray) -> np.ndarray:
    """Return values with mean 0 and deviation 1; equal values become 0."""
    return (values - values.mean()) / (values.std() + 1e-6)
