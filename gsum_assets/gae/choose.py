"""Choice of the clustering to re-rank by, and of its weight, without labels (ours).

Two criteria are used. Agreement: held-out passages serve as queries, and an independent retriever
values the results that re-ranking moves up (`retrieval/held_out.py`). Stability: the share of a
clustering that is found again when a tenth of the passages is left out.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from gsum_assets.gae.clusters import Clusterer
from gsum_assets.gae.rerank import reranked
from gsum_assets.gae.settings import ClusterSettings, RerankSettings
from gsum_assets.retrieval.collection import Collection
from gsum_assets.retrieval.held_out import Method, held_out, held_out_within, joined, t_value
from gsum_assets.retrieval.hybrid import min_max

_JUDGED_AT = 5  # K for held-out passages: 50 candidates are re-ranked
_LEFT_OUT = 0.1
_BY_CHANCE = 2.0  # t value that chance exceeds in one of twenty cases
_RESAMPLES = 3

Labels = Mapping[str, np.ndarray]
"""Cluster of each passage, `(n_passages,)`, by name of the clustering."""


class Verdict(NamedTuple):
    """Label-free quality measures of a clustering.

    Attributes
    ----------
    agreement : paired t statistic of the results after re-ranking versus before; 0 without
        evidence.
    stability : Jaccard similarity of the pairs that share a cluster, 0 to 1.
    is_split : whether no cluster has over half of the passages, and not every passage is alone.
    """

    agreement: float
    stability: float
    is_split: bool = True


def agreements(
    collection: Collection,
    documents: Labels,
    nodes: Labels,
    language: str,
    settings: ClusterSettings,
) -> Iterator[tuple[str, str, str, float]]:
    """Yield level, scope, clustering and agreement of every clustering.

    Parameters
    ----------
    documents, nodes : clusters of the collection's documents and of its chunks.
    language : BCP 47 code.
    """
    whole = held_out(collection, language, settings.n_probes)
    for name, labels in documents.items():
        yield "document", "corpus", name, t_value(whole.of_documents(_reranks(labels)))
    for name, labels in nodes.items():
        yield "node", "corpus", name, t_value(whole.of_nodes(_reranks(labels)))
    within = list(held_out_within(collection, language, settings.n_probes))
    for name, labels in nodes.items():
        scores = [probes.of_nodes(_reranks(labels[chunks])) for _, chunks, probes in within]
        yield "node", "document", name, t_value(joined(scores))


def _reranks(labels: np.ndarray) -> Method:
    return lambda scores: reranked(min_max(scores), labels, _JUDGED_AT, RerankSettings())


def chosen(verdicts: Mapping[str, Verdict]) -> str:
    """Return the name of the clustering with the greatest agreement times stability.

    If no agreement is positive, the one with the largest agreement wins, then the most stable. A
    clustering that is not split is chosen only if none is.
    """

    def merit(name: str) -> tuple[bool, float, float, float]:
        agreement, stable, is_split = verdicts[name]
        return is_split, max(0.0, agreement) * stable, min(0.0, agreement), stable

    return max(verdicts, key=merit)


def weight_of(agreement: float) -> float:
    """Return max(0, 1 - (2 / t)^2), or 0 if t is not positive: effects within chance weigh 0."""
    return max(0.0, 1 - (_BY_CHANCE / agreement) ** 2) if agreement > 0 else 0.0


def stability(clusterer: Clusterer, labels: np.ndarray, seed: int = 0) -> float:
    """Return the Jaccard similarity of pairs in a cluster with and without a tenth of the passages.

    It is the mean of three draws; 1 if no pair shares a cluster either way.
    """
    random = np.random.default_rng(seed)
    n = len(labels)
    similarities = []
    for _ in range(_RESAMPLES):
        subset = np.flatnonzero(random.random(n) >= _LEFT_OUT)
        if len(subset):
            before, after = labels[subset], clusterer(subset)
            n_both = n_pairs(before * (int(after.max(initial=0)) + 1) + after)
            n_either = n_pairs(before) + n_pairs(after) - n_both
            similarities.append(n_both / n_either if n_either else 1.0)
    return float(np.mean(similarities)) if similarities else 1.0


def n_pairs(labels: np.ndarray) -> int:
    """Return the number of pairs that share a label."""
    counts = np.unique(labels, return_counts=True)[1].astype(np.int64)
    return int((counts * (counts - 1) // 2).sum())
