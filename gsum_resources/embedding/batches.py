"""Batches of windows whose form depends on nothing but each window's own length."""

from collections.abc import Iterator

import numpy as np

# Fine enough that padding costs little, coarse enough that a few sentences share their batches.
_LENGTH_STEP = 8


def run_lengths(lengths: np.ndarray, full_length: int) -> np.ndarray:
    """Tokens at which windows are run, padding included, `(n_windows,)`.

    A full window runs as it is. A shorter one is padded to the next multiple of 8 above its own
    length: to a length that its neighbours have no part in, unlike the usual padding to the
    longest of a batch. So sums over its tokens run in the same order in any company.

    Parameters
    ----------
    lengths : tokens of each window, special tokens included.
    full_length : the same of a full window.
    """
    padded = (lengths // _LENGTH_STEP + 1) * _LENGTH_STEP
    return np.maximum(lengths, np.minimum(padded, full_length))


def equal_form_batches(
    lengths: np.ndarray, full_length: int, batch_tokens: int
) -> Iterator[tuple[int, np.ndarray]]:
    """(tokens to run at, indices of windows), longest first.

    Full windows never share a batch with padded ones of the same length: a batch without padding
    needs no attention mask and takes another kernel.

    Parameters
    ----------
    lengths, full_length : see `run_lengths`.
    batch_tokens : most tokens in a batch, padding included; a longer window runs alone.
    """
    runs = run_lengths(lengths, full_length)
    yield from _batches_of(2 * runs + (runs == lengths), runs, batch_tokens)


def equal_length_batches(
    lengths: np.ndarray, batch_tokens: int
) -> Iterator[tuple[int, np.ndarray]]:
    """(tokens of each, indices of texts), longest first: batches without any padding.

    Parameters
    ----------
    lengths : tokens of each text, special tokens included.
    batch_tokens : most tokens in a batch; a longer text runs alone.
    """
    yield from _batches_of(lengths, lengths, batch_tokens)


def _batches_of(
    form: np.ndarray, runs: np.ndarray, batch_tokens: int
) -> Iterator[tuple[int, np.ndarray]]:
    """(tokens to run at, indices) of those alike in `form`, greatest form first."""
    order = np.argsort(-form, kind="stable")
    edges = np.flatnonzero(np.diff(form[order])) + 1
    for group in np.split(order, edges) if len(order) else []:
        run = int(runs[group[0]])
        rows = max(1, batch_tokens // run)
        for start in range(0, len(group), rows):
            yield run, group[start : start + rows]
