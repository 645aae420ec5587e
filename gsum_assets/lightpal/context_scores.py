"""Scores of candidates given a passage, log P(d_j | d_i) (paper, section 4.1)."""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from gsum_assets.lightpal.lists import CandidateLists, Lists, lists_of
from gsum_assets.retrieval.collection import Collection
from gsum_assets.tables import TABLES
from gsum_resources.arrow import named, repeated, with_dictionaries
from gsum_resources.protocols import PassageScorer

_PASSAGES_AT_ONCE = 2**16  # whose candidates are scored by one call


def context_scores(candidates: pa.Table, collection: Collection, scorer: PassageScorer) -> pa.Table:
    """Return the rows of `lightpal.context_scores`, one for each row of `candidates`, in order.

    Parameters
    ----------
    candidates : rows of `lightpal.candidates` of the collection's documents and chunks.
    scorer : returns log probabilities, nats per token.
    """
    return scores_of(lists_of(candidates, collection), collection, scorer, {})


def scores_of(
    lists: Lists, collection: Collection, scorer: PassageScorer, known: Mapping[str, np.ndarray]
) -> pa.Table:
    """Return the result of `context_scores` from lists.

    Parameters
    ----------
    known : by level, scores `(n, k)` of lists that were scored before; NaN: not scored.
    """
    texts = {"document": collection.document_texts, "node": collection.chunk_texts}
    n_rows = sum(candidates.indices.size for candidates in lists.values())
    found = []
    for level, candidates in lists.items():
        scores = _scores(candidates.indices, texts[level], scorer, known.get(level))
        found.append(_rows(level, candidates, scores, n_rows))
    return pa.concat_tables(found)


def _scores(
    indices: np.ndarray, texts: Sequence[str], scorer: PassageScorer, known: np.ndarray | None
) -> np.ndarray:
    """Return the score of each candidate, `(n * k,)`; texts are in memory for some at a time."""
    scores = np.full(indices.shape, np.nan) if known is None else known
    due = np.flatnonzero(np.isnan(scores).any(axis=1))
    for first in range(0, len(due), _PASSAGES_AT_ONCE):
        block = due[first : first + _PASSAGES_AT_ONCE].tolist()
        rows = [[str(texts[index]) for index in row] for row in indices[block].tolist()]
        contexts = [str(texts[index]) for index in block]
        for index, values in zip(block, scorer.score(contexts, rows), strict=True):
            scores[index] = values
    return scores.ravel()


def _rows(level: str, lists: CandidateLists, scores: np.ndarray, n_rows: int) -> pa.Table:
    n, k = lists.indices.shape
    ids = pa.array(lists.ids, pa.string())
    return pa.table(
        {
            "level": repeated(level, n * k),
            "passage_id": named(ids, np.repeat(np.arange(n, dtype=np.int32), k), n_rows),
            "candidate_id": named(ids, lists.indices.ravel(), n_rows),
            "score": pa.array(scores, from_pandas=True),  # NaN becomes null
        },
        schema=with_dictionaries(TABLES["lightpal.context_scores"].schema, n_rows),
    )
