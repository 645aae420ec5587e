"""Activation of entities by semantic bridging (paper, 4.2)."""

from typing import NamedTuple

import numpy as np


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
