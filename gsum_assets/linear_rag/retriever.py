"""Ranking of passages by LinearRAG (paper, 4.2 and 4.3)."""

import numpy as np

from gsum_assets.linear_rag.activation import QuestionEntities, activate, passage_restarts
from gsum_assets.linear_rag.settings import LinearRagSettings
from gsum_assets.linear_rag.tri_graph import TriGraph
from gsum_assets.multi_hop.graph import passage_scores
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.dense import Dense
from gsum_assets.retrieval.ranking import Scores, best_of_nodes


class LinearRag:
    """Retriever over the Tri-Graph of a scope.

    Parameters
    ----------
    vectors : unit vectors of the names of the graph's entities, `(n_entities, dim)`.
    """

    def __init__(
        self,
        collection: Collection,
        graph: TriGraph,
        vectors: np.ndarray,
        found: QuestionEntities,
        settings: LinearRagSettings,
    ) -> None:
        self._collection, self._graph, self._vectors = collection, graph, vectors
        self._found, self._settings = found, settings

    def scores(self, questions: Questions) -> Scores:
        """Return the probabilities of a walk from activated entities and similar passages."""
        dense = Dense(self._collection).scores(questions).nodes
        rows = [
            self._walk(text, vector, np.maximum(similarity, 0))
            for text, vector, similarity in zip(
                questions.texts, np.asarray(questions.embeddings), dense, strict=True
            )
        ]
        nodes = np.array(rows).reshape(dense.shape)
        return Scores(nodes, best_of_nodes(nodes, self._collection))

    def _walk(self, text: str, vector: np.ndarray, similarity: np.ndarray) -> np.ndarray:
        graph, settings = self._graph, self._settings
        n_sentences = len(graph.passage_of)
        relevance = graph.vectors @ vector if n_sentences else np.empty(0)
        activation = activate(
            self._found.scores(text, vector, graph.entity_ids, self._vectors),
            np.clip(np.round(relevance, 6), 0, 1),
            graph.sentences,
            graph.entities,
            settings.threshold,
            settings.iterations,
        )
        passages = passage_restarts(activation, similarity, graph.contained, settings.similarity)
        restart = np.concatenate([settings.passage_weight * passages, activation.scores])
        return passage_scores(graph.walk, restart, settings.damping, graph.n_passages)
