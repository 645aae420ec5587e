"""Ranking of passages for questions, for every method of the family."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from gsum_assets.gae.levels import Level, in_order, levels, of_level
from gsum_assets.gae.methods import METHODS, Method
from gsum_assets.gae.rerank import reranked
from gsum_assets.gae.settings import RerankSettings
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.hybrid import hybrid
from gsum_assets.retrieval.ranking import Retriever, Scores, rank_questions
from gsum_assets.retrieval.seeds import Seeds
from gsum_resources.store.arrow import pc

_PUBLISHED = "dbscan"


class Clusters(NamedTuple):
    """Clusters of passages, and the weight that a method gives them.

    Attributes
    ----------
    labels : cluster of each passage, `(n_passages,)`.
    weight : weight of the gain by re-ranking.
    """

    labels: np.ndarray
    weight: float


class Tables(NamedTuple):
    """Rows of `gae.clusters` and `gae.clusterings` of one corpus."""

    clusters: pa.Table
    clusterings: pa.Table


class ChosenClusters:
    """The clustering that a method uses at each level and scope.

    Raises
    ------
    ValueError
        If the corpus does not have the requested clustering.
    """

    def __init__(self, method: Method, tables: Tables) -> None:
        self._method = method
        self._tables = tables
        self._found: dict[tuple[str, str], tuple[pa.Table, Mapping[str, int], float]] = {}

    def of(self, level: Level, scope: str) -> Clusters:
        """Return the clusters of a level's passages, for questions that search `scope`."""
        if (level.name, scope) not in self._found:
            rows, weight = self._load(level.name, scope)
            columns = (rows[name].to_pylist() for name in ("passage_id", "cluster"))
            cluster_of = dict(zip(*columns, strict=True))  # once for thousands of documents
            self._found[level.name, scope] = rows, cluster_of, weight
        rows, cluster_of, weight = self._found[level.name, scope]
        if all(passage_id in cluster_of for passage_id in level.ids):
            labels = np.array([cluster_of[passage_id] for passage_id in level.ids], np.int64)
            return Clusters(labels, weight)
        return Clusters(in_order(rows, level.ids, "gae/clusters")["cluster"].to_numpy(), weight)

    def _load(self, level: str, scope: str) -> tuple[pa.Table, float]:
        rows = of_level(self._tables.clusterings, level)
        rows = rows.filter(pc.equal(rows["scope"], scope))
        published = self._method.is_published
        rows = rows.filter(
            pc.equal(rows["clustering"], _PUBLISHED) if published else rows["is_chosen"]
        )
        if not rows.num_rows:
            clustering = _PUBLISHED if published else "chosen"
            raise ValueError(
                f"gae/clusterings: no clustering '{clustering}' of level '{level}'; DBSCAN is left "
                "out beyond 16,383 passages, use the method gae instead"
            )
        name, weight = rows["clustering"][0].as_py(), rows["weight"][0].as_py()
        clusters = of_level(self._tables.clusters, level)
        clusters = clusters.filter(pc.equal(clusters["clustering"], name))
        return clusters, 1.0 if published else weight


class ClusterRerank:
    """Retriever that re-ranks another one's results, chunks and documents by their clusters.

    Parameters
    ----------
    first : retriever of the candidates, with scores between 0 and 1.
    documents, nodes : clusters of the documents and chunks that it searches.
    k : K, number of passages in a context.
    """

    def __init__(
        self,
        first: Retriever,
        documents: Clusters,
        nodes: Clusters,
        k: int,
        settings: RerankSettings,
    ) -> None:
        self._first = first
        self._nodes = nodes
        self._documents = documents
        self._k = k
        self._settings = settings

    def scores(self, questions: Questions) -> Scores:
        """Return the scores of both levels; candidates are not negative, others are."""
        scores = self._first.scores(questions)
        return Scores(
            self._moved(scores.nodes, self._nodes), self._moved(scores.documents, self._documents)
        )

    def _moved(self, scores: np.ndarray, clusters: Clusters) -> np.ndarray:
        return reranked(scores, clusters.labels, self._k, self._settings, clusters.weight)


def rank(
    method: str,
    collection: Collection,
    questions: Questions,
    tables: Tables,
    language: str,
    k: int,
    settings: RerankSettings,
) -> pa.Table:
    """Return the rows of the table `rankings` for one method.

    Parameters
    ----------
    collection, questions : with embeddings.
    language : BCP 47 code.
    k : K, number of passages in a context.
    """
    chosen = METHODS[method]
    clusters = ChosenClusters(chosen, tables)

    def retriever(scope: Collection) -> Retriever:
        first = hybrid(scope) if chosen.is_published else Seeds(scope, language)
        if not chosen.reranks:
            return first
        documents, nodes = levels(scope)
        name = "corpus" if scope is collection else "document"
        return ClusterRerank(
            first, clusters.of(documents, "corpus"), clusters.of(nodes, name), k, settings
        )

    return rank_questions(retriever, questions, collection)
