"""Checks of record graphs and of the networks trained on them."""

import pyarrow as pa

from gsum_assets.pipeline.result import SHOWN, Check, Finding, count, found
from gsum_assets.statistics.comparisons import SIGNIFICANT, can_differ, compare
from gsum_resources.store.arrow import pc


def loss_falls(log: pa.Table) -> Finding:
    """Check that losses are finite and that the last epoch's loss is below the first's."""
    examined = count(log.num_rows, "epoch")
    if log.num_rows < 2:
        return Finding(examined)
    losses = log.sort_by("epoch")["loss"].to_numpy()
    wrong = log.filter(pc.invert(pc.is_finite(log["loss"])))
    if wrong.num_rows:
        return found(examined, wrong, "have a loss that is not finite; lower learning_rate")
    if losses[-1] < losses[0]:
        return Finding(examined)
    problem = (
        f"{examined}: the loss went from {losses[0]:.4g} to {losses[-1]:.4g}; inspect the curves "
        "of gor/training_log, and change learning_rate or epochs"
    )
    return Finding(examined, problem, 1, log.slice(0, SHOWN).to_pylist())


def training_helps(ranks: pa.Table) -> Finding:
    """Check that the network ranks passages of unseen documents better than dense retrieval does.

    The reciprocal ranks of each question's source among the chunks are compared. The check passes
    if nothing was trained or the questions are too few to show a difference.
    """
    unseen = ranks.filter(pc.invert(ranks["is_learnt"]))
    examined = f"{count(unseen.num_rows, 'question')} of documents not learnt from"
    is_untrained = unseen["rank"].equals(unseen["rank_before"])
    if is_untrained or not can_differ(unseen.num_rows):
        return Finding(examined)
    dense, trained = (1 / unseen[name].to_numpy() for name in ("chunk_rank_before", "chunk_rank"))
    found = compare(trained.tolist(), dense.tolist())
    is_different = found.p_value <= SIGNIFICANT
    if is_different and found.difference > 0:
        return Finding(examined)
    change = "falls" if is_different else "does not rise significantly"
    problem = (
        f"{examined}: mean reciprocal rank of the source among chunks {change}, from "
        f"{dense.mean():.3f} by dense retrieval to {trained.mean():.3f} by the network "
        f"(p = {found.p_value:.2g}): training finds passages no better than `dense`, which costs "
        "nothing; train on more documents, or take dense"
    )
    offender = {"dense": float(dense.mean()), "trained": float(trained.mean())}
    return Finding(examined, problem, 1, [offender | found._asdict()])


LOSS_FALLS = Check(
    "loss_falls",
    "Losses are finite, and the last epoch's loss is below the first's.",
    lambda partition: loss_falls(partition.rows()),
    warns=True,
)
TRAINING_HELPS = Check(
    "training_helps",
    "On documents not learnt from, the trained network ranks a question's source among the chunks "
    "higher than dense retrieval does.",
    lambda partition: training_helps(partition.rows()),
    warns=True,
)
