"""PromptRank (Khalifa et al., 2023), the slow baseline, which scores paths through the graph.

The score of a path is the probability of the question after the path's texts. The best paths of
each hop are extended; a passage has the score of its best path. 60% of K are initial passages, at
which paths start (LightPAL paper, 5.1).
"""

from collections.abc import Sequence

import numpy as np

from gsum_assets.graphs.pagerank import WalkGraph
from gsum_assets.lightpal.passage_graph import ScopeGraphs
from gsum_assets.lightpal.published import n_starts, with_context
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.ranking import Retriever, Scores
from gsum_resources.protocols.models import PassageScorer

BEAM = 5
"""Paths extended at each hop (ours)."""

HOPS = 2
"""Passages on the longest path (ours)."""

_BETWEEN = "\n\n"
Path = tuple[int, ...]


class PromptRank:
    """Retriever of initial passages, and of context passages by the probability of the question.

    The graphs are directed; `k` is K, the number of passages in a context.
    """

    def __init__(
        self,
        collection: Collection,
        initial: Retriever,
        graphs: ScopeGraphs,
        scorer: PassageScorer,
        k: int,
    ) -> None:
        self._collection, self._initial, self._graphs = collection, initial, graphs
        self._scorer, self._n_starts = scorer, n_starts(k)

    def scores(self, questions: Questions) -> Scores:
        """Return 1 / rank; 0 beyond the maximum depth of a ranking."""
        first = self._initial.scores(questions)
        nodes, documents = self._collection.chunk_texts, self._collection.document_texts
        return Scores(
            self._level(first.nodes, questions.texts, nodes, self._graphs.nodes),
            self._level(first.documents, questions.texts, documents, self._graphs.documents),
        )

    def _level(
        self, first: np.ndarray, questions: Sequence[str], texts: Sequence[str], graph: WalkGraph
    ) -> np.ndarray:
        by_source = np.argsort(graph.sources, kind="stable")
        ends = np.searchsorted(graph.sources[by_source], np.arange(1, graph.n_nodes))
        following = np.split(graph.targets[by_source], ends)  # targets of each node's edges

        return with_context(
            first, lambda i, order: self._best_paths(questions[i], order, texts, following)
        )

    def _best_paths(
        self,
        question: str,
        order: np.ndarray,
        texts: Sequence[str],
        following: Sequence[np.ndarray],
    ) -> np.ndarray:
        """Return the score of each passage's best path; passages on no path follow in order."""
        best_of = -np.inf * np.ones(len(texts))
        paths: list[Path] = [(int(passage),) for passage in order[: self._n_starts]]
        for _ in range(HOPS):
            log_probabilities = self._worth(question, paths, texts)
            for path, value in zip(paths, log_probabilities, strict=True):
                best_of[list(path)] = np.maximum(best_of[list(path)], value)
            best = np.argsort(-log_probabilities, kind="stable")[:BEAM]
            extended = [
                (*path, int(node))
                for path in (paths[i] for i in best)
                for node in following[path[-1]]
                if node not in path
            ]
            paths = list(dict.fromkeys(extended))
            if not paths:
                break
        unread = order[~np.isfinite(best_of[order])]
        best_of[unread] = best_of[np.isfinite(best_of)].min() - 1 - np.arange(len(unread))
        return best_of

    def _worth(self, question: str, paths: Sequence[Path], texts: Sequence[str]) -> np.ndarray:
        """Return log P(question | texts of the path), nats per token, `(n_paths,)`."""
        contexts = [_BETWEEN.join(texts[passage] for passage in path) for path in paths]
        values = np.concatenate(self._scorer.score(contexts, [[question]] * len(paths)))
        return np.where(np.isnan(values), np.nanmin(values, initial=0.0) - 1, values)
