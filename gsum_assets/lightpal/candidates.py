"""The most similar passages of each passage, which are then scored (paper, section 4.1)."""

import numpy as np
import pyarrow as pa

from gsum_assets.graphs.nearest import Neighbours, OnProgress
from gsum_assets.graphs.nearest_again import nearest_again
from gsum_assets.lightpal.earlier import Earlier
from gsum_assets.retrieval.collection import Collection
from gsum_assets.tables import TABLES
from gsum_resources.blocks import LOCAL, Engine


def candidates(
    collection: Collection,
    n: int,
    on_progress: OnProgress = lambda done, all: None,
    earlier: Earlier | None = None,
    engine: Engine = LOCAL,
) -> pa.Table:
    """Return the rows of `lightpal.candidates`: the `n` nearest of each document and each chunk.

    Parameters
    ----------
    collection : with embeddings; the similarity of documents is that of their closest chunks.
    earlier : result of the previous run; it affects only the running time.
    engine : compares all passages; changes to an earlier result are computed in this process.

    Returns
    -------
    pa.Table
        Rows by level and passage, in the order of the collection, best first.
    """
    if not collection.chunk_ids:
        return TABLES["lightpal.candidates"].empty()
    assert collection.embeddings is not None
    before = earlier.before(collection) if earlier else None
    vectors, starts = collection.embeddings, collection.starts
    nodes, documents = nearest_again(vectors, starts, n, before, on_progress, engine)
    return pa.concat_tables(
        [
            _rows("document", pa.array(collection.document_ids, pa.string()), documents),
            _rows("node", pa.array(collection.chunk_ids, pa.string()), nodes),
        ]
    )


def _rows(level: str, ids: pa.Array, found: Neighbours) -> pa.Table:
    n, k = found.indices.shape
    return pa.table(
        {
            "level": pa.repeat(level, n * k),
            "passage_id": ids.take(pa.array(np.repeat(np.arange(n), k))),
            "candidate_id": ids.take(pa.array(found.indices.ravel())),
            "rank": np.tile(np.arange(1, k + 1, dtype=np.int32), n),
            "similarity": found.similarities.ravel(),
        },
        schema=TABLES["lightpal.candidates"].schema,
    )
