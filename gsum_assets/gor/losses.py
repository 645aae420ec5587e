"""Training losses: InfoNCE and pair-wise ranking (paper, section 2.3, equations 5 to 8).

L_RANK sums over all pairs in equation 7; `pairs = "mean"`, as in the authors' code, brings it to
the scale of L_CL. Losses are averaged over the questions of a graph, then over the graphs of a
batch. Import this module inside functions only.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import softplus

from gsum_assets.gor.encoders import Batch
from gsum_assets.gor.methods import LossForm

_PAIRS_AT_ONCE = 2**17  # fits the processor's cache, and bounds memory for long documents


class Losses(NamedTuple):
    """Means over the graphs of a batch of the means over their questions, in nats; scalars.

    Attributes
    ----------
    contrastive, ranking : the terms of `total`, before alpha, also where they are switched off.
    entropy : of the softmax over a question's similarities to its own graph's nodes (3.5).
    """

    total: Tensor
    contrastive: Tensor
    ranking: Tensor
    entropy: Tensor


def losses(nodes: Tensor, batch: Batch, form: LossForm) -> Losses:
    """Return the losses of node embeddings `(n_nodes, dim)` of a batch with a question (eq. 8)."""
    queries = batch.queries.to(nodes.dtype) / form.temperature
    scores = queries @ nodes.T  # (n_queries, n_nodes), log s of equation 5
    ranked = ranked_scores(scores, batch)
    contrastive = contrastive_loss(scores, ranked, form.in_batch)

    def mean(by_question: Tensor) -> Tensor:
        of_graph = by_question.split([len(ranks) for ranks in batch.rankings])
        return torch.stack([values.mean() for values in of_graph if len(values)]).mean()

    contrastive, ranking = mean(contrastive), mean(ranking_loss(ranked, form.pairs))
    zero = scores.new_zeros(())
    return Losses(
        total=(contrastive if form.contrastive else zero)
        + form.alpha * (ranking if form.ranking else zero),
        contrastive=contrastive,
        ranking=ranking,
        entropy=mean(entropy(ranked)),
    )


def ranked_scores(scores: Tensor, batch: Batch) -> list[Tensor]:
    """Return the similarities within each graph in the order of M_i, `(n_queries, n_nodes)`."""
    rows = scores.split([len(ranks) for ranks in batch.rankings])
    ends = np.cumsum([ranks.shape[1] for ranks in batch.rankings]).tolist()
    return [
        block[:, end - ranks.shape[1] : end].gather(1, ranks)
        for block, end, ranks in zip(rows, ends, batch.rankings, strict=True)
    ]


def contrastive_loss(scores: Tensor, ranked: Sequence[Tensor], in_batch: bool) -> Tensor:
    """Return each question's L_CL, `(n_queries,)` (equation 6).

    The first node of M_i is compared with all nodes of its graph or, `in_batch`, of the batch.
    """
    best = torch.cat([block[:, 0] for block in ranked])
    every = scores.logsumexp(1) if in_batch else torch.cat([block.logsumexp(1) for block in ranked])
    return every - best


def ranking_loss(ranked: Sequence[Tensor], pairs: str = "sum") -> Tensor:
    """Return each question's L_RANK, `(n_queries,)` (equation 7).

    It is log(1 + s_j / s_i) over the pairs of nodes with i before j in M_i.
    """
    losing = [_pair_sums(block) for block in ranked]  # (n_queries,) each
    if pairs == "mean":
        counts = [block.shape[1] * (block.shape[1] - 1) // 2 for block in ranked]
        losing = [sums / max(1, count) for sums, count in zip(losing, counts, strict=True)]
    return torch.cat(losing)


def entropy(ranked: Sequence[Tensor]) -> Tensor:
    """Return the entropy of a softmax over each question's own nodes, nats; no gradient."""
    logs = [block.detach().log_softmax(1) for block in ranked]
    return torch.cat([-(log.exp() * log).sum(1) for log in logs])


def _pair_sums(ranked: Tensor) -> Tensor:
    """Return each question's sum over pairs, `(n_queries,)`, for `ranked` `(n_queries, n_nodes)`.

    The gradient, sigmoid(s_j - s_i) for j and its negative for i, is accumulated in the same pass,
    so that the pairs of one block of rows are in memory at a time.
    """
    n_queries, n = ranked.shape
    total, slope = ranked.new_zeros(n_queries), torch.zeros_like(ranked)
    rows = max(1, _PAIRS_AT_ONCE // max(1, n_queries * n))
    with torch.no_grad():
        for first in range(0, n - 1, rows):
            last = min(first + rows, n - 1)
            # (n_queries, i, j): i counts from first, j from first + 1, so pairs have j >= i
            gaps = ranked[:, None, first + 1 :] - ranked[:, first:last, None]
            others = torch.ones_like(gaps[0, :, : last - first], dtype=torch.bool).tril(-1)
            gaps[:, :, : last - first].masked_fill_(others, -torch.inf)
            total += softplus(gaps).sum((1, 2))
            push = gaps.sigmoid_()
            slope[:, first + 1 :] += push.sum(1)
            slope[:, first:last] -= push.sum(2)
    # This has the value `total` and the gradient `slope`.
    linear = (slope * ranked).sum(1)
    return total + (linear - linear.detach())
