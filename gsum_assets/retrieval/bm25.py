"""BM25 over chunks and, as texts of their own, over whole documents (bm25s, Lucene's form).

k1 and b stay at 1.5 and 0.75: on the 250 questions of ODSum-Story's train stories a grid over k1
from 0.6 to 3 and b from 0.2 to 0.9 gained at most 0.6 of P@3 (74.1 there) and nothing of P@10
(48.6); on QMSum train k1 of 1.2 to 2 and b of 0.4 to 0.75 moved P@6 by 0.1. How texts are split,
and what that was chosen on, is told in `words.py`.
"""

from collections import defaultdict
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
        self._settings = settings or Bm25Settings()
        self._nodes = Bm25Index(collection.chunk_texts, self._settings)
        self._documents = Bm25Index(collection.document_texts, self._settings)

    def scores(self, questions: Questions) -> Scores:
        """Not negative; 0 where text and question share no term."""
        return Scores(self._nodes.scores(questions.texts), self._documents.scores(questions.texts))


class Bm25Index:
    """A BM25 index over any list of texts.

    bm25s computes beforehand what each term adds to each text; a query's scores are sums of that,
    taken for many queries at once as a sparse product, twice as fast as query by query.

    Parameters
    ----------
    texts : `(n_texts,)`, at least one; may be empty strings.
    """

    def __init__(self, texts: Sequence[str], settings: Bm25Settings) -> None:
        import bm25s  # imports numba where installed, so not at module level
        from scipy.sparse import csr_matrix

        self._split = settings.words.split
        numbers: defaultdict[str, int] = defaultdict(lambda: len(numbers))  # in order of first use
        terms = [[numbers[term] for term in self._split(text)] for text in texts]
        self._vocabulary = dict(numbers)
        shape = (len(self._vocabulary), len(texts))
        self._impacts = csr_matrix(shape, dtype=np.float32)
        if self._vocabulary:  # bm25s fails on a corpus without a single term
            index = bm25s.BM25(k1=settings.k1, b=settings.b)
            index.index((terms, self._vocabulary), create_empty_token=False, show_progress=False)
            of_terms = (index.scores["data"], index.scores["indices"], index.scores["indptr"])
            self._impacts = csr_matrix(of_terms, shape=shape)

    def scores(self, queries: Sequence[str]) -> np.ndarray:
        """BM25 of each query in each text, float32, `(n_queries, n_texts)`."""
        from scipy.sparse import csr_matrix

        number = self._vocabulary
        known = [[number[t] for t in self._split(query) if t in number] for query in queries]
        terms = np.array([term for row in known for term in row], dtype=np.int64)
        ends = np.cumsum([0, *map(len, known)])
        ones = np.ones(len(terms), dtype=np.float32)  # a repeated term counts each time
        counts = csr_matrix((ones, terms, ends), shape=(len(queries), len(number)))
        scores = csr_matrix(counts @ self._impacts)  # (n_queries, n_terms) (n_terms, n_texts)
        return scores.toarray()
