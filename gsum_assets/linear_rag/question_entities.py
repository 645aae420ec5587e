"""Entities of a question, and the entities of the graph that are like them (paper, 4.2)."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from gsum_assets.corpus.name_index import texts_holding
from gsum_assets.corpus.names import name_key
from gsum_resources.protocols.models import Embedder
from gsum_resources.text.entities import proper_names
from gsum_resources.text.sentences import read_sentences


class QuestionEntities:
    """Finds the names in questions: those of the graph, and others by rule.

    Parameters
    ----------
    texts : all questions.
    entity_of : entity of each name_key of the graph.
    """

    def __init__(self, texts: Sequence[str], entity_of: Mapping[str, str], embedder: Embedder):
        self._named: dict[str, set[str]] = defaultdict(set)
        distinct = list(dict.fromkeys(texts))
        held = texts_holding(entity_of.keys(), [name_key(text) for text in distinct])
        for key, indices in held.items():
            for index in indices:
                self._named[distinct[index]].add(entity_of[key])
        self._others = {
            text: [n for n in proper_names(read_sentences([text])) if name_key(n) not in entity_of]
            for text in distinct
        }
        names = sorted({name for others in self._others.values() for name in others})
        vectors = embedder.embed(names) if names else np.empty((0, embedder.dimension), np.float32)
        self._vector_of = dict(zip(names, vectors, strict=True))

    def scores(self, text: str, entity_ids: Sequence[str], vectors: np.ndarray) -> np.ndarray:
        """Return the similarity of each entity to a name in the question, `(n_entities,)`.

        An entity that the question names has 1. A name that the graph lacks stands for the most
        similar entity alone.

        Parameters
        ----------
        entity_ids, vectors : entities of the scope, and unit vectors of their names.
        """
        scores = np.array([float(i in self._named[text]) for i in entity_ids])
        for name in self._others[text] if len(scores) else ():
            cosines = np.round(vectors @ self._vector_of[name], 6)
            best = int(np.argmax(cosines))
            scores[best] = max(scores[best], float(cosines[best]))
        return scores
