"""BM25 over chunks and, as texts of their own, over whole documents (Lucene's form).

k1 and b stay at 1.5 and 0.75: on the 250 questions of ODSum-Story's train stories a grid over k1
from 0.6 to 3 and b from 0.2 to 0.9 gained at most 0.6 of P@3 (74.1 there) and nothing of P@10
(48.6); on QMSum train k1 of 1.2 to 2 and b of 0.4 to 0.75 moved P@6 by 0.1. How texts are split,
and what that was chosen on, is told in `words.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.postings import NumberedTexts
from gsum_assets.retrieval.ranking import Scores
from gsum_assets.retrieval.words import Words

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


@dataclass(frozen=True)
class Bm25Settings:
    """`k1` damps repetition, `b` (0 to 1) discounts long texts (Robertson and Zaragoza 2009)."""

    k1: float = 1.5
    b: float = 0.75
    words: Words = field(default_factory=Words)


class Bm25:
    """BM25 of a question's terms in each chunk and each document of a collection."""

    def __init__(self, collection: Collection, settings: Bm25Settings | None = None) -> None:
        self._settings = settings or Bm25Settings()
        self._nodes = Bm25Index(collection.chunk_texts, self._settings)
        self._documents = Bm25Index(collection.document_texts, self._settings)

    def scores(self, questions: Questions) -> Scores:
        """Not negative; 0 where text and question share no term."""
        return Scores(self._nodes.scores(questions.texts), self._documents.scores(questions.texts))


class Bm25Index:
    """BM25 over any list of texts.

    Scores are those of bm25s to the last bit; many queries are scored at once as a sparse product.

    Parameters
    ----------
    texts : `(n_texts,)`, at least one; may be empty strings.
    """

    def __init__(self, texts: Sequence[str], settings: Bm25Settings) -> None:
        self._texts = NumberedTexts(texts, settings.words)
        mean = self._texts.lengths.sum() / max(1, self._texts.n_texts) or 1.0
        relative = (1 - settings.b) + settings.b * self._texts.lengths / mean
        self._norms = (settings.k1 * relative).astype(np.float32)  # what a frequency is damped by

    def scores(self, queries: Sequence[str]) -> np.ndarray:
        """BM25 of each query in each text, float32, `(n_queries, n_texts)`."""
        from scipy.sparse import csr_matrix

        asked = [self._texts.codes(query) for query in queries]
        flat = np.array([code for row in asked for code in row], np.int64)
        known, columns = np.unique(flat, return_inverse=True)
        ones = np.ones(len(flat), dtype=np.float32)  # a repeated term counts each time
        ends = np.cumsum([0, *map(len, asked)])
        counts = csr_matrix((ones, columns, ends), shape=(len(queries), len(known)))
        scores = csr_matrix(counts @ self._impacts(known))
        return scores.toarray()

    def _impacts(self, codes: np.ndarray) -> "csr_matrix":
        """What a query's term adds to the score of each text, `(n_terms, n_texts)`."""
        from scipy.sparse import csr_matrix

        n_texts = self._texts.n_texts
        found = self._texts.postings(codes)
        n_holding = np.bincount(found.terms, minlength=len(codes))
        rarity = np.log(1 + (n_texts - n_holding + 0.5) / (n_holding + 0.5)).astype(np.float32)
        frequencies = found.counts.astype(np.float32)
        damped = frequencies / (self._norms[found.texts] + frequencies)
        impacts = rarity[found.terms] * damped
        ends = np.concatenate([[0], np.cumsum(n_holding)])
        return csr_matrix((impacts, found.texts, ends), shape=(len(codes), n_texts))
