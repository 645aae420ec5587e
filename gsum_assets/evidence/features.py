"""What a passage has in common with a question, alone and by its neighbours and nearest."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gsum_assets.evidence.scope import FURTHEST, Scope, standardized
from gsum_assets.evidence.sentence_index import Sentences

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
"""Names of the features, by column; those of one group share what is before the colon."""

_AROUND = ("dense", "BM25", "best 3 sentences", "words of the question", "all signals")
_COMBINED = (
    "dense",
    "BM25",
    "best sentence",
    "best 3 sentences",
    "best window",
    "words of the question",
)
_OFFSETS = (*range(-FURTHEST, 0), *range(1, FURTHEST + 1))
_SHAPES = (*(f"{offset:+d}" for offset in _OFFSETS), "mean of nearest", "best of nearest", "smooth")
_WALKED = ("dense", "all signals")
_MISSING = -1.0  # standardized score of a passage that does not exist
_KERNEL = (0.4, 0.2, 0.1)  # of a passage, its neighbours, and theirs

GRAPH = (
    *(f"neighbours by {name}: {shape}" for name in _AROUND for shape in _SHAPES),
    *(f"walk from {name}{form}" for name in _WALKED for form in ("", ": standardized")),
)
"""Names of the features of the graph, in the order of their columns."""


@dataclass(frozen=True, eq=False)
class Question:
    """A question as it is searched for.

    Attributes `terms`: words of the search text, as BM25 counts them; `vector`: unit vector of the
    search text, `(dim,)`.
    """

    text: str
    terms: frozenset[str]
    vector: np.ndarray


def signals(
    scope: Scope, question: Question, bm25: np.ndarray, having: np.ndarray
) -> Mapping[str, np.ndarray]:
    """Return scores of all passages by the name of the signal, `(n,)` each.

    `bm25` is that of each passage, `(n,)`, `having` says which terms each has, `(n_terms, n)`.
    """
    vectors = scope.sentences.vectors
    similar = np.round(vectors @ question.vector, 6) if len(vectors) else np.empty(0)
    best, best_3, best_8 = scope.sentences.means_of_best(similar, (1, 3, 8))
    return {
        "dense": np.round(scope.vectors @ question.vector, 6).astype(np.float64),
        "BM25": bm25.astype(np.float64),
        "best sentence": best,
        "best 3 sentences": best_3,
        "best 8 sentences": best_8,
        "best window": scope.sentences.best_windows(question.vector),
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


def coverage(having: np.ndarray) -> np.ndarray:
    """Return the share of the question's words in each passage, weighted by idf, `(n,)`.

    Words that no passage has do not count. `having` is as in `signals`.
    """
    n, shares, total = having.shape[1], np.zeros(having.shape[1]), 0.0
    for having_one in having[having.any(axis=1)]:
        m = int(having_one.sum())
        idf = math.log(1 + (n - m + 0.5) / (m + 0.5))
        shares[having_one] += idf
        total += idf
    return shares / (total or 1.0)


def named(sentences: Sentences, question: str) -> np.ndarray:
    """Return the share of each passage's words by speakers whom the question names, `(n,)`.

    A part of a name of more than three letters is enough.
    """
    text, speakers = question.lower(), [name.lower() for name in sentences.speakers.tolist()]
    wanted = {
        speaker
        for speaker in set(speakers) - {""}
        if speaker in text or any(len(part) > 3 and part in text for part in speaker.split())
    }
    n, owners = len(sentences.passages), sentences.owners
    shares = sentences.n_words / np.maximum(np.bincount(owners, sentences.n_words, n), 1)[owners]
    is_wanted = np.array([speaker in wanted for speaker in speakers], bool)
    return np.bincount(owners[is_wanted], shares[is_wanted], n)


def graph_features(scope: Scope, signal_of: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the features `GRAPH` of all passages, `(n, len(GRAPH))`, from `signals`."""
    scaled = {name: standardized(values) for name, values in signal_of.items()}
    scaled["all signals"] = np.mean([scaled[name] for name in _COMBINED], axis=0)
    shapes = around(scope, np.stack([scaled[name] for name in _AROUND]))
    columns = [shape[number] for number in range(len(_AROUND)) for shape in shapes]
    for name in _WALKED:
        walked = np.log(walk_from(scope, scaled[name]) + 1e-6)
        columns += [walked, standardized(walked)]
    return np.stack(columns, axis=1)


def around(scope: Scope, scores: np.ndarray) -> list[np.ndarray]:
    """Return the scores of the neighbours, mean and best of the nearest, smoothed; all `(…, n)`."""
    neighbours = [at(scores, column, _MISSING) for column in scope.before.T[::-1]]
    neighbours += [at(scores, column, _MISSING) for column in scope.behind.T]
    is_near = scope.nearest >= 0  # (n, N_NEAREST)
    mean = best = np.full(scores.shape, _MISSING)
    if is_near.any():  # a single passage has no other
        values = scores[..., scope.nearest]  # (…, n, N_NEAREST)
        mean = (values * is_near).sum(axis=-1) / is_near.sum(axis=-1)
        best = np.where(is_near, values, -np.inf).max(axis=-1)
    return [*neighbours, mean, best, smooth(scope, scores)]


def walk_from(scope: Scope, scores: np.ndarray) -> np.ndarray:
    """Return personalized PageRank that restarts by the softmax of 3 times the scores, `(n,)`."""
    from scipy.linalg import lu_solve

    restart = np.exp(3 * (scores - scores.max()))
    return lu_solve(scope.walk, 0.15 * restart / restart.sum())


def smooth(scope: Scope, scores: np.ndarray) -> np.ndarray:
    """Return scores averaged over two passages on either side; the nearest stands for missing."""
    total = _KERNEL[0] * scores
    for side in (scope.before, scope.behind):
        last = scores
        for weight, column in zip(_KERNEL[1:], side.T, strict=False):
            last = at(scores, column, last)
            total = total + weight * last
    return total


def at(scores: np.ndarray, rows: np.ndarray, missing: float | np.ndarray) -> np.ndarray:
    """Return the scores at `rows`, `(…, n)`, and `missing` where a row is -1."""
    return np.where(rows >= 0, scores[..., rows], missing)
