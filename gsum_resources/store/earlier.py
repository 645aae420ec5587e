"""Rows that an earlier run of a step computed, of which the next run keeps those that are valid.

They count if the same code wrote them, and the models and settings on which every row depends are
the same: their file's footer says so. The key of a row says what else it was computed from; the id
of a chunk, for example, is a hash of its text.
"""

from collections.abc import Collection, Mapping, Sequence

import pyarrow as pa

from gsum_resources.store.lazy import lazy_rows
from gsum_resources.store.lineage import code_version_of
from gsum_resources.store.parquet_store import ParquetStore
from gsum_resources.store.partition import FILE_NAME, Partition
from gsum_resources.store.table import Table


class Earlier:
    """The stored rows of a step's table that the step may use again.

    Parameters
    ----------
    store : the warehouse; None: there are no rows.
    buckets : buckets that the step runs for; empty: all.
    code_version : that of the step.
    depends_on : version by key of the models and settings on which every row depends.
    """

    def __init__(
        self,
        store: ParquetStore | None,
        table: Table,
        corpus: str,
        buckets: Collection[str] = (),
        code_version: str = "",
        depends_on: Mapping[str, str] | None = None,
    ) -> None:
        self.store, self._table, self._corpus = store, table, corpus
        self._buckets, self._depends_on = buckets, depends_on or {}
        self._code_version = code_version_of(table, code_version)

    def rows_with(self, column: str, values: Sequence[str]) -> pa.Table:
        """Return the rows whose text in a column is one of `values`."""
        if self.store is None:
            return self._table.empty()
        rows = lazy_rows(self.store, self._table, self._partitions(self.store))
        return rows.rows_with(column, values).select(self._table.schema.names)

    def _partitions(self, store: ParquetStore) -> list[Partition]:
        """Return the partitions that were written by the same code, models and settings."""
        partitions = [
            partition
            for partition in store.partitions(self._table, self._corpus)
            if not self._buckets or partition.bucket in self._buckets
        ]
        return [
            partition
            for partition, footer in store.footers(self._table, partitions).items()
            if footer.code_version == self._code_version
            and all(footer.inputs.get(key) == v for key, v in self._depends_on.items())
        ]


def path_beside(store: ParquetStore, table: Table, partition: Partition, name: str) -> str:
    """Return the path of a file in the folder of a partition's file."""
    return store.path(table, partition).removesuffix(FILE_NAME) + name
