"""Helpfulness of a text for answering a question, from 0 to 1."""

import numpy as np

from gsum_resources.text.ranking import relevance
from gsum_resources.text.reading import Reading
from gsum_resources.text.selection import SelectionSettings, readability
from gsum_resources.text.vocabulary import content_stems

_FLOOR, _CEILING = 0.1, 0.6  # cosines that mean "unrelated" and "answers it" for MiniLM


def worth_of_sentences(reading: Reading) -> np.ndarray:
    """Return how much each sentence helps to answer the question, 0 to 1, `(n_sentences,)`.

    For a question that requests everything this is its readability.
    """
    if not len(reading.aspects):
        return readability(reading.sentences, SelectionSettings())
    return _near(relevance(reading.vectors, reading.aspects))


def helpfulness(reading: Reading, best: int = 3) -> float:
    """Return 0.75 times the similarity of the best sentences plus 0.25 times the word overlap.

    For a question that requests everything, the mean readability of the sentences is returned.

    Parameters
    ----------
    best : number of sentences whose similarity is averaged.

    Returns
    -------
    float
        In 0..1; 0 for a text without sentences.
    """
    if not reading.sentences:
        return 0.0
    if not len(reading.aspects):
        return float(readability(reading.sentences, SelectionSettings()).mean())
    similar = np.sort(relevance(reading.vectors, reading.aspects))[::-1][:best].mean()
    near = _near(similar)
    wanted = set(content_stems(reading.question))
    shared = len(wanted & set(content_stems(reading.text))) / len(wanted) if wanted else 0.0
    return float(0.75 * near + 0.25 * shared)


def _near(cosines: np.ndarray) -> np.ndarray:
    return np.clip((cosines - _FLOOR) / (_CEILING - _FLOOR), 0, 1)


def grade(share: float, lowest: int, highest: int) -> int:
    """Return a share in 0..1 as an integer grade between two bounds, both included."""
    return int(lowest + round(min(1.0, max(0.0, share)) * (highest - lowest)))
