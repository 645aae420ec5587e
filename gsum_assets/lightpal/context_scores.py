"""Scores of candidates given a passage, log P(d_j | d_i) (paper, section 4.1)."""

import numpy as np
import pyarrow as pa

from gsum_assets.lightpal.lists import CandidateLists, candidate_lists
from gsum_assets.retrieval.collection import Collection
from gsum_assets.tables import TABLES
from gsum_resources.arrow import repeated, taken
from gsum_resources.protocols import PassageScorer


def context_scores(candidates: pa.Table, collection: Collection, scorer: PassageScorer) -> pa.Table:
    """Return the rows of `lightpal.context_scores`, one for each row of `candidates`, in order.

    Parameters
    ----------
    candidates : rows of `lightpal.candidates` of the collection's documents and chunks.
    scorer : returns log probabilities, nats per token.
    """
    tables = []
    for level, ids, texts in (
        ("document", collection.document_ids, collection.document_texts),
        ("node", collection.chunk_ids, collection.chunk_texts),
    ):
        lists = candidate_lists(candidates, level, ids)
        rows = [[str(texts[index]) for index in row] for row in lists.indices]
        scores = scorer.score(texts, rows)
        tables.append(_rows(level, lists, np.concatenate([np.empty(0), *scores])))
    return pa.concat_tables(tables)


def _rows(level: str, lists: CandidateLists, scores: np.ndarray) -> pa.Table:
    n, k = lists.indices.shape
    ids = pa.array(lists.ids, pa.string())
    return pa.table(
        {
            "level": repeated(level, n * k),
            "passage_id": taken(ids, np.repeat(np.arange(n), k)),
            "candidate_id": taken(ids, lists.indices.ravel()),
            "score": pa.array(scores, from_pandas=True),  # NaN becomes null
        },
        schema=TABLES["lightpal.context_scores"].schema,
    )
