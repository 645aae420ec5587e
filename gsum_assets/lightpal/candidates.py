"""The most similar passages of each passage, which are then scored (paper, section 4.1)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from gsum_assets.graphs.nearest import Neighbours, OnProgress
from gsum_assets.graphs.nearest_again import Renewed, Whole, nearest_again
from gsum_assets.lightpal.earlier import Carried
from gsum_assets.lightpal.lists import Numbered, hashes_of
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection
from gsum_resources.engine.blocks import LOCAL, Engine
from gsum_resources.store.arrow import as_lists, repeated


def candidates(
    collection: Collection,
    n: int,
    on_progress: OnProgress = lambda done, all: None,
    carried: Carried | None = None,
    engine: Engine = LOCAL,
    whole: Whole | None = None,
) -> pa.Table:
    """Return the rows of `lightpal.candidates`: the `n` nearest of each document and each chunk.

    Parameters
    ----------
    collection : with embeddings; the similarity of documents is that of their closest chunks.
    carried : lists of the previous run, which others keep; they affect only the running time.
    engine : compares all passages; changes to earlier lists are computed in this process.
    whole : compares all passages instead, see `nearest_again`.

    Returns
    -------
    pa.Table
        Rows by level and passage, in the order of the collection; candidates best first.
    """
    pair_of_levels = compared(collection, n, on_progress, carried, engine, whole)
    return rows_of(collection, *pair_of_levels, carried)


def compared(
    collection: Collection,
    n: int,
    on_progress: OnProgress = lambda done, all: None,
    carried: Carried | None = None,
    engine: Engine = LOCAL,
    whole: Whole | None = None,
) -> tuple[Renewed, Renewed]:
    """Return the new lists of chunks and of documents; parameters as of `candidates`."""
    if not collection.chunk_ids:
        none = Neighbours(np.empty((0, 0), np.int32), np.empty((0, 0), np.float32))
        nothing = Renewed(np.empty(0, np.int64), none)
        return nothing, nothing
    assert collection.embeddings is not None
    before = carried.before if carried else None
    vectors, starts = collection.embeddings, collection.starts
    return nearest_again(vectors, starts, n, before, on_progress, engine, whole)


def rows_of(
    collection: Collection, chunks: Renewed, documents: Renewed, carried: Carried | None = None
) -> pa.Table:
    """Return the rows of `lightpal.candidates` of new lists of chunks and of documents.

    Parameters
    ----------
    carried : the lists of the other passages, which this overwrites with the new ones.
    """
    of_documents = of_chunks = None
    if carried:
        before = carried.before
        of_documents = _Lists(carried.numbers["document"], before.of_groups.similarities)
        of_chunks = _Lists(carried.numbers["node"], before.of_vectors.similarities)
    return pa.concat_tables(
        [
            _rows("document", collection.document_ids, documents, of_documents),
            _rows("node", collection.chunk_ids, chunks, of_chunks),
        ]
    )


class _Lists(NamedTuple):
    """Numbers and similarities of the candidates of each passage, `(n, width)`."""

    numbers: np.ndarray
    similarities: np.ndarray


def _rows(level: str, ids: Sequence[str], new: Renewed, carried: _Lists | None) -> pa.Table:
    """Return the rows of a level from new lists and the earlier ones of the other passages."""
    passages, k = Numbered(ids), new.lists.indices.shape[1]
    lists = _Lists(passages.numbers[new.lists.indices], new.lists.similarities)
    if carried and len(new.items) < len(ids):
        for earlier, fresh in zip(carried, lists, strict=True):
            earlier[new.items, :k] = fresh
        lists = _Lists(*(np.ascontiguousarray(earlier[:, :k]) for earlier in carried))
    numbers, similarities = lists
    lengths = np.full(len(ids), k)
    return pa.table(
        {
            "level": repeated(level, len(ids)),
            "passage_id": passages.ids,
            "passage_number": passages.numbers,
            "candidates": as_lists(pa.array(numbers.ravel()), lengths),
            "candidates_hash": hashes_of(numbers),
            "similarities": as_lists(pa.array(similarities.ravel()), lengths),
        },
        schema=TABLES["lightpal.candidates"].schema,
    )
