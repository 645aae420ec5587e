"""Scores of candidates given a passage, log P(d_j | d_i) (paper, section 4.1)."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from gsum_assets.lightpal.lists import CandidateLists, candidate_lists
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
    found = []
    for level, ids, texts in (
        ("document", collection.document_ids, collection.document_texts),
        ("node", collection.chunk_ids, collection.chunk_texts),
    ):
        lists = candidate_lists(candidates, level, ids)
        found.append((level, lists, _scores(lists.indices, texts, scorer)))
    n_rows = sum(lists.indices.size for _, lists, _ in found)
    return pa.concat_tables(_rows(level, lists, scores, n_rows) for level, lists, scores in found)


def _scores(indices: np.ndarray, texts: Sequence[str], scorer: PassageScorer) -> np.ndarray:
    """Return the score of each candidate, `(n * k,)`; texts are in memory for some at a time."""
    scores = np.empty(indices.shape)
    for first in range(0, len(indices), _PASSAGES_AT_ONCE):
        block = slice(first, first + _PASSAGES_AT_ONCE)
        rows = [[str(texts[index]) for index in row] for row in indices[block].tolist()]
        for row, values in zip(scores[block], scorer.score(texts[block], rows), strict=True):
            row[:] = values
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
