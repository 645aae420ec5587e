"""What speaks for a passage: the probability that it loses if a feature were average."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from gsum_assets.evidence.network import Model, among, within_reach

N_SHOWN = 3
N_EXPLAINED = 50
"""Passages of a question, most probable first, that have reasons; answers read fewer."""

_LEAST = 0.005  # probability; less is not shown


def reasons(
    model: Model,
    scaled: np.ndarray,
    edges: Sequence[np.ndarray],
    probabilities: np.ndarray,
    chosen: np.ndarray,
) -> list[list[str]]:
    """Return the strongest reasons for each chosen passage, as "best sentence +0.21".

    A feature is replaced by its mean in all passages and all its forms at once.
    """
    near = within_reach(chosen, edges, model.n_layers)
    places = np.searchsorted(near, chosen)
    probabilities, scaled, edges = probabilities[chosen], scaled[near], among(near, edges)
    group_of = np.array([name.partition(":")[0] for name in model.names])
    groups = list(dict.fromkeys(group_of.tolist()))
    losses = np.empty((len(probabilities), len(groups)))
    for column, group in enumerate(groups):
        without = np.where(group_of == group, np.float32(0), scaled)
        losses[:, column] = probabilities - model.probabilities(without, edges)[places]
    best = np.argsort(-losses.round(6), axis=1, kind="stable")[:, :N_SHOWN]
    return [
        [f"{groups[i]} {loss[i]:+.2f}" for i in order if loss[i] >= _LEAST]
        for order, loss in zip(best, losses, strict=True)
    ]


def explained(probabilities: pa.Table, contexts: pa.Table) -> str:
    """Return the passages that were read with their probabilities and reasons, as text."""
    judged = {row["chunk_id"]: row for row in probabilities.to_pylist()}
    read = contexts.sort_by("rank").to_pylist()
    total = sum(row["probability"] for row in judged.values())
    lines = [
        f"passages read: {len(read)} of {len(judged)} judged, "
        f"{total:.1f} of which are expected to hold evidence"
    ]
    for row in read:
        # a passage that was found when its document was searched alone is not judged
        if judgement := judged.get(row["node_id"]):
            because = ", ".join(judgement["reasons"]) or "no single feature"
            location = f"{row['document_id']}, passage {row['position']}"
            lines.append(
                f"  {judgement['probability']:5.2f}  {location} ({row['node_id']}): {because}"
            )
    return "\n".join(lines)
