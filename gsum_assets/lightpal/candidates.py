"""The most similar passages of each passage (paper, section 4.1), listed by number."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from gsum_assets.graphs.nearest import Neighbours
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection
from gsum_resources.engine.threads import in_threads
from gsum_resources.store.arrow import (
    as_lists,
    is_dictionary,
    lengths_of,
    pc,
    repeated,
    values_of,
)
from gsum_resources.store.content_hash import numbers_of

_FOUND_AT_ONCE = 2**23  # numbers
_ODD = np.uint64(0x9E3779B97F4A7C15)


def candidate_rows(
    collection: Collection, of_chunks: Neighbours, of_documents: Neighbours
) -> pa.Table:
    """Return the rows of `lightpal.candidates`, by level and passage in the collection's order."""
    documents, chunks = Numbered(collection.document_ids), Numbered(collection.chunk_ids)
    levels = (("document", documents, of_documents), ("node", chunks, of_chunks))
    return pa.concat_tables(
        rows_of_level(level, passages, passages.numbers[near.indices], near.similarities)
        for level, passages, near in levels
    )


def rows_of_level(
    level: str, passages: "Numbered", numbers: np.ndarray, similarities: np.ndarray
) -> pa.Table:
    """Return the rows of one level, from the candidates of each passage, `(n, k)`."""
    n, k = numbers.shape
    lengths = np.full(n, k)
    columns = {
        "level": repeated(level, n),
        "passage_id": passages.ids,
        "passage_number": passages.numbers,
        "candidates": as_lists(pa.array(numbers.ravel()), lengths),
        "candidates_hash": hashes_of(numbers),
        "similarities": as_lists(pa.array(similarities.ravel()), lengths),
    }
    return pa.table(columns, schema=TABLES["lightpal.candidates"].schema)


class Numbered:
    """Passages of one level by index, and by number, a hash of the id, int64 `(n,)`.

    Raises `ValueError` if two passages have the same number: of ten million, with a probability of
    0.00001.
    """

    def __init__(self, ids: Sequence[str] | pa.Array) -> None:
        self.ids = pa.array(ids, pa.string())
        self.numbers = numbers_of(self.ids)
        self._known = pa.array(self.numbers)
        if len(pc.unique(self._known)) < len(self.ids):
            raise ValueError(
                f"lightpal: two of {len(self.ids)} passages have the same number; rename a "
                "document of the corpus, so that its passages get other ids"
            )

    def find(self, numbers: np.ndarray) -> np.ndarray:
        """Return the index of each number, int32 of the same shape; -1 where there is none."""
        flat, indices = numbers.ravel(), np.empty(numbers.shape, np.int32)
        out = indices.ravel()  # a view

        def find(first: int) -> None:
            block = slice(first, first + _FOUND_AT_ONCE)
            out[block] = _filled(pc.index_in(pa.array(flat[block]), self._known))

        in_threads(find, range(0, len(flat), _FOUND_AT_ONCE))
        return indices

    def indices_of(self, column: pa.ChunkedArray) -> np.ndarray:
        """Return the index of each id in a text or dictionary column, int32; -1 where absent."""
        if not is_dictionary(column.type):
            return _filled(pc.index_in(column, self.ids))
        indices = [np.empty(0, np.int32)]
        for chunk in column.chunks:
            of_dictionary = _filled(pc.index_in(chunk.dictionary, self.ids))
            indices.append(of_dictionary[chunk.indices.to_numpy()])
        return np.concatenate(indices)


def hashes_of(lists: np.ndarray) -> np.ndarray:
    """Return a hash of each row of numbers, int64 `(n,)`; another order has another hash."""
    odd = np.full(lists.shape[1], _ODD)  # powers of it are odd, too: no factor loses a bit
    return (lists.view(np.uint64) @ np.cumprod(odd)).view(np.int64)


