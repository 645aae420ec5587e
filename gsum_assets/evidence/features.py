"""What a passage has in common with a question, seen alone."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gsum_assets.evidence.scope import Scope, Sentences, standardized

FORMS = ("", ": standardized", ": log rank", ": gap to the best")
SIGNALS = (
    "dense",
    "BM25",
    "best sentence",
    "best 3 sentences",
    "best 8 sentences",
    "best window",
    "words of the question",
)
SPEAKER = ("named speaker", "named speaker: standardized")
POSITION = ("position", "position: from the nearer end")
SITUATION = (
    "scope: log passages",
    "scope: words of the question",
    "scope: best dense",
    "scope: spread of dense",
    "scope: best sentence",
)
OWN = (*(name + form for name in SIGNALS for form in FORMS), *SPEAKER, *POSITION, *SITUATION)
"""Names of the features in the order of their columns; those of one group share what is before
the colon."""


@dataclass(frozen=True, eq=False)
class Question:
    """A question as it is searched for.

    Attributes
    ----------
    terms : words of the search text, as BM25 counts them.
    vector : unit vector of the search text, `(dim,)`.
    """

    text: str
    terms: frozenset[str]
    vector: np.ndarray


def signals(
    scope: Scope, question: Question, bm25: np.ndarray, having: np.ndarray
) -> Mapping[str, np.ndarray]:
    """Return scores of all passages by the name of the signal, `(n,)` each.

    Parameters
    ----------
    bm25 : of each passage for the question, `(n,)`.
    having : which of the question's terms, in alphabetical order, it has, `(n_terms, n)`.
    """
    joined = scope.joined
    similar = cosines(joined.vectors, question.vector)
    best, best_3, best_8 = joined.means_of_best(similar, (1, 3, 8))
    return {
        "dense": np.round(scope.vectors @ question.vector, 6).astype(np.float64),
        "BM25": bm25.astype(np.float64),
        "best sentence": best,
        "best 3 sentences": best_3,
        "best 8 sentences": best_8,
        "best window": joined.best_windows(question.vector),
        "words of the question": coverage(having),
    }


def own_features(
    scope: Scope, question: Question, signal_of: Mapping[str, np.ndarray]
) -> np.ndarray:
    """Return the features `OWN` of all passages, `(n, len(OWN))`."""
    speaker = named(scope.sentences, question.text)
    dense, ones = signal_of["dense"], np.ones(len(scope))
    situation = (
        math.log(len(scope)),
        math.log1p(len(question.terms)),
        dense.max(),
        dense.std(),
        signal_of["best sentence"].max(),
    )
    columns = [
        *(form for name in SIGNALS for form in forms(signal_of[name])),
        speaker,
        standardized(speaker),
        scope.places,
        np.minimum(scope.places, 1 - scope.places),
        *(ones * value for value in situation),
    ]
    return np.stack(columns, axis=1)


def forms(values: np.ndarray) -> list[np.ndarray]:
    """Return a signal as it is, standardized, as log rank from 0, and as gap to the best."""
    better = len(values) - np.searchsorted(np.sort(values), values, side="right")
    return [values, standardized(values), np.log1p(better), values.max() - values]


def cosines(vectors: np.ndarray, question: np.ndarray) -> np.ndarray:
    """Return the similarities of unit vectors to a question's; none without vectors."""
    return np.round(vectors @ question, 6) if len(vectors) else np.empty(0)


def coverage(having: np.ndarray) -> np.ndarray:
    """Return the share of the question's words in each passage, weighted by idf, `(n,)`.

    Words that no passage has do not count; without any other word, all shares are 0.

    Parameters
    ----------
    having : whether each passage has a word, `(n_words, n)`.
    """
    n, shares, total = having.shape[1], np.zeros(having.shape[1]), 0.0
    for having_one in having[having.any(axis=1)]:
        m = int(having_one.sum())
        idf = math.log(1 + (n - m + 0.5) / (m + 0.5))
        shares[having_one] += idf
        total += idf
    return shares / (total or 1.0)


def named(passages: Sequence[Sentences | None], question: str) -> np.ndarray:
    """Return the share of words by speakers whom the question names, by a part of the name too.

    Returns
    -------
    `(n_passages,)`; 0 for a passage without sentences.
    """
    text, shares = question.lower(), np.zeros(len(passages))
    speakers = {speaker for passage in passages if passage for speaker in passage.shares}
    wanted = {
        speaker
        for speaker in speakers
        if speaker in text or any(len(part) > 3 and part in text for part in speaker.split())
    }
    for i, passage in enumerate(passages if wanted else ()):
        if passage is not None:
            shares[i] = sum(share for name, share in passage.shares.items() if name in wanted)
    return shares
