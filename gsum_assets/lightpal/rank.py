"""Ranking of passages for questions, for every method of the family."""

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from gsum_assets.lightpal.communities import community_of
from gsum_assets.lightpal.methods import METHODS, PASSAGE_WALK
from gsum_assets.lightpal.passage_graph import PassageGraphs
from gsum_assets.lightpal.passage_walk import PassageWalk
from gsum_assets.lightpal.promptrank import PromptRank
from gsum_assets.lightpal.published import LightPal, n_starts
from gsum_assets.lightpal.settings import LightpalSettings
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.methods import RETRIEVERS
from gsum_assets.retrieval.ranking import Retriever, rank_questions
from gsum_assets.retrieval.seeds import Seeds
from gsum_assets.retrieval.words import Words
from gsum_resources.protocols.models import PassageScorer
from gsum_resources.scoring.unigram import UnigramScorer
from gsum_resources.store.arrow import pc


class Tables(NamedTuple):
    """Tables from which rankings are computed.

    Attributes
    ----------
    passage_edges, walk_trust, communities : rows of the tables of that name; the last two are for
        `passage_walk`.
    """

    passage_edges: pa.Table
    walk_trust: pa.Table = TABLES["lightpal.walk_trust"].empty()
    communities: pa.Table = TABLES["lightpal.communities"].empty()


def rank(
    method: str,
    collection: Collection,
    questions: Questions,
    tables: Tables,
    language: str,
    settings: LightpalSettings,
    scorer: Callable[[], PassageScorer],
    k: int,
) -> pa.Table:
    """Return the rows of the table `rankings` for one method.

    Parameters
    ----------
    collection, questions : with embeddings.
    language : BCP 47 code.
    scorer : returns the scorer of PromptRank; called for that method only.
    k : K, number of passages in a context; not used by `passage_walk`.
    """
    return PassageSearch(method, collection, tables, language, settings, scorer, k).rank(questions)


class PassageSearch:
    """Builder of a method's retriever for each scope; its parameters are those of `rank`."""

    def __init__(
        self,
        method: str,
        collection: Collection,
        tables: Tables,
        language: str,
        settings: LightpalSettings,
        scorer: Callable[[], PassageScorer],
        k: int,
    ) -> None:
        self._method = method
        self._collection = collection
        self._trust, self._communities = tables.walk_trust, tables.communities
        self._language = language
        self._settings = settings
        self._scorer = scorer
        self._k = k
        graph = METHODS[method].graph
        both_ways = method == PASSAGE_WALK
        self._graphs = PassageGraphs.of(tables.passage_edges, graph, both_ways)

    def rank(self, questions: Questions) -> pa.Table:
        """Return the rows of the table `rankings`."""
        return rank_questions(
            lambda scope: self._of_corpus if scope is self._collection else self.retriever(scope),
            questions,
            self._collection,
        )

    @cached_property
    def _of_corpus(self) -> Retriever:
        return self.retriever(self._collection)

    def first(self, scope: Collection) -> Retriever:
        """Return the retriever of the initial passages."""
        if self._method == PASSAGE_WALK:
            return Seeds(scope, self._language)
        chosen = METHODS[self._method].initial or self._settings.retrieval.initial
        return RETRIEVERS[chosen](scope, Words(self._language))

    def retriever(self, scope: Collection) -> Retriever:
        """Return the method's retriever for the whole collection or one of its documents."""
        name = "corpus" if scope is self._collection else "document"
        graphs, settings = self._graphs.walked(scope, name), self._settings
        first = self.first(scope)
        if self._method == PASSAGE_WALK:
            trust = self._trusted("node", name), self._trusted("document", name)
            sizes = np.diff(scope.starts)
            owners = np.repeat(np.arange(len(sizes)), sizes)
            community = community_of(self._communities, scope.document_ids)
            return PassageWalk(first, graphs, trust, owners, community, settings)
        if METHODS[self._method].follows == "paths":
            share, chosen = settings.retrieval.initial_share, settings.promptrank
            n_first = n_starts(chosen.n_first, share, self._k)
            return PromptRank(scope, first, graphs, self._reader, share, chosen, n_first)
        return LightPal(first, graphs, settings.retrieval, self._k)

    def _trusted(self, level: str, scope: str) -> float:
        rows = self._trust.filter(
            pc.and_(pc.equal(self._trust["level"], level), pc.equal(self._trust["scope"], scope))
        )
        return rows["trust"][0].as_py() if rows.num_rows else 0.0

    @cached_property
    def _reader(self) -> PassageScorer:
        """Scorer of questions; a unigram scorer uses the word frequencies of the corpus."""
        scorer = self._scorer()
        if scorer.is_pairwise:
            return scorer
        return UnigramScorer(background=self._collection.chunk_texts)
