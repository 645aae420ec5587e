"""Weight of re-ranking by clusters, without labels (ours).

Held-out passages serve as queries, and an independent retriever values the results that re-ranking
moves up (`retrieval/held_out.py`).
"""

import numpy as np

from gsum_assets.gae.rerank import reranked
from gsum_assets.gae.settings import RerankSettings
from gsum_assets.retrieval.collection import Collection
from gsum_assets.retrieval.held_out import held_out, held_out_within, joined, t_value
from gsum_assets.retrieval.hybrid import min_max

_JUDGED_AT = 5  # K for held-out passages: 50 candidates are re-ranked
_BY_CHANCE = 2.0  # t value that chance exceeds in one of twenty cases


def agreements(
    collection: Collection, clusters: np.ndarray, language: str, n_probes: int
) -> dict[str, float]:
    """Return the paired t of results after re-ranking and before; 0 without evidence.

    Parameters
    ----------
    collection : with embeddings.
    clusters : cluster of each chunk, `(n_chunks,)`.
    language : BCP 47 code.

    Returns
    -------
    By scope of questions: `corpus`, and `document`, a single one.
    """

    def rerank_by(labels: np.ndarray, scores: np.ndarray) -> np.ndarray:
        return reranked(min_max(scores), labels, _JUDGED_AT, RerankSettings())

    whole = held_out(collection, language, n_probes)
    within = [
        probes.of_nodes(lambda scores, chunks=chunks: rerank_by(clusters[chunks], scores))
        for _, chunks, probes in held_out_within(collection, language, n_probes)
    ]
    return {
        "corpus": float(t_value(whole.of_nodes(lambda scores: rerank_by(clusters, scores)))),
        "document": float(t_value(joined(within))),
    }


def weight_of(agreement: float) -> float:
    """Return max(0, 1 - (2 / t)^2), or 0 if t is not positive: effects within chance weigh 0."""
    return max(0.0, 1 - (_BY_CHANCE / agreement) ** 2) if agreement > 0 else 0.0
