"""The most similar passages of each passage, which are then scored (paper, section 4.1)."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from gsum_assets.graphs.nearest import Neighbours, OnProgress
from gsum_assets.graphs.nearest_again import Whole, nearest_again
from gsum_assets.lightpal.earlier import Earlier
from gsum_assets.lightpal.lists import Numbered, hashes_of
from gsum_assets.retrieval.collection import Collection
from gsum_assets.tables import TABLES
from gsum_resources.arrow import as_lists, repeated
from gsum_resources.blocks import LOCAL, Engine


def candidates(
    collection: Collection,
    n: int,
    on_progress: OnProgress = lambda done, all: None,
    earlier: Earlier | None = None,
    engine: Engine = LOCAL,
    whole: Whole | None = None,
) -> pa.Table:
    """Return the rows of `lightpal.candidates`: the `n` nearest of each document and each chunk.

    Parameters
    ----------
    collection : with embeddings; the similarity of documents is that of their closest chunks.
    earlier : result of the previous run; it affects only the running time.
    engine : compares all passages; changes to an earlier result are computed in this process.
    whole : compares all passages instead, see `nearest_again`.

    Returns
    -------
    pa.Table
        Rows by level and passage, in the order of the collection; candidates best first.
    """
    return rows_of(collection, *compared(collection, n, on_progress, earlier, engine, whole))


def compared(
    collection: Collection,
    n: int,
    on_progress: OnProgress = lambda done, all: None,
    earlier: Earlier | None = None,
    engine: Engine = LOCAL,
    whole: Whole | None = None,
) -> tuple[Neighbours, Neighbours]:
    """Return the neighbours of chunks and of documents; parameters as of `candidates`."""
    if not collection.chunk_ids:
        none = Neighbours(np.empty((0, 0), np.int32), np.empty((0, 0), np.float32))
        return none, none
    assert collection.embeddings is not None
    before = earlier.before(collection) if earlier else None
    vectors, starts = collection.embeddings, collection.starts
    return nearest_again(vectors, starts, n, before, on_progress, engine, whole)


def rows_of(collection: Collection, chunks: Neighbours, documents: Neighbours) -> pa.Table:
    """Return the rows of `lightpal.candidates` of neighbours of chunks and of documents."""
    return pa.concat_tables(
        [
            _rows("document", collection.document_ids, documents),
            _rows("node", collection.chunk_ids, chunks),
        ]
    )


def _rows(level: str, ids: Sequence[str], found: Neighbours) -> pa.Table:
    passages, lengths = Numbered(ids), np.full(len(ids), found.indices.shape[1])
    numbers = passages.numbers[found.indices]
    return pa.table(
        {
            "level": repeated(level, len(ids)),
            "passage_id": passages.ids,
            "passage_number": passages.numbers,
            "candidates": as_lists(pa.array(numbers.ravel()), lengths),
            "candidates_hash": hashes_of(numbers),
            "similarities": as_lists(pa.array(found.similarities.ravel()), lengths),
        },
        schema=TABLES["lightpal.candidates"].schema,
    )
