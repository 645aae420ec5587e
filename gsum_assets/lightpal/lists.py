"""Tables with a list of other passages for each passage, as matrices."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from gsum_assets.retrieval.collection import Collection
from gsum_resources.engine.threads import in_threads
from gsum_resources.store.arrow import is_dictionary, lengths_of, pc, values_of
from gsum_resources.store.content_hash import numbers_of

_FOUND_AT_ONCE = 2**23  # numbers
_ODD = np.uint64(0x9E3779B97F4A7C15)


class Numbered:
    """Passages of one level, by their indices and by the numbers that tables list them by.

    Attributes
    ----------
    ids : ids of the passages, `(n,)`.
    numbers : their numbers, hashes of the ids, int64 `(n,)`.

    Raises
    ------
    ValueError
        If two passages have the same number: of ten million, with a probability of 0.00001.
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

    def indices_of(self, ids: pa.ChunkedArray) -> np.ndarray:
        """Return the index of each id, int32; -1 where there is none."""
        return indices_of(ids, self.ids)


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
    values : values of a column of the table, `(n, k)`.
    """

    ids: Sequence[str]
    numbers: np.ndarray
    values: np.ndarray

    @cached_property
    def passages(self) -> Numbered:
        """The passages with their numbers."""
        return Numbered(self.ids)

    @cached_property
    def hashes(self) -> np.ndarray:
        """Hash of each passage's candidates, int64 `(n,)`."""
        return hashes_of(self.numbers)

    def indices(self, passages: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Return the candidates of some passages as indices into `ids`, int32 `(n_passages, k)`.

        Raises
        ------
        ValueError
            If a candidate is no passage, because passages have changed since the table was written.
        """
        indices = self.passages.find(self.numbers[passages])
        if (indices < 0).any():
            raise _changed(len(self.numbers), len(self.ids))
        return indices


Lists = Mapping[str, CandidateLists]
"""Candidates by level."""


def lists_of(rows: pa.Table, collection: Collection, column: str | None = None) -> Lists:
    """Return the candidates of documents and of chunks, with the values of a column if named."""
    levels = {"document": collection.document_ids, "node": collection.chunk_ids}
    return {level: candidate_lists(rows, level, ids, column) for level, ids in levels.items()}


def candidate_lists(
    rows: pa.Table, level: str, ids: Sequence[str], column: str | None = None
) -> CandidateLists:
    """Return the candidate lists in a table, passages in the order of `ids`.

    Parameters
    ----------
    rows : rows of `lightpal.candidates`, in any order.
    column : column of the values; None: no values.

    Raises
    ------
    ValueError
        If the table is not of these passages, which have changed since it was written.
    """
    rows = of_level(rows, level)
    order = _order_of(rows, ids, level)
    numbers = _in_order(matrix_of(rows["candidates"]), order)
    values = np.empty((len(ids), 0))
    if column is not None:
        values = _in_order(matrix_of(rows[column]), order)
    return CandidateLists(ids, numbers, values)


def scores_of_lists(rows: pa.Table, lists: Lists) -> Mapping[str, np.ndarray]:
    """Return the scores of candidates by level, float64 `(n, k)`, with NaN for null.

    Parameters
    ----------
    rows : rows of `lightpal.context_scores`, in any order.

    Raises
    ------
    ValueError
        If the scores are of other passages or other candidates.
    """
    scores_of = {}
    for level, of in lists.items():
        rows_of = of_level(rows, level)
        order = _order_of(rows_of, of.ids, level)
        if not np.array_equal(_in_order(rows_of["candidates_hash"].to_numpy(), order), of.hashes):
            raise ValueError(
                f"lightpal: the context scores of level '{level}' are not those of the candidates; "
                "materialize lightpal/context_scores again"
            )
        scores_of[level] = _in_order(matrix_of(rows_of["scores"]), order)
    return scores_of


def of_level(rows: pa.Table, level: str) -> pa.Table:
    """Return the rows of a level, without a copy if they follow one another, as they are stored."""
    of = pc.equal(rows["level"], level).to_numpy()
    borders = np.flatnonzero(of[1:] != of[:-1]) + 1
    if len(borders) > 2 or (len(borders) == 2 and of[0]):
        return rows.filter(pa.array(of))
    first = 0 if not len(of) or of[0] else int(borders[0]) if len(borders) else len(of)
    return rows.slice(first, int(np.count_nonzero(of)))


def matrix_of(lists: pa.ChunkedArray) -> np.ndarray:
    """Return lists of equal lengths as a matrix, `(n, k)`.

    Raises
    ------
    ValueError
        If their lengths differ.
    """
    lengths = lengths_of(lists)
    if (lengths != (k := lengths.max(initial=0))).any():
        raise ValueError(
            f"lightpal: passages have {lengths.min()} to {k} candidates; materialize "
            "lightpal/candidates again"
        )
    return values_of(lists).reshape(len(lengths), k)


def indices_of(column: pa.ChunkedArray, ids: Sequence[str] | pa.Array) -> np.ndarray:
    """Return the index in `ids` of each value of a text or dictionary column; -1 where absent."""
    id_array = pa.array(ids, pa.string())
    if not is_dictionary(column.type):
        return _filled(pc.index_in(column, id_array))
    parts = [chunk.dictionary for chunk in column.chunks]
    numbers = _filled(pc.index_in(pa.chunked_array(parts, pa.string()), id_array))
    firsts = np.cumsum([0, *map(len, parts)])
    indices = [
        numbers[first + chunk.indices.to_numpy()]
        for first, chunk in zip(firsts, column.chunks, strict=False)
    ]
    return np.concatenate([np.empty(0, np.int32), *indices])


def _order_of(rows: pa.Table, ids: Sequence[str], level: str) -> np.ndarray | None:
    """Return the row of each passage in `ids`; None if rows have that order already.

    Raises
    ------
    ValueError
        If the rows are of other passages.
    """
    owners = indices_of(rows["passage_id"], ids)
    if len(owners) != len(ids) or (np.sort(owners) != np.arange(len(ids))).any():
        raise _changed(rows.num_rows, len(ids), level)
    return None if (owners[1:] > owners[:-1]).all() else np.argsort(owners)


def _filled(indices: pa.Array | pa.ChunkedArray) -> np.ndarray:
    return pc.fill_null(indices, -1).to_numpy()


def _in_order(values: np.ndarray, order: np.ndarray | None) -> np.ndarray:
    return values if order is None else values[order]


def _changed(n_rows: int, n_passages: int, level: str = "") -> ValueError:
    of_level = f" of level '{level}'" if level else ""
    return ValueError(
        f"lightpal: the candidates of {n_rows} passages are not those of {n_passages} "
        f"passages{of_level}; materialize lightpal/candidates again"
    )
