"""Ranking of passages for questions, re-ranked by the scores of their cluster (paper, 3.1.3).

Answers read the first passages of the ranking, and documents are ranked by their best passage.
"""

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

_CANDIDATES_PER_K = 10  # per passage of a context (3.1.3)


class Clusters(NamedTuple):
    """Cluster of each chunk by its id, and the weight of re-ranking by scope of questions."""

    cluster_of: Mapping[str, int]
    weights: Mapping[str, float]

    @classmethod
    def from_tables(cls, clusters: pa.Table, clusterings: pa.Table) -> "Clusters":
        """Return the clusters in `gae.clusters` and `gae.clusterings` of one corpus and method."""
        columns = (clusters[name].to_pylist() for name in ("chunk_id", "cluster"))
        weights = {row["scope"]: row["weight"] for row in clusterings.to_pylist()}
        return cls(dict(zip(*columns, strict=True)), weights)

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
    weight : weight of the gain by re-ranking.
    k : K, number of passages in a context.
    same_document : factor of `discounted`.
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
    """Return the rows of `rankings` of one method.

    Parameters
    ----------
    collection, questions : with embeddings.
    clusters : None for a method without them.
    k : K, number of passages in a context.
    same_document : factor of `discounted`; the published form has none.
    """
    is_published = METHODS[method].is_published

    def retriever(scope: Collection) -> Retriever:
        first = hybrid(scope) if is_published else Seeds(scope, language)
        labels = clusters.of(list(scope.chunk_ids)) if clusters else None
        weight = 0.0
        if clusters:
            weight = clusters.weights["corpus" if scope is collection else "document"]
        factor = 1.0 if is_published else same_document
        return ClusterRerank(first, scope, labels, weight, k, factor)

    return rank_questions(retriever, questions, collection)


def rerank(scores: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    """Return R_i = S_i + sum of S_j P_j F_j over the rest of its cluster (equations 8 to 10).

    P_j = 1 / log(1 + rank_j), ranks from 1; F_j = S_j / sum of S_k over the same candidates,
    without i.

    Parameters
    ----------
    scores : S of a question's candidates, not negative, best first, `(n,)`.
    clusters : cluster of each candidate, `(n,)`.
    """
    weighted = scores**2 / np.log(1 + np.arange(1, len(scores) + 1))
    _, cluster_of = np.unique(clusters, return_inverse=True)
    mass = np.bincount(cluster_of, scores)[cluster_of] - scores
    gain = np.bincount(cluster_of, weighted)[cluster_of] - weighted
    alone = np.bincount(cluster_of)[cluster_of] == 1
    return scores + np.divide(gain, mass, out=np.zeros(len(scores)), where=~alone & (mass > 0))


def reranked(scores: np.ndarray, clusters: np.ndarray, k: int, weight: float = 1.0) -> np.ndarray:
    """Return scores with the 10 K best of each row re-ranked, all others negative.

    Parameters
    ----------
    scores : S of every passage for each question, 0 to 1, `(n_questions, n_passages)`.
    clusters : cluster of each passage, `(n_passages,)`.
    weight : weight of a candidate's gain; 1 is the published formula.
    """
    reordered = scores.astype(np.float64) - 2  # below every candidate
    for row, values in enumerate(scores.astype(np.float64)):
        best = np.argsort(-values, kind="stable")[: _CANDIDATES_PER_K * k]
        gain = rerank(values[best], clusters[best]) - values[best]
        reordered[row, best] = values[best] + weight * gain
    return reordered


def discounted(scores: np.ndarray, starts: np.ndarray, factor: float) -> np.ndarray:
    """Return scores multiplied by `factor` for each better passage of the same document (ours).

    The passages of the paper are up to 8,912 tokens long, about a document each. Of short ones,
    those of one document would crowd out the others that a question is about.

    Parameters
    ----------
    scores : S of every passage for each question, not negative, `(n_questions, n_passages)`.
    starts : index of each document's first passage, then `n_passages`, `(n_documents + 1,)`.
    """
    owners = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    factors = np.empty(scores.shape)
    for row, values in enumerate(scores):
        order = np.lexsort((-values, owners))  # by document, best first
        factors[row, order] = factor ** (np.arange(len(order)) - starts[owners])
    return scores * factors
