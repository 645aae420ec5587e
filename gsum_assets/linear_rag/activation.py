"""Activation of entities by semantic bridging (paper, 4.2)."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from gsum_assets.corpus.names import name_key, texts_holding


class Activation(NamedTuple):
    """Activated entities.

    Attributes
    ----------
    scores : 0 for an entity that is not activated, `(n_entities,)`.
    levels : round in which it was activated, 1 for those of the question, 0 for never.
    """

    scores: np.ndarray
    levels: np.ndarray


def activate(
    first: np.ndarray,
    relevance: np.ndarray,
    sentences: np.ndarray,
    entities: np.ndarray,
    threshold: float,
    iterations: int,
) -> Activation:
    """Spread the activation of a question's entities over sentences that name them.

    A sentence takes the score of its most active entity times its similarity to the question, and
    gives it to its other entities; an entity keeps the largest score that it is given. Rounds end
    when no further entity reaches the threshold.

    Parameters
    ----------
    first : scores of the question's entities, 0 for others, `(n_entities,)`.
    relevance : similarity of each sentence to the question, 0 to 1, `(n_sentences,)`.
    sentences, entities : sentence and entity of each mention, `(n_mentions,)`.
    threshold : least score of an entity that is activated.
    iterations : most rounds.
    """
    scores, levels = first.astype(np.float64), (first > 0).astype(np.int64)
    for level in range(2, iterations + 2):
        best = np.zeros(len(relevance))
        np.maximum.at(best, sentences, scores[entities])
        given = np.zeros(len(scores))
        np.maximum.at(given, entities, (best * relevance)[sentences])
        is_new = (levels == 0) & (given >= threshold)
        if not is_new.any():
            break
        levels[is_new] = level
        scores = np.where(levels > 0, np.maximum(scores, given), 0)
    return Activation(scores, levels)


def passage_restarts(
    activation: Activation,
    similarity: np.ndarray,
    contained: tuple[np.ndarray, np.ndarray, np.ndarray],
    weight: float,
) -> np.ndarray:
    """Return w sim(q, p) + ln(1 + sum of a_e ln(1 + N_e) / L_e) of each passage (paper, 4.3).

    Parameters
    ----------
    similarity : of the question and each passage, `(n_passages,)`.
    contained : passage and entity of each edge, and how often the one names the other, N.
    weight : w, of the similarity.
    """
    passages, entities, counts = contained
    levels = np.maximum(activation.levels[entities], 1)
    bonus = activation.scores[entities] * np.log1p(counts) / levels
    return weight * similarity + np.log1p(np.bincount(passages, bonus, len(similarity)))


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
