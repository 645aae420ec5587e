"""Ranking of passages by LinearRAG: semantic bridging and a walk (paper, 4.2 and 4.3)."""

from collections import defaultdict
from collections.abc import Collection as Names
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gsum_assets.corpus.names import name_key, texts_holding
from gsum_assets.linear_rag.settings import LinearRagSettings
from gsum_assets.linear_rag.tri_graph import TriGraph
from gsum_assets.multi_hop.graph import passage_scores
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.dense import Dense
from gsum_assets.retrieval.ranking import Scores, best_of_nodes

_PASSAGE_WEIGHT = 0.05  # restart weight of passages beside that of entities (as HippoRAG 2)
_DAMPING = 0.5  # probability of a step; the walk restarts else (as HippoRAG 2)


class Activation(NamedTuple):
    """Activated entities, `(n_entities,)`.

    Attributes `scores`: 0 for an entity that is not activated; `levels`: round in which it was
    activated, 1 for those of the question, 0 for never.
    """

    scores: np.ndarray
    levels: np.ndarray


@dataclass(frozen=True)
class LinearRag:
    """Retriever over the Tri-Graph of a scope.

    Attributes `vectors`: unit vectors of the names of the graph's entities, `(n_entities, dim)`;
    `named`: entities that each question names, by its text.
    """

    collection: Collection
    graph: TriGraph
    vectors: np.ndarray
    named: Mapping[str, Names[str]]
    settings: LinearRagSettings

    def scores(self, questions: Questions) -> Scores:
        """Return the probabilities of a walk from activated entities and similar passages."""
        dense = Dense(self.collection).scores(questions).nodes
        rows = [
            self._walk(text, vector, np.maximum(similarity, 0))
            for text, vector, similarity in zip(
                questions.texts, np.asarray(questions.embeddings), dense, strict=True
            )
        ]
        nodes = np.array(rows).reshape(dense.shape)
        return Scores(nodes, best_of_nodes(nodes, self.collection))

    def _walk(self, text: str, vector: np.ndarray, similarity: np.ndarray) -> np.ndarray:
        graph, settings = self.graph, self.settings
        relevance = graph.vectors @ vector if len(graph.passage_of) else np.empty(0)
        activation = activate(
            first_activation(self.named.get(text, ()), vector, graph.entity_ids, self.vectors),
            np.clip(np.round(relevance, 6), 0, 1),
            graph.sentences,
            graph.entities,
            settings.threshold,
            settings.iterations,
        )
        passages = passage_restarts(activation, similarity, graph.contained, settings.similarity)
        restart = np.concatenate([_PASSAGE_WEIGHT * passages, activation.scores])
        return passage_scores(graph.walk, restart, _DAMPING, graph.n_passages)


def entities_named_in(
    texts: Sequence[str], entity_of: Mapping[str, str]
) -> Mapping[str, Names[str]]:
    """Return the entities that each text names, from the entity of each name_key of the graph."""
    named: dict[str, set[str]] = defaultdict(set)
    distinct = list(dict.fromkeys(texts))
    held = texts_holding(entity_of.keys(), [name_key(text) for text in distinct])
    for key, indices in held.items():
        for index in indices:
            named[distinct[index]].add(entity_of[key])
    return named


def first_activation(
    named: Names[str], question: np.ndarray, entity_ids: Sequence[str], vectors: np.ndarray
) -> np.ndarray:
    """Return the first activation of each entity, `(n_entities,)`.

    It is 1 for those that the question names. Where it names none, the entity whose name's unit
    vector, of `vectors`, is most similar to the question, `(dim,)`, has its similarity.
    """
    scores = np.array([float(entity_id in named) for entity_id in entity_ids])
    if len(scores) and not scores.any():
        cosines = np.round(vectors @ question, 6)
        best = int(np.argmax(cosines))
        scores[best] = max(float(cosines[best]), 0)
    return scores


def activate(
    first: np.ndarray,
    relevance: np.ndarray,
    sentences: np.ndarray,
    entities: np.ndarray,
    threshold: float,
    iterations: int,
) -> Activation:
    """Spread the activation of a question's entities over sentences that name them (4.2).

    A sentence takes the score of its most active entity times its similarity to the question, and
    gives it to its other entities; an entity keeps the largest score that it is given. Rounds end
    when no further entity reaches the threshold.

    Parameters
    ----------
    first : scores of the question's entities, 0 for others, `(n_entities,)`.
    relevance : similarity of each sentence to the question, 0 to 1, `(n_sentences,)`.
    sentences, entities : sentence and entity of each mention, `(n_mentions,)`.
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
