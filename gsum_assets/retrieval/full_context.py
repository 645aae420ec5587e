"""Full-context baseline: no retrieval, the language model reads the document itself.

If the document exceeds the model's window, several contiguous spans of it are drawn at random and
summarized separately; their scores are averaged (Graph of Records, appendix on baselines).
"""

from collections.abc import Sequence

import numpy as np

from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.ranking import Scores, best_of_nodes


class FullContext:
    """Retriever that ranks everything in reading order."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection

    def scores(self, questions: Questions) -> Scores:
        """Return scores from 1 for the first chunk towards 0, equal for every question."""
        n_chunks = len(self._collection.chunk_ids)
        nodes = np.tile(1 - np.arange(n_chunks) / max(n_chunks, 1), (len(questions), 1))
        return Scores(nodes, best_of_nodes(nodes, self._collection))


def spans(
    chunk_tokens: Sequence[int],
    window_tokens: int,
    n_spans: int,
    seed: int,
    overlap_tokens: int = 0,
) -> list[range]:
    """Return contiguous runs of chunks that fill the window, at random positions.

    Parameters
    ----------
    chunk_tokens : tokens of each chunk of the document, in reading order.
    window_tokens : maximum number of tokens of a span.
    n_spans : number of spans; fewer are returned if fewer differ.
    seed : seed of the positions; derive it from the document's id.
    overlap_tokens : tokens that a chunk repeats of the previous one, counted once within a span.

    Returns
    -------
    Ranges of chunk numbers, ascending. One range over all chunks if the document fits; none for a
    document without chunks. Every span is as long as the window allows: one chunk more, on
    either side of the last span or after any other, would not fit.

    Raises
    ------
    ValueError
        If a chunk alone exceeds the window, or `n_spans` is less than 1.
    """
    if n_spans < 1:
        raise ValueError(f"full_context: n_spans is {n_spans}; use at least 1")
    if max(chunk_tokens, default=0) > window_tokens:
        raise ValueError(
            f"full_context: a chunk of {max(chunk_tokens)} tokens exceeds the window of "
            f"{window_tokens}; cut shorter chunks or use a model with a longer window"
        )
    runs = _longest_runs(chunk_tokens, window_tokens, overlap_tokens)
    if len(runs) <= n_spans:
        return runs
    chosen = np.random.default_rng(seed).choice(len(runs), size=n_spans, replace=False)
    return [runs[i] for i in sorted(chosen)]


def _longest_runs(chunk_tokens: Sequence[int], window: int, overlap: int) -> list[range]:
    """Return the longest run from each chunk, up to the first run that reaches the end."""
    added = np.maximum(np.asarray(chunk_tokens, dtype=np.int64) - overlap, 0)
    before = np.concatenate([[0], np.cumsum(added)])  # tokens added by all chunks before number i
    runs: list[range] = []
    for start, tokens in enumerate(chunk_tokens):  # the first chunk of a run counts in full
        room = before[start + 1] + window - tokens
        runs.append(range(start, int(np.searchsorted(before, room, side="right")) - 1))
        if runs[-1].stop == len(chunk_tokens):
            break
    return runs
