"""Importance of sentences: centrality, and relevance to a question."""

from collections.abc import Sequence

import numpy as np

from gsum_resources.text.reading import Reading
from gsum_resources.text.selection import SelectionSettings, readability
from gsum_resources.text.vocabulary import content_stems

_BLOCK = 2048  # sentences compared at once: bounds memory at 2048 x n floats


def centrality(vectors: np.ndarray, threshold: float = 0.2) -> np.ndarray:
    """Return the mean similarity above a threshold to other sentences, scaled to a maximum of 1.

    This is the degree form of LexRank (Erkan and Radev 2004, section 3.2) with embeddings instead
    of tf-idf, `(n_sentences,)` in 0..1.
    """
    degree = np.zeros(len(vectors))
    for start in range(0, len(vectors), _BLOCK):
        similarity = vectors[start : start + _BLOCK] @ vectors.T  # (block, n_sentences)
        degree[start : start + _BLOCK] = np.where(similarity > threshold, similarity, 0).sum(1)
    degree -= 1  # without the similarity of a sentence to itself
    top = degree.max(initial=0)
    return np.clip(degree / top, 0, 1) if top > 0 else np.zeros(len(vectors))


def relevance(vectors: np.ndarray, aspects: np.ndarray) -> np.ndarray:
    """Return the cosine to the nearest aspect of the question, by default 0, `(n_sentences,)`."""
    if not len(aspects):
        return np.zeros(len(vectors))
    return np.clip((vectors @ aspects.T).max(axis=1), 0, 1)


_FLOOR, _CEILING = 0.1, 0.6  # cosines that mean "unrelated" and "answers it" for MiniLM


def worth_of_sentences(reading: Reading) -> np.ndarray:
    """Return how much each sentence helps to answer the question, 0 to 1, `(n_sentences,)`.

    For a question that requests everything this is its readability.
    """
    if not len(reading.aspects):
        return readability(reading.sentences, SelectionSettings())
    return _near(relevance(reading.vectors, reading.aspects))


def helpfulness(reading: Reading) -> float:
    """Return 0.75 times the similarity of the best 3 sentences plus 0.25 times the word overlap.

    In 0..1; for a question that requests everything, the mean readability of the sentences.
    """
    if not reading.sentences:
        return 0.0
    if not len(reading.aspects):
        return float(readability(reading.sentences, SelectionSettings()).mean())
    similar = np.sort(relevance(reading.vectors, reading.aspects))[::-1][:3].mean()
    near = _near(similar)
    wanted = set(content_stems(reading.question))
    shared = len(wanted & set(content_stems(reading.text))) / len(wanted) if wanted else 0.0
    return float(0.75 * near + 0.25 * shared)


def _near(cosines: np.ndarray | float) -> np.ndarray:
    return np.clip((cosines - _FLOOR) / (_CEILING - _FLOOR), 0, 1)


def grade(share: float, lowest: int, highest: int) -> int:
    """Return a share in 0..1 as an integer grade between two bounds, both included."""
    return int(lowest + round(min(1.0, max(0.0, share)) * (highest - lowest)))


_SENTENCES_PER_SIDE = 10  # some 200 words (Hearst: 10 sequences of 20 words)


def least_alike(vectors: np.ndarray, passages: Sequence[int], n_passages: int) -> int:
    """Return the number, from 1, of the passage after which the text differs most from before.

    In 1..n_passages - 1, or 1 for a single passage; the first of equals. This is the comparison of
    blocks of TextTiling (Hearst 1997, section 4.1) with sentence embeddings instead of term counts.

    Parameters `vectors`: unit vectors of the sentences in the order of the text, `(n_sentences,
    dim)`; `passages`: number, from 1, of each sentence's passage, `(n_sentences,)`.
    """
    passage_of = np.asarray(passages)
    cosines: dict[int, float] = {}
    for gap in range(1, n_passages):
        before = vectors[passage_of <= gap][-_SENTENCES_PER_SIDE:]
        after = vectors[passage_of > gap][:_SENTENCES_PER_SIDE]
        if len(before) and len(after):
            left, right = before.mean(axis=0), after.mean(axis=0)
            length = float(np.linalg.norm(left) * np.linalg.norm(right))
            cosines[gap] = float(left @ right) / length if length else 0.0
    return min(cosines, key=lambda gap: cosines[gap], default=1)
