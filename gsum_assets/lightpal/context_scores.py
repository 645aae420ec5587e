"""Scores of candidates given a passage, log P(d_j | d_i) (paper, section 4.1)."""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from gsum_assets.lightpal.lists import CandidateLists, Lists, lists_of
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection
from gsum_resources.protocols.models import PassageScorer
from gsum_resources.store.arrow import as_lists, repeated

_PASSAGES_AT_ONCE = 2**16  # whose candidates are scored by one call


def context_scores(candidates: pa.Table, collection: Collection, scorer: PassageScorer) -> pa.Table:
    """Return the rows of `lightpal.context_scores`, passages in the order of the collection.

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
    tables = []
    for level, candidates in lists.items():
        scores = _scores(candidates, texts[level], scorer, known.get(level))
        n, k = scores.shape
        tables.append(
            pa.table(
                {
                    "level": repeated(level, n),
                    "passage_id": pa.array(candidates.ids, pa.string()),
                    "candidates_hash": candidates.hashes,
                    # NaN becomes null
                    "scores": as_lists(pa.array(scores.ravel(), from_pandas=True), np.full(n, k)),
                },
                schema=TABLES["lightpal.context_scores"].schema,
            )
        )
    return pa.concat_tables(tables)


def _scores(
    lists: CandidateLists, texts: Sequence[str], scorer: PassageScorer, known: np.ndarray | None
) -> np.ndarray:
    """Return the score of each candidate, `(n, k)`; texts are in memory for some at a time."""
    scores = np.full(lists.numbers.shape, np.nan) if known is None else known
    due = np.flatnonzero(np.isnan(scores).any(axis=1))
    for first in range(0, len(due), _PASSAGES_AT_ONCE):
        block = due[first : first + _PASSAGES_AT_ONCE]
        rows = [[str(texts[index]) for index in row] for row in lists.indices(block).tolist()]
        contexts = [str(texts[index]) for index in block.tolist()]
        for index, values in zip(block.tolist(), scorer.score(contexts, rows), strict=True):
            scores[index] = values
    return scores
