"""Questions to rankings, for every method of the family."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from gsum_assets.gae.levels import Level, in_order, levels, of_level
from gsum_assets.gae.rerank import reranked
from gsum_assets.gae.settings import RerankSettings
from gsum_assets.gae.variants import VARIANTS, Variant
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.hybrid import hybrid
from gsum_assets.retrieval.ranking import Retriever, Scores, rank_questions
from gsum_assets.retrieval.seeds import Seeds
from gsum_resources.arrow import pc

_PUBLISHED = "dbscan"


class Clusters(NamedTuple):
    """Clusters of some passages, as a method goes by them.

    Attributes
    ----------
    labels : of the passages, `(n_passages,)`.
    weight : of what re-ranking adds.
    """

    labels: np.ndarray
    weight: float


class Tables(NamedTuple):
    """Rows of `gae.clusters` and `gae.clusterings` of one corpus."""

    clusters: pa.Table
    clusterings: pa.Table


class ChosenClusters:
    """The clustering that a method goes by at each level and scope.

    Raises
    ------
    ValueError
        When asked for one that the corpus lacks.
    """

    def __init__(self, variant: Variant, tables: Tables) -> None:
        self._variant = variant
        self._tables = tables
        self._found: dict[tuple[str, str], tuple[pa.Table, float]] = {}

    def of(self, level: Level, scope: str) -> Clusters:
        """Of a level's passages in their order, for questions that search `scope`."""
        if (level.name, scope) not in self._found:
            self._found[level.name, scope] = self._load(level.name, scope)
        rows, weight = self._found[level.name, scope]
        return Clusters(in_order(rows, level.ids, "gae/clusters")["cluster"].to_numpy(), weight)

    def _load(self, level: str, scope: str) -> tuple[pa.Table, float]:
        rows = of_level(self._tables.clusterings, level)
        rows = rows.filter(pc.equal(rows["scope"], scope))
        published = self._variant.is_published
        rows = rows.filter(
            pc.equal(rows["clustering"], _PUBLISHED) if published else rows["is_chosen"]
        )
        if not rows.num_rows:
            wanted = _PUBLISHED if published else "chosen"
            raise ValueError(
                f"gae/clusterings: no clustering '{wanted}' of level '{level}'; DBSCAN is left "
                "out beyond 20,000 passages, ask for the method gae"
            )
        name, weight = rows["clustering"][0].as_py(), rows["weight"][0].as_py()
        clusters = of_level(self._tables.clusters, level)
        clusters = clusters.filter(pc.equal(clusters["clustering"], name))
        return clusters, 1.0 if published else weight


class ClusterRerank:
    """Re-ranks what a retriever finds, chunks by their clusters and documents by theirs.

    Parameters
    ----------
    first : finds candidates; its scores lie between 0 and 1.
    documents, nodes : of what it searches.
    k : K, passages that will be read.
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
        """Candidates are not negative, the others are."""
        found = self._first.scores(questions)
        return Scores(
            self._moved(found.nodes, self._nodes), self._moved(found.documents, self._documents)
        )

    def _moved(self, scores: np.ndarray, clusters: Clusters) -> np.ndarray:
        return reranked(scores, clusters.labels, self._k, self._settings, clusters.weight)


def rank(
    variant: str,
    collection: Collection,
    questions: Questions,
    tables: Tables,
    language: str,
    k: int,
    settings: RerankSettings,
) -> pa.Table:
    """Rows of the table `rankings` for one method.

    Parameters
    ----------
    collection, questions : with embeddings.
    language : BCP 47 code.
    k : K, passages that will be read.
    """
    chosen = VARIANTS[variant]
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
