"""Control for graphs over neighbouring chunks: scores smoothed over neighbours.

It finds more of the evidence than plain dense retrieval at almost no cost; a graph over
neighbouring passages has to find more than this.
"""

import numpy as np

from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.ranking import Retriever, Scores, best_of_nodes

WEIGHT = 0.3


class Smoothed:
    """Scores of a retriever plus a fraction of the scores of the previous and next chunk.

    At the ends of a document the chunk itself replaces the missing neighbour.
    """

    def __init__(self, inner: Retriever, collection: Collection, weight: float = WEIGHT) -> None:
        self._inner, self._collection, self._weight = inner, collection, weight
        positions = np.arange(len(collection.chunk_ids))
        self._before, self._behind = positions - 1, positions + 1
        first, last = collection.starts[:-1], collection.starts[1:] - 1
        self._before[first], self._behind[last] = first, last

    def scores(self, questions: Questions) -> Scores:
        """Return scores of up to 1 + 2 `weight` times those of the inner retriever."""
        inner = self._inner.scores(questions).nodes
        nodes = inner + self._weight * (inner[:, self._before] + inner[:, self._behind])
        return Scores(nodes, best_of_nodes(nodes, self._collection))
