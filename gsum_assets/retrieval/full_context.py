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
    chunk_tokens: Sequence[int] | np.ndarray,
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
    longest = np.max(chunk_tokens, initial=0)
    if longest > window_tokens:
        raise ValueError(
            f"full_context: a chunk of {longest} tokens exceeds the window of "
            f"{window_tokens}; cut shorter chunks or use a model with a longer window"
        )
    tokens = np.asarray(chunk_tokens, dtype=np.int64)
    # tokens added by earlier chunks; the first chunk of a run counts in full
    before = np.append(0, np.cumsum(np.maximum(tokens - overlap_tokens, 0)))
    room = before[1:] + window_tokens - tokens
    # the end of the longest run from each chunk, up to the first run that reaches the end
    stops = np.searchsorted(before, room, side="right") - 1
    stops = stops[: np.append(stops == len(tokens), True).argmax() + 1]
    chosen = np.arange(len(stops))
    if len(stops) > n_spans:
        chosen = np.random.default_rng(seed).choice(len(stops), size=n_spans, replace=False)
    return [range(start, int(stops[start])) for start in sorted(chosen.tolist())]
