"""Late interaction: for each token of a question the most similar token of a passage.

As in ColBERT (Khattab and Zaharia, 2020), but with the token vectors of the packaged embedding
model, which was not trained for it.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from benchmarks.evidence.meetings import Meetings
from benchmarks.evidence.sides import Asked
from gsum_assets.evidence.features import FORMS, OWN, forms
from gsum_assets.evidence.training import Example
from gsum_resources.token_embeddings import LocalTokenEmbedder, TokenVectors

N_BEST = 30  # passages by cosine and BM25; others count as the least similar of them
SIGNALS = ("late interaction", "late interaction: telling tokens")
_CHEAP = [OWN.index("dense: standardized"), OWN.index("BM25: standardized")]


def with_late_interaction(
    meetings: Meetings, questions: Sequence[Asked]
) -> tuple[list[Example], list[str]]:
    """Return the questions with these features added, and the names of the added columns.

    The last of them are `SIGNALS` as they are.
    """
    embedder = LocalTokenEmbedder(threads=1)
    chunks, queries = meetings.chunks, meetings.queries
    texts = dict(zip(chunks["chunk_id"].to_pylist(), chunks["text"].to_pylist(), strict=True))
    asked = dict(zip(queries["query_id"].to_pylist(), queries["text"].to_pylist(), strict=True))
    found: dict[str, Example] = {}
    ordered = sorted(questions, key=lambda one: one.example.group)
    for _, members in groupby(ordered, key=lambda one: one.example.group):
        own = list(members)
        ids = own[0].chunk_ids  # of a document's passages, the same for all its questions
        passages = embedder.embed_tokens([texts[chunk_id] for chunk_id in ids])
        words = embedder.embed_tokens([asked[one.query_id] for one in own])
        for one, question in zip(own, words, strict=True):
            found[one.query_id] = _with(one.example, best_matches(question, passages))
    names = [f"{name}{form}" for name in SIGNALS for form in FORMS[1:]]
    return [found[one.query_id] for one in questions], [*names, *SIGNALS]


def best_matches(question: TokenVectors, passages: Sequence[TokenVectors]) -> np.ndarray:
    """Return the similarity of each question token's best match, `(n_passages, n_tokens)`."""
    own = question.vectors[question.counted]
    return np.stack([(own @ one.vectors[one.counted].T).max(axis=1) for one in passages])


def late_signals(matches: np.ndarray) -> np.ndarray:
    """Return the mean over tokens, and that weighted by a token's spread over passages, `(n, 2)`.

    Parameters
    ----------
    matches : the result of `best_matches`.
    """
    spread = matches.std(axis=0) + 1e-9
    return np.stack([matches.mean(axis=1), matches @ (spread / spread.sum())], axis=1)


def _with(example: Example, matches: np.ndarray) -> Example:
    found = late_signals(matches).astype(np.float64)
    cheap = example.features[:, _CHEAP].sum(axis=1)
    is_judged = np.zeros(len(found), bool)
    is_judged[np.argsort(-cheap, kind="stable")[:N_BEST]] = True
    found = np.where(is_judged[:, None], found, found[is_judged].min(axis=0))
    others = [form for signal in found.T for form in forms(signal)[1:]]
    return replace(example, features=np.column_stack([example.features, *others, found]))
