"""Tables that grow by a file at a time, each written in one step: the ledgers."""

import pyarrow as pa
import pyarrow.parquet as pq

from gsum_resources.parquet_store import ParquetStore
from gsum_resources.table import Table


def read_appended(store: ParquetStore, table: Table, corpus: str) -> pa.Table:
    """Everything that is on record of a corpus, in no particular order."""
    parts = [table.empty()]
    for path in store.fs.glob(path_of(store, table, corpus, "*")):
        with store.fs.open(path, "rb") as source:
            parts.append(pq.read_table(source, schema=table.schema))
    return pa.concat_tables(parts)


def path_of(store: ParquetStore, table: Table, corpus: str, name: str) -> str:
    """Where a file of the table lies."""
    return f"{store.root}/{table.name}/corpus={corpus}/{name}.parquet"
