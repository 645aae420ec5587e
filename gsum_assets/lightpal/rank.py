"""Ranking of passages for questions, for every method of the family."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa

from gsum_assets.lightpal.passage_graph import PassageGraphs
from gsum_assets.lightpal.passage_walk import PassageWalk, community_of
from gsum_assets.lightpal.promptrank import PromptRank
from gsum_assets.lightpal.published import LightPal
from gsum_assets.lightpal.settings import Initial, RetrievalSettings
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.methods import RETRIEVERS
from gsum_assets.retrieval.ranking import Retriever, rank_questions
from gsum_assets.retrieval.seeds import Seeds
from gsum_assets.retrieval.words import Words
from gsum_resources.protocols.models import PassageScorer
from gsum_resources.scoring.unigram import UnigramScorer
from gsum_resources.store.arrow import pc


@dataclass(frozen=True)
class Method:
    """The graph and the initial retriever of a method.

    Attributes
    ----------
    graph : name of the graph (see `passage_edges.py`).
    initial : baseline that retrieves the initial passages; None: the one in the settings.
    follows : how context passages are found, by random walks or by paths that predict the question.
    """

    graph: str = "context"
    initial: Initial | None = None
    follows: Literal["walks", "paths"] = "walks"


PASSAGE_WALK = "passage_walk"

METHODS: Mapping[str, Method] = MappingProxyType(
    {
        "lightpal": Method(),
        "lightpal-hybrid": Method(initial="hybrid"),
        "lightpal-embedding": Method(graph="embedding"),
        "promptrank": Method(follows="paths"),
        "promptrank-embedding": Method(graph="embedding", follows="paths"),
        PASSAGE_WALK: Method(graph="walk"),
    }
)


class Tables(NamedTuple):
    """Rows of the tables of the same names; the last two are for `passage_walk`."""

    passage_edges: pa.Table
    walk_trust: pa.Table = TABLES["lightpal.walk_trust"].empty()
    communities: pa.Table = TABLES["lightpal.communities"].empty()


class PassageSearch:
    """Builder of a method's retriever for each scope of a collection with embeddings.

    `settings` and `k`, the number of passages in a context, are not for `passage_walk`; `scorer` is
    called for PromptRank only.
    """

    def __init__(
        self,
        method: str,
        collection: Collection,
        tables: Tables,
        language: str,
        settings: RetrievalSettings,
        scorer: Callable[[], PassageScorer],
        k: int,
    ) -> None:
        self._method, self._is_walk = METHODS[method], method == PASSAGE_WALK
        self._collection, self._language = collection, language
        self._trust, self._communities = tables.walk_trust, tables.communities
        self._settings, self._scorer, self._k = settings, scorer, k
        self._graphs = PassageGraphs.of(tables.passage_edges, self._method.graph, self._is_walk)

    def rank(self, questions: Questions) -> pa.Table:
        """Return the rows of the table `rankings`; the questions have embeddings."""
        return rank_questions(
            lambda scope: self._of_corpus if scope is self._collection else self.retriever(scope),
            questions,
            self._collection,
        )

    @cached_property
    def _of_corpus(self) -> Retriever:
        return self.retriever(self._collection)

    def retriever(self, scope: Collection) -> Retriever:
        """Return the method's retriever for the whole collection or one of its documents."""
        name = "corpus" if scope is self._collection else "document"
        graphs = self._graphs.walked(scope, name)
        if self._is_walk:
            sizes = np.diff(scope.starts)
            return PassageWalk(
                Seeds(scope, self._language),
                graphs,
                trust=(self._trusted("node", name), self._trusted("document", name)),
                owners=np.repeat(np.arange(len(sizes)), sizes),
                community=community_of(self._communities, scope.document_ids),
            )
        initial = RETRIEVERS[self._method.initial or self._settings.initial]
        first = initial(scope, Words(self._language))
        if self._method.follows == "paths":
            return PromptRank(scope, first, graphs, self._reader, self._k)
        return LightPal(first, graphs, self._settings.alpha, self._k)

    def _trusted(self, level: str, scope: str) -> float:
        rows = self._trust.filter((pc.field("level") == level) & (pc.field("scope") == scope))
        return rows["trust"][0].as_py() if rows.num_rows else 0.0

    @cached_property
    def _reader(self) -> PassageScorer:
        """Scorer of questions; a unigram scorer uses the word frequencies of the corpus."""
        scorer = self._scorer()
        if scorer.is_pairwise:
            return scorer
        return UnigramScorer(background=self._collection.chunk_texts)
