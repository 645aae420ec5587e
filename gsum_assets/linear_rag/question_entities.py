"""Entities of the graph that a question names, or is most like (paper, 4.2)."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from gsum_assets.corpus.names import name_key, texts_holding


class QuestionEntities:
    """Finds the names of the graph in questions.

    Parameters
    ----------
    texts : all questions.
    entity_of : entity of each name_key of the graph.
    """

    def __init__(self, texts: Sequence[str], entity_of: Mapping[str, str]) -> None:
        self._named: dict[str, set[str]] = defaultdict(set)
        distinct = list(dict.fromkeys(texts))
        held = texts_holding(entity_of.keys(), [name_key(text) for text in distinct])
        for key, indices in held.items():
            for index in indices:
                self._named[distinct[index]].add(entity_of[key])

    def scores(
        self, text: str, question: np.ndarray, entity_ids: Sequence[str], vectors: np.ndarray
    ) -> np.ndarray:
        """Return the first activation of each entity, `(n_entities,)`.

        It is 1 for those that the question names. Where it names none, the most similar entity has
        its similarity.

        Parameters
        ----------
        question : vector of the question, `(dim,)`.
        entity_ids, vectors : entities of the scope, and unit vectors of their names.
        """
        scores = np.array([float(i in self._named[text]) for i in entity_ids])
        if len(scores) and not scores.any():
            cosines = np.round(vectors @ question, 6)
            best = int(np.argmax(cosines))
            scores[best] = max(float(cosines[best]), 0)
        return scores
