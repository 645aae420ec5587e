"""How well each passage predicts its candidates (paper, section 4.1): log P(d_j | d_i)."""

import numpy as np
import pyarrow as pa

from gsum_assets.lightpal.lists import CandidateLists, candidate_lists
from gsum_assets.retrieval.collection import Collection
from gsum_assets.tables import TABLES
from gsum_resources.protocols import PassageScorer


def context_scores(candidates: pa.Table, collection: Collection, scorer: PassageScorer) -> pa.Table:
    """Return the rows of `lightpal.context_scores`, one for each row of `candidates`, in their order.

    Parameters
    ----------
    candidates : rows of `lightpal.candidates` of the collection's documents and chunks.
    scorer : gives nats per token.
    """
    parts = []
    for level, ids, texts in (
        ("document", collection.document_ids, collection.document_texts),
        ("node", collection.chunk_ids, collection.chunk_texts),
    ):
        lists = candidate_lists(candidates, level, ids)
        rows = [[str(texts[place]) for place in row] for row in lists.indices]
        scores = scorer.score(texts, rows)
        parts.append(_rows(level, lists, np.concatenate([np.empty(0), *scores])))
    return pa.concat_tables(parts)


def _rows(level: str, lists: CandidateLists, scores: np.ndarray) -> pa.Table:
    n, k = lists.indices.shape
    ids = pa.array(lists.ids, pa.string())
    return pa.table(
        {
            "level": pa.repeat(level, n * k),
            "passage_id": ids.take(pa.array(np.repeat(np.arange(n), k))),
            "candidate_id": ids.take(pa.array(lists.indices.ravel())),
            "score": pa.array(scores, from_pandas=True),  # NaN becomes null
        },
        schema=TABLES["lightpal.context_scores"].schema,
    )
