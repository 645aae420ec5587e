"""Batches of windows whose shape depends only on the length of each window."""

from collections.abc import Iterator

import numpy as np

# Small enough that padding costs little, large enough that sentences share batches.
_LENGTH_STEP = 8


def run_lengths(lengths: np.ndarray, full_length: int) -> np.ndarray:
    """Return the padded length of each window in tokens, `(n_windows,)`.

    A full window of `full_length` tokens is not padded. A shorter one is padded to the next
    multiple of 8 above its own length, so that sums over its tokens always run in the same order.
    """
    padded = (lengths // _LENGTH_STEP + 1) * _LENGTH_STEP
    return np.maximum(lengths, np.minimum(padded, full_length))


def equal_form_batches(
    lengths: np.ndarray, full_length: int, batch_tokens: int
) -> Iterator[tuple[int, np.ndarray]]:
    """Yield (padded length in tokens, indices of windows), longest first.

    Full windows never share a batch with padded ones of the same length: a batch without padding
    needs no attention mask and uses another kernel. A batch has at most `batch_tokens` tokens,
    padding included; a longer window runs alone.
    """
    runs = run_lengths(lengths, full_length)
    form = 2 * runs + (runs == lengths)
    order = np.argsort(-form, kind="stable")
    edges = np.flatnonzero(np.diff(form[order])) + 1
    for group in np.split(order, edges) if len(order) else []:
        run = int(runs[group[0]])
        rows = max(1, batch_tokens // run)
        for start in range(0, len(group), rows):
            yield run, group[start : start + rows]
