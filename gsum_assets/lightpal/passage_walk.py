"""Our method `passage_walk`: a random walk from good seeds ranks all passages.

Edges are undirected and weighted, seeds lexical and dense, and a document gains what the walk gives
its community on average. Walk and communities weigh by the trust in the graph: the probability that
walks are at least as good as the seeds, estimated without labels (`retrieval/held_out.py`).
Constants were chosen on ODSum-Story's train stories; docs/lightpal.md has the measurements.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from gsum_assets.graphs.clusters import leiden, named_by_members
from gsum_assets.graphs.pagerank import DECIMALS, WalkGraph, personalized_pagerank
from gsum_assets.lightpal.passage_graph import PassageGraphs, ScopeGraphs
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.held_out import (
    Evidence,
    Method,
    held_out,
    held_out_within,
    joined,
    trust,
)
from gsum_assets.retrieval.hybrid import min_max
from gsum_assets.retrieval.ranking import DEPTH, Retriever, Scores, first_of
from gsum_resources.store.arrow import pc
from gsum_resources.store.content_hash import numbers_of

SCALE = 75
"""Documents among which a community is denser than expected; fewer give more and smaller ones."""

SPREAD = 0.1
"""Loss of a passage for each better one of its document, at full trust."""

_SPREAD_AMONG = 4 * DEPTH


N_RESTARTS, POWER = 30, 3.0
"""Best passages at which a walk restarts, and the exponent of their scaled scores as weights."""

RESTART = 0.1
"""Probability of a restart."""

WEIGHT = 0.9
"""Weight of the walk at full trust."""


class PassageWalk:
    """Retriever that combines seeds and a random walk from them, weighted by trust.

    Graphs have edges in both directions. `trust` is that in the graph of chunks and in that of
    documents, 0 to 1; `owners` the document of each chunk, `(n_chunks,)`; `community` that of each
    document, numbered from 0, `(n_documents,)`.
    """

    def __init__(
        self,
        seeds: Retriever,
        graphs: ScopeGraphs,
        trust: tuple[float, float],
        owners: np.ndarray,
        community: np.ndarray,
    ) -> None:
        self._seeds, self._graphs, self._trust = seeds, graphs, trust
        self._owners, self._community = owners, community

    def scores(self, questions: Questions) -> Scores:
        """Return scores between 0 and 2; those of a community are added to its chunks, too."""
        seeds = self._seeds.scores(questions)
        in_nodes, in_documents = self._trust
        nodes = walked(self._graphs.nodes, seeds.nodes, in_nodes)
        weight = WEIGHT * in_documents
        if not weight:
            return Scores(nodes, min_max(seeds.documents))
        walks = _scaled_walks(self._graphs.documents, seeds.documents)
        means = means_of(walks, self._community)
        together = weight * means / means.max(axis=1, keepdims=True)
        documents = (1 - weight) * min_max(seeds.documents) + weight * walks + together
        nodes += together[:, self._owners]
        for row in nodes:
            spread_out(row, self._owners, SPREAD * in_documents)
        return Scores(nodes, documents)


def spread_out(scores: np.ndarray, owners: np.ndarray, step: float) -> None:
    """Lower the scores of the best passages in place, by a `step` for each better one.

    `scores` are for one question, `owners` the document of each passage, both `(n_passages,)`.
    """
    n_better: Counter[int] = Counter()
    for passage in first_of(scores, _SPREAD_AMONG).tolist():
        owner = int(owners[passage])
        scores[passage] -= step * n_better[owner]
        n_better[owner] += 1


def walked(graph: WalkGraph, seeds: np.ndarray, trust: float) -> np.ndarray:
    """Return the weighted scores of seeds and walk, scaled to 0 to 1, `(n_questions, n_passages)`.

    A trust of 0 keeps the order of the seeds; 1 gives the walk its maximum weight.
    """
    weight = WEIGHT * trust
    if not weight:
        return min_max(seeds)
    return (1 - weight) * min_max(seeds) + weight * _scaled_walks(graph, seeds)


def _scaled_walks(graph: WalkGraph, seeds: np.ndarray) -> np.ndarray:
    """Return the walks of each question, scaled to at most 1, `(n_questions, n_passages)`."""
    walks = np.array([walk_from(graph, row) for row in seeds]).reshape(seeds.shape)
    return walks / walks.max(axis=1, keepdims=True)


def walk_from(graph: WalkGraph, seeds: np.ndarray) -> np.ndarray:
    """Return the PageRank with restarts at the best of `seeds`, `(n_passages,)`."""
    best, weights = peaked(seeds, N_RESTARTS, POWER)
    return np.round(personalized_pagerank(graph, best, weights, RESTART), DECIMALS)


def peaked(scores: np.ndarray, n: int, power: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the best `n` passages for a question and their restart weights.

    The weights are the scores scaled to 0 to 1 over these passages, raised to `power`.
    """
    best = first_of(scores, n)
    best_scores = scores[best].astype(np.float64)
    span = best_scores[0] - best_scores[-1]
    if not span > 0:
        return best, np.ones(len(best))
    return best, ((best_scores - best_scores[-1]) / span) ** power


