"""Append-only tables, such as the ledgers: every write adds one complete file.

Many files are united from time to time. A united file lists those that it replaces, so that a
reader counts no row twice, whenever the process that united them was killed.
"""

import json
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress

import pyarrow as pa
import pyarrow.parquet as pq

from gsum_resources.store.parquet_store import ParquetStore
from gsum_resources.store.table import Table

LEDGERS = ("llm_calls", "embedding_calls")
"""The ledgers of requests."""
APPENDED = (*LEDGERS, "changes")
"""The tables that are written so."""
MANY = 64  # files of a corpus from which they are united
_UNITED = "united-"
_REPLACES = b"replaces"


def read_appended(store: ParquetStore, table: Table, corpus: str) -> pa.Table:
    """Return all rows of a corpus, in no particular order."""
    return pa.concat_tables([table.empty(), *_files(store, table, corpus)[0].values()])


def unite_appended(store: ParquetStore, table: Table, corpus: str) -> None:
    """Write the files of a corpus as one if they are many; for one process at a time."""
    if len(paths_of(store, table, corpus)) < MANY:
        return
    files, replaced = _files(store, table, corpus)
    paths = sorted([*files, *replaced])
    names = {_REPLACES: json.dumps([_name_of(path) for path in paths])}
    rows = pa.concat_tables(files.values()).replace_schema_metadata(names)
    store.write_file(
        path_of(store, table, corpus, f"{_UNITED}{uuid.uuid4().hex}"), rows, compression="zstd"
    )
    for path in paths:
        with suppress(FileNotFoundError):
            store.fs.rm_file(path)


def path_of(store: ParquetStore, table: Table, corpus: str, name: str) -> str:
    """Return the path of a file of the table."""
    return f"{store.root}/{table.name}/corpus={corpus}/{name}.parquet"


def paths_of(store: ParquetStore, table: Table, corpus: str) -> list[str]:
    """Return the paths of the table's files, in order."""
    return store.glob(f"{table.name}/corpus={corpus}/*.parquet")


def _files(
    store: ParquetStore, table: Table, corpus: str
) -> tuple[Mapping[str, pa.Table], Sequence[str]]:
    """Return the rows of each file by path, and the paths of those that a united one replaces."""
    while True:
        rows_of: dict[str, pa.Table] = {}
        replaced: set[str] = set()
        paths = paths_of(store, table, corpus)
        try:
            for path in paths:
                with store.open_file(path) as source:
                    if _name_of(path).startswith(_UNITED):
                        metadata = pq.read_metadata(source).metadata or {}
                        replaced |= set(json.loads(metadata[_REPLACES]))
                        source.seek(0)
                    rows_of[path] = pq.read_table(source, schema=table.schema)
        except FileNotFoundError:  # united meanwhile
            continue
        to_remove = [path for path in paths if _name_of(path) in replaced]
        return {path: rows_of[path] for path in rows_of.keys() - to_remove}, to_remove


def _name_of(path: str) -> str:
    return path.rsplit("/", 1)[-1].removesuffix(".parquet")
