"""PromptRank (Khalifa et al., 2023), the slow comparison: a scorer reads paths through the graph.

A path is a passage and passages that edges lead to. It is worth the probability of the question
after the path's texts; no instruction stands between them, so that any scorer can tell it. The best
paths of each hop are made longer; a passage is worth the best path that it lies on. As in the
LightPAL paper (5.1) 60% of K stay the initial retriever's, and paths begin at these. The method
scores every path of every question anew, which is what LightPAL spares.
"""

from collections.abc import Sequence

import numpy as np

from gsum_assets.graphs.pagerank import WalkGraph
from gsum_assets.lightpal.passage_graph import ScopeGraphs
from gsum_assets.lightpal.published import with_context
from gsum_assets.lightpal.settings import PromptRankSettings
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.ranking import Retriever, Scores
from gsum_resources.protocols import PassageScorer

Path = tuple[int, ...]
_BETWEEN = "\n\n"


class PromptRank:
    """Initial passages with context passages by the probability of the question.

    Parameters
    ----------
    initial : retrieves first.
    graphs : directed.
    scorer : of a question after a text.
    initial_share : of a ranking that stays the initial retriever's.
    n_first : initial passages that paths begin at.
    """

    def __init__(
        self,
        collection: Collection,
        initial: Retriever,
        graphs: ScopeGraphs,
        scorer: PassageScorer,
        initial_share: float,
        settings: PromptRankSettings,
        n_first: int,
    ) -> None:
        self._collection = collection
        self._initial = initial
        self._graphs = graphs
        self._scorer = scorer
        self._share = initial_share
        self._settings = settings
        self._n_first = n_first

    def scores(self, questions: Questions) -> Scores:
        """1 over the rank; 0 beyond the greatest depth of a ranking."""
        first = self._initial.scores(questions)
        texts, asked = self._collection, questions.texts
        return Scores(
            self._level(first.nodes, asked, texts.chunk_texts, self._graphs.nodes),
            self._level(first.documents, asked, texts.document_texts, self._graphs.documents),
        )

    def _level(
        self, first: np.ndarray, asked: Sequence[str], texts: Sequence[str], graph: WalkGraph
    ) -> np.ndarray:
        following = _followers(graph)

        def read(question: int, order: np.ndarray) -> np.ndarray:
            return self._read(asked[question], order, texts, following)

        return with_context(first, read, self._share)

    def _read(
        self,
        question: str,
        order: np.ndarray,
        texts: Sequence[str],
        following: Sequence[np.ndarray],
    ) -> np.ndarray:
        """Return the best path through each passage; passages on none follow in the initial order."""
        found = -np.inf * np.ones(len(texts))
        paths: list[Path] = [(int(place),) for place in order[: self._n_first]]
        for _ in range(self._settings.hops):
            worth = self._worth(question, paths, texts)
            for path, value in zip(paths, worth, strict=True):
                found[list(path)] = np.maximum(found[list(path)], value)
            best = np.argsort(-worth, kind="stable")[: self._settings.beam]
            paths = _longer([paths[i] for i in best], following)
            if not paths:
                break
        unread = order[~np.isfinite(found[order])]
        found[unread] = found[np.isfinite(found)].min() - 1 - np.arange(len(unread))
        return found

    def _worth(self, question: str, paths: Sequence[Path], texts: Sequence[str]) -> np.ndarray:
        """log P(question | texts of the path), nats per token, `(n_paths,)`."""
        contexts = [_BETWEEN.join(texts[place] for place in path) for path in paths]
        rows = self._scorer.score(contexts, [[question]] * len(paths))
        worth = np.concatenate(rows)
        return np.where(np.isnan(worth), np.nanmin(worth, initial=0.0) - 1, worth)


def _followers(graph: WalkGraph) -> list[np.ndarray]:
    """Where edges lead from each node."""
    order = np.argsort(graph.sources, kind="stable")
    ends = np.searchsorted(graph.sources[order], np.arange(1, graph.n_nodes))
    return np.split(graph.targets[order], ends)


def _longer(paths: Sequence[Path], following: Sequence[np.ndarray]) -> list[Path]:
    """Return each path with each passage that its last one leads to and that it has not met."""
    found = (
        (*path, int(place)) for path in paths for place in following[path[-1]] if place not in path
    )
    return list(dict.fromkeys(found))
