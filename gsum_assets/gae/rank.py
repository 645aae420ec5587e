"""Ranking of passages for questions, re-ranked by the scores of their cluster (paper, 3.1.3)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from gsum_assets.gae.methods import METHODS
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.hybrid import hybrid
from gsum_assets.retrieval.ranking import Retriever, Scores, best_of_nodes, rank_questions
from gsum_assets.retrieval.seeds import Seeds
from gsum_resources.store.arrow import mapping

_CANDIDATES_PER_K = 10  # per passage of a context (3.1.3)


class Clusters(NamedTuple):
    """Cluster of each chunk by its id, and the weight of re-ranking by scope of questions."""

    cluster_of: Mapping[str, int]
    weights: Mapping[str, float]

    @classmethod
    def from_tables(cls, clusters: pa.Table, clusterings: pa.Table) -> "Clusters":
        """Return the clusters in `gae.clusters` and `gae.clusterings` of one corpus and method."""
        weights = mapping(clusterings, "scope", "weight")
        return cls(mapping(clusters, "chunk_id", "cluster"), weights)

    def of(self, chunk_ids: list[str]) -> np.ndarray:
        """Return the clusters of chunks, `(n_chunks,)`; raise ValueError if one has none."""
        lacking = [chunk_id for chunk_id in chunk_ids if chunk_id not in self.cluster_of]
        if lacking:
            raise ValueError(
                f"gae/clusters: {len(lacking)} of {len(chunk_ids)} passages have no cluster "
                f"(first: '{lacking[0]}'); materialize gae/clusters again"
            )
        return np.array([self.cluster_of[chunk_id] for chunk_id in chunk_ids], np.int64)


@dataclass(frozen=True)
class ClusterRerank:
    """Retriever that re-ranks the passages of another one.

    Attributes
    ----------
    first : retriever of the candidates, with scores between 0 and 1.
    labels : cluster of each chunk of the collection; None: they are not re-ranked.
    weight, k, same_document : arguments of `reranked` and `discounted`.
    """

    first: Retriever
    collection: Collection
    labels: np.ndarray | None
    weight: float
    k: int
    same_document: float

    def scores(self, questions: Questions) -> Scores:
        """Return the scores of passages, and of documents by their best passage."""
        nodes = self.first.scores(questions).nodes
        starts = self.collection.starts
        if len(starts) > 2:  # several documents
            nodes = discounted(nodes, starts, self.same_document)
        if self.labels is not None:
            nodes = reranked(nodes, self.labels, self.k, self.weight)
        return Scores(nodes, best_of_nodes(nodes, self.collection))


def rank(
    method: str,
    collection: Collection,
    questions: Questions,
    clusters: Clusters | None,
    language: str,
    k: int,
    same_document: float,
) -> pa.Table:
    """Return the rows of `rankings` of one method; the published form does not discount.

    Collection and questions have embeddings; `k` is the number of passages in a context.
    """
    is_published = METHODS[method].is_published

    def retriever(scope: Collection) -> Retriever:
        first = hybrid(scope) if is_published else Seeds(scope, language)
        labels, weight = None, 0.0
        if clusters:
            labels = clusters.of(list(scope.chunk_ids))
            weight = clusters.weights["corpus" if scope is collection else "document"]
        factor = 1.0 if is_published else same_document
        return ClusterRerank(first, scope, labels, weight, k, factor)

    return rank_questions(retriever, questions, collection)


def rerank(scores: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    """Return R_i = S_i + sum of S_j P_j F_j over the rest of its cluster (equations 8 to 10).

    P_j = 1 / log(1 + rank_j), ranks from 1; F_j = S_j / sum of S_k over the same candidates,
    without i. The scores of a question's candidates are not negative, best first, `(n,)`.
    """
    weighted = scores**2 / np.log(1 + np.arange(1, len(scores) + 1))
    _, cluster_of = np.unique(clusters, return_inverse=True)
    mass = np.bincount(cluster_of, scores)[cluster_of] - scores
    gain = np.bincount(cluster_of, weighted)[cluster_of] - weighted
    alone = np.bincount(cluster_of)[cluster_of] == 1
    return scores + np.divide(gain, mass, out=np.zeros(len(scores)), where=~alone & (mass > 0))


def reranked(scores: np.ndarray, clusters: np.ndarray, k: int, weight: float = 1.0) -> np.ndarray:
    """Return scores with the 10 K best of each row re-ranked, all others negative.

    Scores are 0 to 1, `(n_questions, n_passages)`; the published weight of a gain is 1.
    """
    reordered = scores.astype(np.float64) - 2  # below every candidate
    for row, values in enumerate(scores.astype(np.float64)):
        best = np.argsort(-values, kind="stable")[: _CANDIDATES_PER_K * k]
        gain = rerank(values[best], clusters[best]) - values[best]
        reordered[row, best] = values[best] + weight * gain
    return reordered


def discounted(scores: np.ndarray, starts: np.ndarray, factor: float) -> np.ndarray:
    """Return scores multiplied by `factor` for each better passage of the same document (ours).

    Short passages of one document would crowd out others. Scores are not negative, `(n_questions,
    n_passages)`; `starts` are those of a collection, `(n_documents + 1,)`.
    """
    owners = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    factors = np.empty(scores.shape)
    for row, values in enumerate(scores):
        order = np.lexsort((-values, owners))  # by document, best first
        factors[row, order] = factor ** (np.arange(len(order)) - starts[owners])
    return scores * factors
