"""Changes of subject in a text."""

from collections.abc import Sequence

import numpy as np

_BLOCK = 10  # sentences compared on each side, some 200 words (Hearst: 10 sequences of 20 words)


def least_alike(vectors: np.ndarray, passages: Sequence[int], n_passages: int) -> int:
    """Return the number, from 1, of the passage after which the text differs most from before.

    This is the comparison of blocks of TextTiling (Hearst 1997, section 4.1) with sentence
    embeddings instead of term counts.

    Parameters
    ----------
    vectors : unit vectors of the sentences in the order of the text, `(n_sentences, dim)`.
    passages : number, from 1, of each sentence's passage, `(n_sentences,)`.

    Returns
    -------
    int
        In 1..n_passages - 1, or 1 for a single passage. The first of equals.
    """
    passage_of = np.asarray(passages)
    cosines: dict[int, float] = {}
    for gap in range(1, n_passages):
        before, after = vectors[passage_of <= gap][-_BLOCK:], vectors[passage_of > gap][:_BLOCK]
        if len(before) and len(after):
            left, right = before.mean(axis=0), after.mean(axis=0)
            length = float(np.linalg.norm(left) * np.linalg.norm(right))
            cosines[gap] = float(left @ right) / length if length else 0.0
    return min(cosines, key=lambda gap: cosines[gap], default=1)