def communities(documents: WalkGraph, document_ids: Sequence[str], scale: int = SCALE) -> pa.Table:
    """Return the rows of `lightpal.communities` of a graph of documents, by Leiden's algorithm.

    The resolution grows with the corpus, so that communities stay as dense as before.
    """
    resolution = max(1.0, len(document_ids) / scale)
    edges = documents.sources, documents.targets, documents.weights
    members = leiden(len(document_ids), *edges, resolution)
    ids = pa.array(document_ids, pa.string())
    names = named_by_members(members, numbers_of(ids))
    schema = TABLES["lightpal.communities"].schema
    return pa.table({"document_id": ids, "community": names}, schema=schema)


def community_of(rows: pa.Table, document_ids: Sequence[str]) -> np.ndarray:
    """Return the community of each document, numbered from 0, `(n_documents,)`.

    A document without a row of `lightpal.communities` is a community of its own.
    """
    ids = pa.array(document_ids, pa.string())
    named = rows["community"].take(pc.index_in(ids, rows["document_id"].combine_chunks()))
    alone = pa.array(-1 - np.arange(len(ids)))  # names in the table are not negative
    names = pc.coalesce(named.combine_chunks(), alone)
    return np.unique(names.to_numpy(), return_inverse=True)[1]


def means_of(scores: np.ndarray, community: np.ndarray) -> np.ndarray:
    """Return for each document the mean score of its community, `(n_questions, n_documents)`."""
    order = np.argsort(community, kind="stable")
    sizes = np.bincount(community)
    starts = np.cumsum(sizes) - sizes
    return (np.add.reduceat(scores[:, order], starts, axis=1) / sizes)[:, community]


def walk_trust(
    collection: Collection, graphs: PassageGraphs, language: str, n_probes: int
) -> pa.Table:
    """Return the rows of `lightpal.walk_trust`: documents, all chunks, chunks of one document.

    `n_probes` passages are held out and searched for.
    """

    def walks(graph: WalkGraph) -> Method:
        return lambda rows: np.array([walk_from(graph, row) for row in rows])

    whole = graphs.walked(collection, "corpus")
    documents, nodes = [], []
    for probes in held_out(collection, language, n_probes):
        documents.append(probes.of_documents(walks(whole.documents)))
        nodes.append(probes.of_nodes(walks(whole.nodes)))
    within = [
        probes.of_nodes(walks(graphs.walked(document, "document").nodes))
        for document, _, probes in held_out_within(collection, language, n_probes)
    ]
    rows = [
        _trust_row("document", "corpus", joined(documents)),
        _trust_row("node", "corpus", joined(nodes)),
        _trust_row("node", "document", joined(within)),
    ]
    return pa.Table.from_pylist(rows, TABLES["lightpal.walk_trust"].schema)


def _trust_row(level: str, scope: str, evidence: Evidence) -> dict:
    n = len(evidence.method)
    return {
        "level": level,
        "scope": scope,
        "n_probes": n,
        "walk_evidence": float(evidence.method.mean()) if n else 0.0,
        "seed_evidence": float(evidence.seeds.mean()) if n else 0.0,
        "trust": trust(evidence),
    }
