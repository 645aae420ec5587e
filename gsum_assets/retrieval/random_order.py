"""Random baseline: an order that depends only on question and item.

Every score is a hash of the question's id and the item's id, so that the order of two items does
not depend on the rest of the corpus.
"""

import hashlib
from collections.abc import Sequence

import numpy as np

from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.ranking import Scores


class RandomOrder:
    """Uniform scores; documents have their own, as the best chunk would favour long ones."""

    def __init__(self, collection: Collection, seed: int = 0) -> None:
        self._seed = seed
        self._nodes = _keys(collection.chunk_ids)
        self._documents = _keys(collection.document_ids)

    def scores(self, questions: Questions) -> Scores:
        """Return uniform scores over [0, 1)."""
        question_keys = _keys([f"{self._seed} {query_id}" for query_id in questions.ids])
        return Scores(
            _uniform(question_keys, self._nodes), _uniform(question_keys, self._documents)
        )


def _keys(ids: Sequence[str]) -> np.ndarray:
    """Return a 64-bit hash of each id, `(n_ids,)`."""
    digests = (hashlib.blake2b(text.encode(), digest_size=8).digest() for text in ids)
    return np.frombuffer(b"".join(digests), dtype="<u8")


def _uniform(rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return numbers in [0, 1) from each pair of keys, `(n_rows, n_columns)`.

    The mixing steps are those of SplitMix64 (Steele, Lea and Flood 2014), which spread every bit
    of the sum of both keys over the result.
    """
    mixed = rows[:, None] + columns[None, :]  # wraps around, as intended
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return (mixed >> np.uint64(11)) / float(2**53)
