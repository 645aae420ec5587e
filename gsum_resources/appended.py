"""Append-only tables, such as the ledgers: every write adds one complete file."""

import pyarrow as pa
import pyarrow.parquet as pq

from gsum_resources.parquet_store import ParquetStore
from gsum_resources.table import Table


def read_appended(store: ParquetStore, table: Table, corpus: str) -> pa.Table:
    """Return all rows of a corpus, in no particular order."""
    tables = [table.empty()]
    for path in store.fs.glob(path_of(store, table, corpus, "*")):
        with store.open_file(path) as source:
            tables.append(pq.read_table(source, schema=table.schema))
    return pa.concat_tables(tables)


def path_of(store: ParquetStore, table: Table, corpus: str, name: str) -> str:
    """Return the path of a file of the table."""
    return f"{store.root}/{table.name}/corpus={corpus}/{name}.parquet"
