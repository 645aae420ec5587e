"""Batches without padding: only windows of exactly one length share a batch."""

from collections.abc import Iterator, Sequence

import numpy as np


def equal_length_batches(lengths: Sequence[int], batch_tokens: int) -> Iterator[np.ndarray]:
    """Indices of windows to run together, longest first.

    All windows of a batch have the same length, so no multiplication is spent on padding, no
    attention mask is needed, and what one text gets does not depend on how long its neighbours
    are.

    Parameters
    ----------
    lengths : tokens of each window, special tokens included.
    batch_tokens : most tokens in a batch; a window longer than that runs alone.
    """
    lengths_array = np.asarray(lengths, np.int64)
    order = np.argsort(-lengths_array, kind="stable")
    edges = np.flatnonzero(np.diff(lengths_array[order])) + 1
    for group in np.split(order, edges):
        if len(group):
            rows = max(1, batch_tokens // int(lengths_array[group[0]]))
            for start in range(0, len(group), rows):
                yield group[start : start + rows]
