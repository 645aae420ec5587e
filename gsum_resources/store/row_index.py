"""Rows of a table by the values of its text columns, in a process that selects some often."""

from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import chain

import numpy as np
import pyarrow as pa

from gsum_resources.store.lazy import Lazy, rows_where


class RowIndex:
    """Selects rows in the time that these rows take, not the table.

    Parameters
    ----------
    parts : of the table, at least one.
    n_kept : parts whose rows stay decoded in memory, those used last.
    """

    def __init__(self, parts: Sequence[Lazy], n_kept: int) -> None:
        self._parts = parts
        self._part = lru_cache(n_kept)(lambda number: parts[number].get().combine_chunks())
        self._rows_by = cache(self._sorted)

    def rows_with(self, column: str, values: pa.Array) -> pa.Table:
        """Return the rows whose text in a column is one of `values`, in the table's order."""
        hashes, rows, bounds = self._rows_by(column)
        wanted = np.array([hash(value) for value in values.to_pylist()], np.int64)
        first, last = (np.searchsorted(hashes, wanted, side) for side in ("left", "right"))
        chosen = np.unique(
            np.concatenate([rows[:0], *(rows[slice(*of)] for of in zip(first, last, strict=True))])
        )
        numbers = np.searchsorted(bounds, chosen, "right") - 1
        tables = [
            # equal hashes are not always of equal values
            rows_where(
                self._part(number).take(chosen[numbers == number] - bounds[number]), column, values
            )
            for number in np.unique(numbers).tolist()
        ]
        return pa.concat_tables(tables) if tables else self._part(0).slice(0, 0)

    def _sorted(self, column: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return hashes of all values, ascending, the row of each, and the first row of parts."""
        columns = [part.columns([column])[column].to_pylist() for part in self._parts]
        lengths = list(map(len, columns))
        hashes = np.fromiter(map(hash, chain.from_iterable(columns)), np.int64, sum(lengths))
        order = np.argsort(hashes, kind="stable")
        return hashes[order], order, np.cumsum([0, *lengths])
