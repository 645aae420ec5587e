"""BM25 over chunks and, separately, over whole documents (bm25s, Lucene's form).

k1 and b stay at 1.5 and 0.75: on the 250 questions of ODSum-Story's train stories a grid over k1
from 0.6 to 3 and b from 0.2 to 0.9 gained at most 0.6 of P@3 (74.1 there) and nothing of P@10
(48.6); on QMSum train k1 of 1.2 to 2 and b of 0.4 to 0.75 changed P@6 by 0.1. See `words.py` for
the tokenization and the data it was chosen on.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.ranking import Scores
from gsum_assets.retrieval.words import Words


@dataclass(frozen=True)
class Bm25Settings:
    """`k1` damps repetition, `b` (0 to 1) discounts long texts (Robertson and Zaragoza 2009)."""

    k1: float = 1.5
    b: float = 0.75
    words: Words = field(default_factory=Words)


class Bm25:
    """BM25 of a question's terms in each chunk and each document of a collection."""

    def __init__(self, collection: Collection, settings: Bm25Settings | None = None) -> None:
        settings = settings or Bm25Settings()
        self._nodes = Bm25Index(collection.chunk_texts, settings)
        self._documents = Bm25Index(collection.document_texts, settings)

    def scores(self, questions: Questions) -> Scores:
        """Return scores that are not negative; 0 if text and question share no term."""
        return Scores(self._nodes.scores(questions.texts), self._documents.scores(questions.texts))


class Bm25Index:
    """BM25 over any list of texts.

    Parameters
    ----------
    texts : `(n_texts,)`, at least one; may be empty strings.
    """

    def __init__(self, texts: Sequence[str], settings: Bm25Settings) -> None:
        import bm25s

        logging.getLogger("bm25s").setLevel(logging.WARNING)  # its import sets DEBUG
        self._words, self._n_texts = settings.words, len(texts)
        self._number_of: dict[str, int] = {}
        numbers = [
            [self._number_of.setdefault(term, len(self._number_of)) for term in terms]
            for terms in map(self._words.split, texts)
        ]
        self._index = bm25s.BM25(k1=settings.k1, b=settings.b)
        if self._number_of:  # the mean length of texts without any term is 0
            self._index.index(
                (numbers, self._number_of), create_empty_token=False, show_progress=False
            )

    def scores(self, queries: Sequence[str]) -> np.ndarray:
        """Return BM25 of each query in each text, float32, `(n_queries, n_texts)`."""
        scores = np.zeros((len(queries), self._n_texts), np.float32)
        for row, query in zip(scores, queries, strict=True):
            terms = self._words.split(query)
            known = [self._number_of[term] for term in terms if term in self._number_of]
            if known:
                row[:] = self._index.get_scores_from_ids(known)
        return scores
