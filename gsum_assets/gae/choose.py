"""Which clustering to re-rank by, and how far to follow it, judged without labels (ours).

Two things are looked at. Agreement: passages are held out and searched for, and what re-ranking
brings to the front is valued by a retriever that took no part (`retrieval/held_out.py`).
Stability: how much of a clustering is found again when a tenth of the passages is left out.
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

_JUDGED_AT = 5  # K of the probes: 50 candidates are re-ranked
_LEFT_OUT = 0.1
_BY_CHANCE = 2.0  # a t that chance exceeds in one of twenty cases
_RESAMPLES = 3

Labels = Mapping[str, np.ndarray]
"""Cluster of each passage, `(n_passages,)`, by clustering."""


class Verdict(NamedTuple):
    """What is known of a clustering without labels.

    Attributes
    ----------
    agreement : paired t of what re-ranking finds over what it was given; 0 without evidence.
    stability : Jaccard similarity of the pairs that are together, 0 to 1.
    parts : whether it parts the passages: no cluster has over half, nor is each alone.
    """

    agreement: float
    stability: float
    parts: bool = True


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
    documents, nodes : of the collection's documents and of its chunks.
    language : BCP 47 code.
    """
    whole = held_out(collection, language, settings.n_probes)
    for name, labels in documents.items():
        yield "document", "corpus", name, t_value(whole.of_documents(_reranks(labels)))
    for name, labels in nodes.items():
        yield "node", "corpus", name, t_value(whole.of_nodes(_reranks(labels)))
    within = list(held_out_within(collection, language, settings.n_probes))
    for name, labels in nodes.items():
        found = [part.of_nodes(_reranks(labels[chunks])) for _, chunks, part in within]
        yield "node", "document", name, t_value(joined(found))


def _reranks(labels: np.ndarray) -> Method:
    return lambda scores: reranked(min_max(scores), labels, _JUDGED_AT, RerankSettings())


def chosen(verdicts: Mapping[str, Verdict]) -> str:
    """Return the clustering of greatest agreement times stability.

    Where none agrees, that which disagrees least, and then the most stable; one that parts nothing
    only where all are so.
    """

    def merit(name: str) -> tuple[bool, float, float, float]:
        agreement, stable, parts = verdicts[name]
        return parts, max(0.0, agreement) * stable, min(0.0, agreement), stable

    return max(verdicts, key=merit)


def weight_of(agreement: float) -> float:
    """max(0, 1 - (2 / t)^2), 0 where t is not positive: what chance may explain weighs nothing."""
    return max(0.0, 1 - (_BY_CHANCE / agreement) ** 2) if agreement > 0 else 0.0


def stability(clusterer: Clusterer, labels: np.ndarray, seed: int = 0) -> float:
    """Return the Jaccard similarity of the pairs that are together with and without a tenth of the passages.

    The mean of three draws; 1 where no pair is together either way.
    """
    random = np.random.default_rng(seed)
    n = len(labels)
    found = []
    for _ in range(_RESAMPLES):
        kept = np.flatnonzero(random.random(n) >= _LEFT_OUT)
        if len(kept):
            found.append(_jaccard(labels[kept], clusterer(kept)))
    return float(np.mean(found)) if found else 1.0


def _jaccard(left: np.ndarray, right: np.ndarray) -> float:
    """Return pairs together in both over pairs together in either."""
    both = n_pairs(left * (int(right.max(initial=0)) + 1) + right)
    either = n_pairs(left) + n_pairs(right) - both
    return both / either if either else 1.0


def n_pairs(labels: np.ndarray) -> int:
    """Return pairs that share a label."""
    counts = np.unique(labels, return_counts=True)[1].astype(np.int64)
    return int((counts * (counts - 1) // 2).sum())
