"""TF-IDF over chunks and, separately, over whole documents (scikit-learn), by cosine.

Term frequencies are damped (1 + log tf): on the 250 questions of ODSum-Story's train stories that
raised P@3 / P@10 from 69.1 / 47.3 to 73.2 / 49.3. Vectors without unit length did worse
(68.7 / 46.5). See `words.py` for the tokenization.
"""

from collections.abc import Sequence

import numpy as np

from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.ranking import Scores
from gsum_assets.retrieval.words import Words


class TfIdf:
    """Cosine of TF-IDF vectors, of a question and of each chunk and document."""

    def __init__(self, collection: Collection, words: Words | None = None) -> None:
        self._nodes = TfIdfIndex(collection.chunk_texts, words or Words())
        self._documents = TfIdfIndex(collection.document_texts, words or Words())

    def scores(self, questions: Questions) -> Scores:
        """Return scores from 0 to 1; 0 if text and question share no term."""
        return Scores(self._nodes.scores(questions.texts), self._documents.scores(questions.texts))


class TfIdfIndex:
    """TF-IDF vectors of a list of texts, with document frequencies of these texts."""

    def __init__(self, texts: Sequence[str], words: Words) -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer

        terms = [words.split(text) for text in texts]
        self._words = words
        self._n_texts = len(texts)
        self._vectors = None
        if any(terms):  # scikit-learn refuses an empty vocabulary
            # untyped: checkers infer the parameter types from the defaults
            self._vectorizer = TfidfVectorizer(
                analyzer=list,  # pyright: ignore[reportArgumentType]
                sublinear_tf=True,
                dtype=np.float32,  # pyright: ignore[reportArgumentType]
            )
            self._vectors = self._vectorizer.fit_transform(terms)

    def scores(self, queries: Sequence[str]) -> np.ndarray:
        """Return the cosine of each query and each text, float32, `(n_queries, n_texts)`."""
        if self._vectors is None or not queries:
            return np.zeros((len(queries), self._n_texts), dtype=np.float32)
        query_vectors = self._vectorizer.transform([self._words.split(query) for query in queries])
        return (query_vectors @ self._vectors.T).toarray()
