"""Batches of windows whose form depends on nothing but each window's own length."""

from collections.abc import Iterator

import numpy as np

from gsum_resources.embedding.processor import mkl_has_avx512

# Fine enough that padding costs little, coarse enough that a few sentences share their batches.
_LENGTH_STEP = 8

# Matrix libraries take other kernels for few rows, whose sums round differently: a text alone would
# differ in the last bits from the same text among others, and an incremental rebuild from a full
# one. So a batch has at least this many tokens a thread. A handful, such as one question, runs on
# one thread instead, where `_fewest_tokens` are enough. From these sizes on, rows came out alike
# to the last bit at every batch size tried: the packaged model, MKL and oneDNN with AVX2, AVX-512
# and AMX, one and two threads. A handful may not be more than 88 tokens: with AVX2, windows of 96
# differ between one thread and two.
_TOKENS_PER_THREAD = {"float32": 128, "bfloat16": 512}
_HANDFUL_TOKENS = 64


def run_lengths(lengths: np.ndarray, full_length: int) -> np.ndarray:
    """Return the tokens at which windows are run, padding included, `(n_windows,)`.

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


def filled_up(n_windows: int, run_length: int, precision: str, threads: int) -> tuple[int, int]:
    """(rows, threads) at which a batch runs on a processor, so that company does not matter.

    Rows beyond the windows repeat them. With AVX-512 a question alone costs its own tokens only.

    Parameters
    ----------
    run_length : tokens of each window, padding included.
    precision : "float32" or "bfloat16".
    threads : that there are.
    """
    tokens = _TOKENS_PER_THREAD[precision] * threads
    if n_windows * run_length <= _HANDFUL_TOKENS:
        tokens, threads = _fewest_tokens(precision), 1
    return max(n_windows, -(-tokens // run_length)), threads


def _fewest_tokens(precision: str) -> int:
    """Return the fewest that may run on one thread; half of these failed."""
    if precision == "float32":
        return 16 if mkl_has_avx512() else 64
    return _TOKENS_PER_THREAD[precision]


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
