"""Questions to rankings, for every method of the family."""

from collections.abc import Callable
from typing import NamedTuple

import pyarrow as pa

from gsum_assets.lightpal.passage_graph import PassageGraphs
from gsum_assets.lightpal.passage_walk import PassageWalk
from gsum_assets.lightpal.promptrank import PromptRank
from gsum_assets.lightpal.published import Published
from gsum_assets.lightpal.seeds import Seeds
from gsum_assets.lightpal.settings import LightpalSettings
from gsum_assets.lightpal.variants import PASSAGE_WALK, PROMPTRANK, VARIANTS
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.ranking import Retriever, rank_questions
from gsum_assets.retrieval.variants import RETRIEVERS
from gsum_assets.retrieval.words import Words
from gsum_resources.arrow import pc
from gsum_resources.protocols import PassageScorer
from gsum_resources.scoring.unigram import UnigramScorer


class Tables(NamedTuple):
    """What rankings are made from.

    Attributes
    ----------
    passage_edges, walk_trust : rows of the tables of that name in `lightpal`.
    """

    passage_edges: pa.Table
    walk_trust: pa.Table


def rank(
    variant: str,
    collection: Collection,
    questions: Questions,
    tables: Tables,
    language: str,
    settings: LightpalSettings,
    scorer: Callable[[], PassageScorer],
) -> pa.Table:
    """Rows of the table `rankings` for one method.

    Parameters
    ----------
    collection, questions : with embeddings.
    language : BCP 47 code.
    scorer : gives what PromptRank reads with; not asked for by others.
    """
    search = _Search(variant, collection, tables, language, settings, scorer)
    return rank_questions(search.retriever, questions, collection)


class _Search:
    """Builds a method's retriever for each scope."""

    def __init__(
        self,
        variant: str,
        collection: Collection,
        tables: Tables,
        language: str,
        settings: LightpalSettings,
        scorer: Callable[[], PassageScorer],
    ) -> None:
        self._variant = variant
        self._collection = collection
        self._trust = tables.walk_trust
        self._language = language
        self._settings = settings
        self._scorer = scorer
        graph = VARIANTS[variant].graph
        both_ways = variant == PASSAGE_WALK
        self._graphs = PassageGraphs.of(tables.passage_edges, graph, both_ways)

    def retriever(self, scope: Collection) -> Retriever:
        """For the whole collection, or for one of its documents."""
        name = "corpus" if scope is self._collection else "document"
        graphs, settings = self._graphs.walked(scope, name), self._settings
        if self._variant == PASSAGE_WALK:
            trust = self._trusted("node", name), self._trusted("document", name)
            return PassageWalk(Seeds(scope, self._language), graphs, trust, settings.walk)
        chosen = VARIANTS[self._variant].initial or settings.retrieval.initial
        initial = RETRIEVERS[chosen](scope, Words(self._language))
        if self._variant == PROMPTRANK:
            share = settings.retrieval.initial_share
            return PromptRank(scope, initial, graphs, self._reader(), share, settings.promptrank)
        return Published(initial, graphs, settings.retrieval)

    def _trusted(self, level: str, scope: str) -> float:
        rows = self._trust.filter(
            pc.and_(pc.equal(self._trust["level"], level), pc.equal(self._trust["scope"], scope))
        )
        return rows["trust"][0].as_py() if rows.num_rows else 0.0

    def _reader(self) -> PassageScorer:
        """Of questions: a scorer that takes word frequencies from company takes the corpus's."""
        scorer = self._scorer()
        if scorer.is_pairwise:
            return scorer
        return UnigramScorer(background=self._collection.chunk_texts)
