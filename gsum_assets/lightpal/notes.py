"""Notes next to a table's file: what the table was computed from, for the next run."""

import json
from collections.abc import Mapping
from typing import Any

from gsum_resources.store.parquet_store import FILE_NAME, ParquetStore, Partition
from gsum_resources.store.table import Table


def write_note(
    store: ParquetStore, table: Table, corpus: str, name: str, record: Mapping[str, Any]
) -> None:
    """Store a note, in one step."""
    store.replace_file(_path(store, table, corpus, name), json.dumps(record).encode())


def read_note(store: ParquetStore, table: Table, corpus: str, name: str) -> dict[str, Any] | None:
    """Return a note; None if there is none. Whether it is of the stored rows, the caller checks."""
    try:
        return json.loads(store.fs.cat_file(_path(store, table, corpus, name)))
    except FileNotFoundError:
        return None


def _path(store: ParquetStore, table: Table, corpus: str, name: str) -> str:
    return store.path(table, Partition(corpus)).removesuffix(FILE_NAME) + name
