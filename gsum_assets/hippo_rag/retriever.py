"""Ranking of passages by HippoRAG 2 (paper, 3.3)."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from gsum_assets.graphs.pagerank import WalkGraph
from gsum_assets.multi_hop.graph import passage_graph, passage_scores
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.dense import Dense
from gsum_assets.retrieval.hybrid import min_max
from gsum_assets.retrieval.ranking import Scores, best_of_nodes

N_PHRASES = 5
"""Phrases of the triples at which walks restart (3.3)."""

_PASSAGE_WEIGHT = 0.05  # restart weight of passages beside that of phrases (3.3)
_DAMPING = 0.5  # probability of a step; the walk restarts else (3.3)


@dataclass(frozen=True, eq=False)
class PhraseGraph:
    """The graph of a scope: passages, then phrases.

    Attributes `phrases`: index of each entity among the phrases; `n_holding`: number of passages
    that hold each phrase, `(n_phrases,)`.
    """

    walk: WalkGraph
    phrases: Mapping[str, int]
    n_holding: np.ndarray

    @classmethod
    def of(cls, chunk_ids: Sequence[str], edges: pa.Table) -> "PhraseGraph":
        """Return the graph of some chunks from rows of `hippo_rag.edges`."""
        passage_of = {chunk_id: index for index, chunk_id in enumerate(chunk_ids)}
        names = TABLES["hippo_rag.edges"].schema.names
        columns = (edges[name].to_pylist() for name in names)
        rows = list(zip(*columns, strict=True))
        contexts = [row for row in rows if row[0] == "context" and row[1] in passage_of]
        phrases = {entity: i for i, entity in enumerate(sorted({row[2] for row in contexts}))}
        node_of = passage_of | {entity: len(chunk_ids) + i for entity, i in phrases.items()}
        # an edge that leads out of the scope has an end without a node
        inside = [row for row in rows if row[1] in node_of and row[2] in node_of]
        pairs = np.array([(node_of[a], node_of[b]) for _, a, b, _ in inside], np.int64)
        weights = np.array([row[3] for row in inside])
        holding = np.array([phrases[row[2]] for row in contexts], np.int64)
        walk = passage_graph(len(chunk_ids), len(phrases), pairs.reshape(-1, 2), weights)
        return cls(walk, phrases, np.bincount(holding, minlength=len(phrases)))


@dataclass(frozen=True)
class HippoRag:
    """Retriever over the phrases and passages of a scope.

    Attribute `linked`: the ends of the triples kept for each question with their scores, by
    query_id.
    """

    collection: Collection
    graph: PhraseGraph
    linked: Mapping[str, Sequence[tuple[str, str, float]]]

    def scores(self, questions: Questions) -> Scores:
        """Return the probabilities of walks; the dense scores of a question without a triple."""
        dense = min_max(Dense(self.collection).scores(questions).nodes)
        nodes = dense.astype(np.float64)
        for row, query_id in enumerate(questions.ids):
            triples = self.linked.get(query_id, ())
            phrases = phrase_weights(triples, self.graph.phrases, self.graph.n_holding)
            if phrases.any():
                restart = np.concatenate([_PASSAGE_WEIGHT * dense[row], phrases])
                nodes[row] = passage_scores(self.graph.walk, restart, _DAMPING, len(dense[row]))
        return Scores(nodes, best_of_nodes(nodes, self.collection))


def phrase_weights(
    triples: Sequence[tuple[str, str, float]],
    phrases: Mapping[str, int],
    n_holding: np.ndarray,
    most: int = N_PHRASES,
) -> np.ndarray:
    """Return the restart weight of each phrase, `(n_phrases,)`.

    It is the mean score of the triples that it is an end of, divided by the number of passages that
    hold it, for the `most` phrases where that is largest; 0 for others.

    Parameter `triples`: both ends and the score of each triple.
    """
    scores: dict[int, list[float]] = defaultdict(list)
    for source, target, score in triples:
        for end in (source, target):
            if end in phrases:
                scores[phrases[end]].append(score)
    weights = {i: float(np.mean(of_phrase)) / n_holding[i] for i, of_phrase in scores.items()}
    best = sorted(weights, key=lambda i: (-weights[i], i))[:most]
    all_weights = np.zeros(len(n_holding))
    all_weights[best] = [weights[i] for i in best]
    return all_weights
