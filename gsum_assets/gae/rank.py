"""Ranking of passages for questions, for every method of the family.

Answers read the first passages of the ranking, and documents are ranked by their best passage.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from gsum_assets.gae.methods import METHODS, rerank_settings
from gsum_assets.gae.rerank import discounted, reranked
from gsum_assets.gae.settings import RerankSettings
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.hybrid import hybrid
from gsum_assets.retrieval.ranking import Retriever, Scores, best_of_nodes, rank_questions
from gsum_assets.retrieval.seeds import Seeds


class Clusters(NamedTuple):
    """Cluster of each chunk by its id, and the weight of re-ranking by scope of questions."""

    cluster_of: Mapping[str, int]
    weights: Mapping[str, float]

    @classmethod
    def from_tables(cls, clusters: pa.Table, clusterings: pa.Table) -> "Clusters":
        """Return the clusters in `gae.clusters` and `gae.clusterings` of one corpus and method."""
        return cls(
            dict(
                zip(*(clusters[name].to_pylist() for name in ("chunk_id", "cluster")), strict=True)
            ),
            {row["scope"]: row["weight"] for row in clusterings.to_pylist()},
        )

    def of(self, chunk_ids: list[str]) -> np.ndarray:
        """Return the clusters of chunks, `(n_chunks,)`.

        Raises
        ------
        ValueError
            If a chunk has no cluster.
        """
        lacking = [chunk_id for chunk_id in chunk_ids if chunk_id not in self.cluster_of]
        if lacking:
            raise ValueError(
                f"gae/clusters: {len(lacking)} of {len(chunk_ids)} passages have no cluster "
                f"(first: '{lacking[0]}'); materialize gae/clusters again"
            )
        return np.array([self.cluster_of[chunk_id] for chunk_id in chunk_ids], np.int64)


class ClusterRerank:
    """Retriever that re-ranks the passages of another one.

    Parameters
    ----------
    first : retriever of the candidates, with scores between 0 and 1.
    collection : the passages that it searches.
    labels : cluster of each of its chunks; None: they are not re-ranked.
    weight : weight of the gain by re-ranking.
    k : K, number of passages in a context.
    """

    def __init__(
        self,
        first: Retriever,
        collection: Collection,
        labels: np.ndarray | None,
        weight: float,
        k: int,
        settings: RerankSettings,
    ) -> None:
        self._first = first
        self._collection = collection
        self._labels = labels
        self._weight = weight
        self._k = k
        self._settings = settings

    def scores(self, questions: Questions) -> Scores:
        """Return the scores of passages, and of documents by their best passage."""
        nodes = self._first.scores(questions).nodes
        starts = self._collection.starts
        if len(starts) > 2:  # several documents
            nodes = discounted(nodes, starts, self._settings.same_document)
        if self._labels is not None:
            nodes = reranked(nodes, self._labels, self._k, self._settings, self._weight)
        return Scores(nodes, best_of_nodes(nodes, self._collection))


def rank(
    method: str,
    collection: Collection,
    questions: Questions,
    clusters: Clusters | None,
    language: str,
    k: int,
    settings: RerankSettings,
) -> pa.Table:
    """Return the rows of the table `rankings` for one method.

    Parameters
    ----------
    collection, questions : with embeddings.
    clusters : None for a method without them.
    language : BCP 47 code.
    k : K, number of passages in a context.
    """
    chosen = METHODS[method]
    of_method = rerank_settings(chosen, settings)

    def retriever(scope: Collection) -> Retriever:
        first = hybrid(scope) if chosen.is_published else Seeds(scope, language)
        labels = clusters.of(list(scope.chunk_ids)) if clusters else None
        name = "corpus" if scope is collection else "document"
        weight = clusters.weights[name] if clusters else 0.0
        return ClusterRerank(first, scope, labels, weight, k, of_method)

    return rank_questions(retriever, questions, collection)
