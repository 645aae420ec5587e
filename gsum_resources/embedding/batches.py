"""Batches of windows whose shape depends only on the length of each window."""

from collections.abc import Iterator

import numpy as np

# Small enough that padding costs little, large enough that sentences share batches.
_LENGTH_STEP = 8

# Matrix libraries use different kernels for few rows, which round differently: the vector of a text
# would depend on the other texts of its batch. From these sizes on, rows were bitwise equal at
# every batch size tried: the packaged model, MKL and oneDNN with AVX2, AVX-512 and AMX, one and two
# threads. A small input runs on one thread, and may not exceed 88 tokens.
_TOKENS_PER_THREAD = {"float32": 128, "bfloat16": 512}
_SMALL_INPUT_TOKENS = 64
_TOKENS_OF_SMALL = {"float32": 64, "bfloat16": 512}


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
    yield from batches_of(2 * runs + (runs == lengths), runs, batch_tokens)


def filled_up(n_windows: int, run_length: int, precision: str, threads: int) -> tuple[int, int]:
    """Return (rows, threads) of a CPU batch such that results do not depend on its other rows.

    Additional rows repeat the windows, of `run_length` tokens each, padding included.
    """
    tokens = _TOKENS_PER_THREAD[precision] * threads
    if n_windows * run_length <= _SMALL_INPUT_TOKENS:
        tokens, threads = _TOKENS_OF_SMALL[precision], 1
    return max(n_windows, -(-tokens // run_length)), threads


def batches_of(
    form: np.ndarray, runs: np.ndarray, batch_tokens: int
) -> Iterator[tuple[int, np.ndarray]]:
    """Yield (length in tokens, indices) of windows equal in `form`, greatest form first."""
    order = np.argsort(-form, kind="stable")
    edges = np.flatnonzero(np.diff(form[order])) + 1
    for group in np.split(order, edges) if len(order) else []:
        run = int(runs[group[0]])
        rows = max(1, batch_tokens // run)
        for start in range(0, len(group), rows):
            yield run, group[start : start + rows]
