"""The store as a step may use it: no row of a table that the step does not declare."""

from collections.abc import Collection, Sequence

import pyarrow as pa

from gsum_resources.store.parquet_store import ParquetStore, Partition
from gsum_resources.store.partition import StoreError
from gsum_resources.store.table import Table


class StepStore(ParquetStore):
    """A store that reads rows only of the tables that a step reads or writes.

    Memos, checkpoints and footers are not restricted.

    Parameters
    ----------
    store : the store of the home.
    step : name of the step, for messages.
    tables : names of the tables that it declares.
    """

    def __init__(self, store: ParquetStore, step: str, tables: Collection[str]) -> None:
        vars(self).update(vars(store))  # the same file system, and the footers known so far
        self._store, self._step, self._declared = store, step, frozenset(tables)

    def read(
        self,
        table: Table,
        partitions: Sequence[Partition],
        columns: Sequence[str] | None = None,
        as_dictionaries: Sequence[str] = (),
    ) -> tuple[pa.Table, dict[Partition, str]]:
        """Return rows of a declared table, see `ParquetStore.read`."""
        self._require(table)
        return self._store.read(table, partitions, columns, as_dictionaries)

    def counts(self, tables: Sequence[Table], corpus: str) -> dict[str, int]:
        """Return the number of rows in each of some declared tables, by name."""
        for table in tables:
            self._require(table)
        return self._store.counts(tables, corpus)

    def _require(self, table: Table) -> None:
        if table.name not in self._declared:
            raise StoreError(undeclared(self._step, table.name))


def undeclared(step: str, table: str) -> str:
    """Return the message about a table that a step reads without declaring it."""
    return f"step '{step}' reads '{table}', which it does not declare; add it to its `reads`"
