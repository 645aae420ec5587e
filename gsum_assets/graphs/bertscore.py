"""BERTScore (Zhang et al., 2020): how well the tokens of two texts match each other.

Equal to the `bert-score` package 0.3.13 without idf weights and without rescaling: a text may be
matched against the special tokens of the other, but is not asked about its own. One thing differs:
in the package's batches the zeros of the padding take part in each maximum, so that a token all of
whose cosines are negative gets 0 or not depending on what else is in the batch. That concerns
texts of a word or two. Pair by pair (`batch_size=1`) the package has no padding and agrees.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from gsum_resources.token_embeddings import TokenVectors

# Candidate tokens in one matrix product. 1,000 to 4,000 ran alike; whole meetings and single
# passages were slower by a tenth.
_BLOCK_TOKENS = 2048


class ScoreMemo(Protocol):
    """Bytes by 16-byte key; `gsum_resources.memo.Memo` is one."""

    def get(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """The values of those keys that are known."""
        ...

    def put(self, items: Mapping[bytes, bytes]) -> None:
        """Keep `items`."""
        ...


class BertScore(NamedTuple):
    """Each float32 `(n_references, n_candidates)`; 0 where a text has no tokens."""

    precision: np.ndarray
    recall: np.ndarray
    f1: np.ndarray


class _Block(NamedTuple):
    """Candidates of similar length side by side.

    A shorter one is filled up with copies of its first token, which leave every maximum as it
    is, and weigh nothing.
    """

    candidates: np.ndarray  # (n,)
    vectors: np.ndarray  # (n, length, dim)
    weights: np.ndarray  # (n, length), each row sums to 1


def bertscore(references: Sequence[TokenVectors], candidates: Sequence[TokenVectors]) -> BertScore:
    """Every candidate against every reference, on torch's present number of threads.

    Precision is the mean over the candidate's tokens of the best cosine with a token of the
    reference, recall the same the other way round, F1 their harmonic mean.
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
    """Those with tokens of their own, shortest first, about `_BLOCK_TOKENS` together."""
    lengths = np.array([len(text.vectors) if text.counted.any() else 0 for text in texts], int)
    order = np.argsort(lengths, kind="stable")
    order = order[lengths[order] > 0]
    while len(order):
        padded = lengths[order] * np.arange(1, len(order) + 1)
        n = max(1, int(np.searchsorted(padded, _BLOCK_TOKENS, side="right")))
        yield _block(texts, order[:n])
        order = order[n:]


def _block(texts: Sequence[TokenVectors], chosen: np.ndarray) -> _Block:
    """The texts `chosen`, whose last is the longest."""
    length, dim = texts[chosen[-1]].vectors.shape
    vectors = np.empty((len(chosen), length, dim), np.float32)
    weights = np.zeros((len(chosen), length), np.float32)
    for row, index in enumerate(chosen):
        text = texts[index]
        n_tokens = len(text.vectors)
        vectors[row, :n_tokens] = text.vectors
        vectors[row, n_tokens:] = text.vectors[0]
        weights[row, :n_tokens] = _weights(text)
    return _Block(chosen, vectors, weights)


def _weights(text: TokenVectors) -> np.ndarray:
    """The share of each token in the mean, `(n_tokens,)`."""
    return (text.counted / text.counted.sum()).astype(np.float32)
