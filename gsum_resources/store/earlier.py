"""Rows that an earlier run of a step computed, of which the next run keeps those that are valid.

They count if the same code wrote them, and the models and settings on which every row depends are
the same: their file's footer says so. The key of a row often says what else it was computed from;
the id of a chunk, for example, is a hash of its text. Where it does not, the step stores a basis,
which does: a table in a file beside the rows that names the rows it belongs to by their content
hash, so that after a kill between two writes neither is used.
"""

from collections.abc import Collection, Mapping, Sequence

import pyarrow as pa
import pyarrow.ipc

from gsum_resources.store.content_hash import content_hash
from gsum_resources.store.lazy import lazy_rows
from gsum_resources.store.lineage import code_version_of
from gsum_resources.store.parquet_store import ParquetStore
from gsum_resources.store.partition import FILE_NAME, Partition
from gsum_resources.store.table import Table

_BASIS = "basis.arrow"
_ROWS = b"rows"


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

    def with_basis(
        self, columns: Sequence[str] | None = None, as_dictionaries: Sequence[str] = ()
    ) -> tuple[pa.Table, pa.Table] | None:
        """Return all rows of a table about the whole corpus, and their basis; None without one."""
        if self.store is None or not (partitions := self._partitions(self.store)):
            return None
        rows, hashes = self.store.read(self._table, partitions, columns, as_dictionaries)
        version = hashes.get(Partition(self._corpus), "")
        basis = read_basis(self.store, self._table, self._corpus, version)
        return None if basis is None else (rows, basis)

    def write_basis(self, rows: pa.Table, basis: pa.Table) -> None:
        """Store the basis of `rows`, which are to be stored next."""
        if self.store is None:
            return
        version = content_hash(rows, self._table.measured)
        basis = basis.replace_schema_metadata({**(basis.schema.metadata or {}), _ROWS: version})
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, basis.schema) as writer:
            writer.write_table(basis)
        path = path_beside(self.store, self._table, Partition(self._corpus), _BASIS)
        self.store.replace_file(path, memoryview(sink.getvalue()))

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


def read_basis(
    store: ParquetStore, table: Table, corpus: str, content_hash: str
) -> pa.Table | None:
    """Return the basis of the rows of a content hash; None if they have none."""
    try:
        content = store.fs.cat_file(path_beside(store, table, Partition(corpus), _BASIS))
    except FileNotFoundError:
        return None
    basis = pa.ipc.open_file(pa.BufferReader(content)).read_all()
    return basis if basis.schema.metadata[_ROWS].decode() == content_hash else None


def path_beside(store: ParquetStore, table: Table, partition: Partition, name: str) -> str:
    """Return the path of a file in the folder of a partition's file."""
    return store.path(table, partition).removesuffix(FILE_NAME) + name
