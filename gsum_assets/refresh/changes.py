"""What was added to the documents and graphs of a corpus, and what was removed from them.

Before a file is replaced, its keys are compared with the new ones, and the difference is appended
to the table `changes`, until the leftovers of deleted documents are removed.
"""

import uuid
from datetime import UTC, datetime

import pyarrow as pa

from gsum_assets.pipeline.tables import TABLES
from gsum_resources.store.appended import path_of, paths_of, read_appended
from gsum_resources.store.arrow import pc
from gsum_resources.store.parquet_store import ParquetStore, Partition
from gsum_resources.store.table import Table

NOTED = (
    "documents",
    "chunks",
    "gor.record_edges",
    "graphrag.communities",
    "graphrag.entities",
    "graphrag.relationships",
)
"""Tables whose rows have ids that stay the same when others change."""

_CHANGES = TABLES["changes"]
_ADDED, _REMOVED = "added", "removed"


def note_changes(
    store: ParquetStore, table: Table, file: Partition, rows: pa.Table, run_id: str
) -> None:
    """Append how the rows of a file that is about to be replaced differ from those that it has.

    A killed run notes the same again; the last change of a row counts.
    """
    if table.name not in NOTED:
        return
    key = list(table.key)
    stored, hashes = store.read(table, [file], key)
    if not hashes:
        return
    before, after = stored.select(key), rows.select(key)
    added = after.join(before, key, join_type="left anti")
    removed = before.join(after, key, join_type="left anti")
    changed = pa.concat_tables([added, removed])
    if not changed.num_rows:
        return
    ids = pc.binary_join_element_wise(*(changed[name] for name in key), " ")
    n = changed.num_rows
    columns = {
        "table_name": pa.repeat(table.name, n),
        "row_id": ids,
        "change": pa.array([_ADDED] * added.num_rows + [_REMOVED] * removed.num_rows),
        "run_id": pa.repeat(run_id, n),
        "time": pa.repeat(pa.scalar(datetime.now(UTC), _CHANGES.schema.field("time").type), n),
    }
    _append(store, file.corpus, pa.table(columns, schema=_CHANGES.schema))


def forget_changes(store: ParquetStore, corpus: str) -> None:
    """Remove all changes of rows that were removed; those of present rows stay."""
    paths = paths_of(store, _CHANGES, corpus)
    rows = read_appended(store, _CHANGES, corpus).sort_by("time")
    last = {(row["table_name"], row["row_id"]): row["change"] for row in rows.to_pylist()}
    names = zip(rows["table_name"].to_pylist(), rows["row_id"].to_pylist(), strict=True)
    present = rows.filter(pa.array([last[name] == _ADDED for name in names], pa.bool_()))
    if present.num_rows < rows.num_rows:
        _append(store, corpus, present)
        for path in paths:
            store.fs.rm_file(path)


def _append(store: ParquetStore, corpus: str, rows: pa.Table) -> None:
    path = path_of(store, _CHANGES, corpus, uuid.uuid4().hex)
    store.write_file(path, rows, compression="zstd")
