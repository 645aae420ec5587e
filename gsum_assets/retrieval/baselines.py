"""TF-IDF, and two controls: a random order, and the reading order."""

import hashlib
from collections.abc import Sequence

import numpy as np

from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.ranking import Scores, best_of_nodes
from gsum_assets.retrieval.words import Words


class TfIdf:
    """Cosine of TF-IDF vectors, of a question and of each chunk and document.

    Term frequencies are damped (1 + log tf), as was chosen on ODSum-Story's train stories.
    """

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


class RandomOrder:
    """Uniform scores that depend only on the ids of question and item.

    Documents have scores of their own, as the best chunk would favour long ones.
    """

    def __init__(self, collection: Collection) -> None:
        self._nodes = _keys(collection.chunk_ids)
        self._documents = _keys(collection.document_ids)

    def scores(self, questions: Questions) -> Scores:
        """Return uniform scores over [0, 1)."""
        question_keys = _keys([f"0 {query_id}" for query_id in questions.ids])  # seed 0
        return Scores(
            _uniform(question_keys, self._nodes), _uniform(question_keys, self._documents)
        )


def _keys(ids: Sequence[str]) -> np.ndarray:
    """Return a 64-bit hash of each id, `(n_ids,)`."""
    digests = (hashlib.blake2b(text.encode(), digest_size=8).digest() for text in ids)
    return np.frombuffer(b"".join(digests), dtype="<u8")


def _uniform(rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return numbers in [0, 1) from each pair of keys, `(n_rows, n_columns)`.

    The sum of both is mixed as by SplitMix64 (Steele, Lea and Flood 2014).
    """
    mixed = rows[:, None] + columns[None, :]  # wraps around, as intended
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return (mixed >> np.uint64(11)) / float(2**53)


class FullContext:
    """Retriever that ranks everything in reading order."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection

    def scores(self, questions: Questions) -> Scores:
        """Return scores from 1 for the first chunk towards 0, equal for every question."""
        n_chunks = len(self._collection.chunk_ids)
        nodes = np.tile(1 - np.arange(n_chunks) / max(n_chunks, 1), (len(questions), 1))
        return Scores(nodes, best_of_nodes(nodes, self._collection))