@dataclass(frozen=True, eq=False)
class CandidateLists:
    """The candidates of every passage of one level.

    Attributes
    ----------
    ids : ids of the passages, `(n,)`.
    numbers : numbers of each passage's candidates, most similar first, int64 `(n, k)`.
    similarities : their similarities, `(n, k)`, or `(n, 0)` if they are not needed.
    """

    ids: Sequence[str]
    numbers: np.ndarray
    similarities: np.ndarray

    @cached_property
    def passages(self) -> Numbered:
        """The passages with their numbers."""
        return Numbered(self.ids)

    @cached_property
    def hashes(self) -> np.ndarray:
        """Hash of each passage's candidates, int64 `(n,)`."""
        return hashes_of(self.numbers)

    def indices(self, passages: np.ndarray) -> np.ndarray:
        """Return the candidates of some passages as indices into `ids`, int32 `(n_passages, k)`.

        Raises `ValueError` if a candidate is no passage, because passages have changed since the
        table was written.
        """
        indices = self.passages.find(self.numbers[passages])
        if (indices < 0).any():
            raise _changed("candidates", self.ids)
        return indices


Lists = Mapping[str, CandidateLists]
"""Candidates by level."""


def lists_of(rows: pa.Table, collection: Collection, with_similarities: bool = False) -> Lists:
    """Return the candidates of documents and of chunks, from rows in any order.

    Raises `ValueError` if the table is not of these passages, which have changed since it was
    written.
    """
    lists = {}
    for level, ids in (("document", collection.document_ids), ("node", collection.chunk_ids)):
        of_level = _in_order(rows, level, ids, "candidates")
        similarities = np.empty((len(ids), 0))
        if with_similarities:
            similarities = matrix_of(of_level["similarities"])
        lists[level] = CandidateLists(ids, matrix_of(of_level["candidates"]), similarities)
    return lists


def scores_of_lists(rows: pa.Table, lists: Lists) -> Mapping[str, np.ndarray]:
    """Return the scores of candidates by level, `(n, k)`, NaN for null, from rows in any order.

    Raises `ValueError` if the scores are of other passages or other candidates.
    """
    scores = {}
    for level, candidates in lists.items():
        of_level = _in_order(rows, level, candidates.ids, "context_scores")
        if not np.array_equal(of_level["candidates_hash"].to_numpy(), candidates.hashes):
            raise _changed("context_scores", candidates.ids)
        scores[level] = matrix_of(of_level["scores"])
    return scores


def matrix_of(lists: pa.ChunkedArray) -> np.ndarray:
    """Return lists of equal lengths as a matrix, `(n, k)`."""
    return values_of(lists).reshape(len(lists), lengths_of(lists).max(initial=0))


def _in_order(rows: pa.Table, level: str, ids: Sequence[str], table: str) -> pa.Table:
    """Return the rows of a level in the order of `ids`, without a copy if they are stored in it."""
    is_level = pc.equal(rows["level"], level).to_numpy()
    borders = np.flatnonzero(np.diff(is_level, prepend=False, append=False))
    if len(borders) <= 2:
        rows = rows.slice(*(borders[0], borders[1] - borders[0]) if len(borders) else (0, 0))
    else:
        rows = rows.filter(pa.array(is_level))
    owners = _filled(pc.index_in(rows["passage_id"], pa.array(ids, pa.string())))
    if len(owners) != len(ids) or (np.sort(owners) != np.arange(len(ids))).any():
        raise _changed(table, ids)
    return rows if (owners[1:] > owners[:-1]).all() else rows.take(np.argsort(owners))


def _filled(indices: pa.Array | pa.ChunkedArray) -> np.ndarray:
    return pc.fill_null(indices, -1).to_numpy()


def _changed(table: str, ids: Sequence[str]) -> ValueError:
    return ValueError(
        f"lightpal: the rows of lightpal/{table} are not those of the {len(ids)} passages of now; "
        f"materialize lightpal/{table} again"
    )
