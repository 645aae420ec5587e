"""Inputs that are read on demand, and what a resident process keeps of them."""

from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain
from threading import Lock
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from gsum_resources.store.arrow import pc
from gsum_resources.store.parquet_store import ParquetStore, Partition
from gsum_resources.store.partition import StoreError, version_of
from gsum_resources.store.table import Table

Value = TypeVar("Value")


class Lazy:
    """An input that is read, and recorded as an input, only when a method is called.

    The functions but `read` do the same as the methods for less: without them, what is asked of a
    table is selected from the whole, it has one part, and its version is not known.
    """

    def __init__(
        self,
        read: Callable[[], Any],
        read_columns: Callable[[Sequence[str]], Any] | None = None,
        find_parts: Callable[[], Sequence["Lazy"]] | None = None,
        read_rows_with: Callable[[str, pa.Array], Any] | None = None,
        read_version: Callable[[], str] | None = None,
    ) -> None:
        self._read = read
        self._read_columns = read_columns
        self._find_parts = find_parts
        self._read_rows_with = read_rows_with
        self._read_version = read_version

    @classmethod
    def of(cls, value: Any) -> "Lazy":
        """Return an input that is in memory."""
        return cls(lambda: value)

    def get(self) -> Any:
        """Read the input."""
        return self._read()

    def columns(self, names: Sequence[str]) -> Any:
        """Read some columns of a table; the whole table is recorded as an input."""
        if self._read_columns is None:
            return self._read().select(list(names))
        return self._read_columns(names)

    def parts(self) -> Sequence["Lazy"]:
        """Return the parts of a table, so that one at a time need be in memory."""
        return self._find_parts() if self._find_parts else [self]

    def rows_with(self, column: str, values: Sequence[str]) -> Any:
        """Return the rows of a table whose text in a column is one of `values`."""
        wanted = pa.array(values, pa.string())
        if self._read_rows_with is None:
            return rows_where(self._read(), column, wanted)
        return self._read_rows_with(column, wanted)

    def version(self) -> str | None:
        """Return a hash of a table's content, which is recorded as an input; None: not known."""
        return self._read_version() if self._read_version else None


def lazy_rows(
    store: ParquetStore,
    table: Table,
    partitions: Sequence[Partition],
    as_dictionaries: Sequence[str] = (),
    note: Callable[[Mapping[Partition, str]], None] = lambda _: None,
    required: bool = False,
) -> Lazy:
    """Return the rows of some partitions, read on demand.

    Parameters
    ----------
    as_dictionaries : columns of texts to read as dictionaries.
    note : called with the content hash of each partition that is read, or whose version is.
    required : whether reading a partition without a file raises `StoreError`.
    """

    def read(
        columns: Sequence[str] | None = None, some: Sequence[Partition] = partitions
    ) -> pa.Table:
        rows, hashes = store.read(table, some, columns, as_dictionaries)
        if required:
            require_written(table, some, hashes)
        note(hashes)
        return rows

    def parts() -> list[Lazy]:
        return [lazy_rows(store, table, [p], as_dictionaries, note, required) for p in partitions]

    def rows_with(column: str, values: pa.Array) -> pa.Table:
        """Read the other columns only of partitions that have such a row."""
        tables = [
            rows_where(read(some=[partition]), column, values)
            for partition in partitions
            if rows_where(read([column], [partition]), column, values).num_rows
        ]
        return pa.concat_tables(tables) if tables else read(some=[])

    def version() -> str:
        footers = store.footers(table, partitions)
        hashes = {partition: footer.content_hash for partition, footer in footers.items()}
        if required:
            require_written(table, partitions, hashes)
        note(hashes)
        return version_of(hashes)

    return Lazy(read, lambda names: read(names).select(list(names)), parts, rows_with, version)


def restricted_to(table: Lazy, column: str, values: Sequence[str]) -> Lazy:
    """Return the rows of a table whose text in a column is one of `values`, without a version."""
    wanted = pa.array(values, pa.string())

    def columns(names: Sequence[str]) -> pa.Table:
        rows = table.columns(list(dict.fromkeys([*names, column])))
        return rows_where(rows, column, wanted).select(list(names))

    def rows_with(other: str, others: pa.Array) -> pa.Table:
        return rows_where(table.rows_with(other, others.to_pylist()), column, wanted)

    return Lazy(lambda: table.rows_with(column, values), columns, read_rows_with=rows_with)


def require_written(
    table: Table, partitions: Collection[Partition], written: Collection[Partition]
) -> None:
    """Raise `StoreError` if a partition has never been written: it is missing, not empty."""
    missing = [partition for partition in partitions if partition not in written]
    if not missing:
        return
    first = missing[0]
    of = " of ".join(filter(None, [first.method, f"'{first.corpus}'"]))
    n = f" ({len(missing)} of {len(partitions)} buckets)" if first.bucket else ""
    raise StoreError(
        f"{table.name} of {of} were never made{n}; materialize or observe them first, or `gsum run "
        f"{first.corpus}`"
    )


def rows_where(rows: pa.Table, column: str, values: pa.Array) -> pa.Table:
    """Return the rows whose value of a column is one of `values`."""
    return rows.filter(pc.is_in(rows[column], value_set=values))


class RowIndex:
    """Selects rows in the time that these rows take, not the table.

    Of the parts, of which there is one at least, the `n_kept` used last stay decoded in memory.
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


class Kept:
    """Values by name, each kept for the two versions of its inputs that were used last.

    While tables are replaced, questions of some methods are still answered from the old ones.
    Threads that need the same value wait for the one that makes it.
    """

    def __init__(self) -> None:
        self._values: dict[Hashable, OrderedDict[Hashable, _Slot]] = {}
        self._lock = Lock()

    def get(self, name: Hashable, version: Hashable, make: Callable[[], Value]) -> Value:
        """Return a value of a version, which is made if it is not kept."""
        with self._lock:
            versions = self._values.setdefault(name, OrderedDict())
            slot = versions.setdefault(version, _Slot())
            versions.move_to_end(version)
            while len(versions) > 2:
                versions.popitem(last=False)
        with slot.lock:
            if not slot.is_made:
                slot.value = make()
                slot.is_made = True
        return slot.value


class _Slot:
    def __init__(self) -> None:
        self.lock, self.is_made = Lock(), False
        self.value: Any = None
