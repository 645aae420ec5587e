"""BERTScore (Zhang et al., 2020): similarity of two texts by matching their tokens.

Equal to the package `bert-score` 0.3.13 with `batch_size=1`, without idf weights and rescaling: in
larger batches its padding takes part in each maximum, which matters for texts of one or two words.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from gsum_resources.embedding.token_embeddings import TokenVectors

_BLOCK_TOKENS = 2048  # candidate tokens in one matrix product


class BertScore(NamedTuple):
    """Scores, each float32 `(n_references, n_candidates)`; 0 if a text has no tokens."""

    precision: np.ndarray
    recall: np.ndarray
    f1: np.ndarray


class _Block(NamedTuple):
    """A batch of candidates, padded with copies of their first token, which have weight 0."""

    candidates: np.ndarray  # (n,)
    vectors: np.ndarray  # (n, length, dim)
    weights: np.ndarray  # (n, length), each row sums to 1


def bertscore(references: Sequence[TokenVectors], candidates: Sequence[TokenVectors]) -> BertScore:
    """Return the scores of every pair of texts, with torch's current number of threads.

    Precision is the mean over the candidate's tokens of the best cosine with a token of the
    reference, recall the same with roles exchanged, F1 their harmonic mean.
    """
    import torch

    shape = (len(references), len(candidates))
    precision, recall = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
    nonempty = [(row, text) for row, text in enumerate(references) if text.counted.any()]
    with torch.inference_mode():
        for block in _blocks(candidates):
            vectors = torch.from_numpy(block.vectors)
            n, length, dim = vectors.shape
            for row, reference in nonempty:
                tokens = torch.from_numpy(reference.vectors)  # (m, dim)
                cosines = (tokens @ vectors.view(-1, dim).T).view(-1, n, length)  # (m, n, length)
                best = cosines.amax(0) * torch.from_numpy(block.weights)
                precision[row, block.candidates] = best.sum(1).numpy()
                weights = torch.from_numpy(_weights(reference))
                recall[row, block.candidates] = (weights @ cosines.amax(2)).numpy()
    total = precision + recall
    f1 = np.divide(2 * precision * recall, total, out=np.zeros_like(total), where=total != 0)
    return BertScore(precision, recall, f1)


def _blocks(texts: Sequence[TokenVectors]) -> Iterator[_Block]:
    """Yield the texts with tokens, shortest first, in blocks of about `_BLOCK_TOKENS`."""
    lengths = np.array([len(text.vectors) if text.counted.any() else 0 for text in texts], int)
    order = np.argsort(lengths, kind="stable")
    order = order[lengths[order] > 0]
    while len(order):
        padded = lengths[order] * np.arange(1, len(order) + 1)
        n = max(1, int(np.searchsorted(padded, _BLOCK_TOKENS, side="right")))
        length, dim = texts[order[n - 1]].vectors.shape  # of the longest text of the block
        vectors = np.empty((n, length, dim), np.float32)
        weights = np.zeros((n, length), np.float32)
        for row, index in enumerate(order[:n]):
            text = texts[index]
            n_tokens = len(text.vectors)
            vectors[row, :n_tokens] = text.vectors
            vectors[row, n_tokens:] = text.vectors[0]
            weights[row, :n_tokens] = _weights(text)
        yield _Block(order[:n], vectors, weights)
        order = order[n:]


def _weights(text: TokenVectors) -> np.ndarray:
    """Return the weight of each token in the mean, `(n_tokens,)`."""
    return (text.counted / text.counted.sum()).astype(np.float32)
