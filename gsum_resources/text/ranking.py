"""Importance of sentences: centrality and relevance to the question."""

import numpy as np

_BLOCK = 2048  # sentences compared at once: bounds memory at 2048 x n floats


def centrality(vectors: np.ndarray, threshold: float = 0.2) -> np.ndarray:
    """Return the mean similarity above a threshold to other sentences, scaled to a maximum of 1.

    This is the degree form of LexRank (Erkan and Radev 2004, section 3.2) with embeddings instead
    of tf-idf.

    Parameters
    ----------
    threshold : cosine below which two sentences count as unrelated.

    Returns
    -------
    ndarray
        `(n_sentences,)`, in 0..1.
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
