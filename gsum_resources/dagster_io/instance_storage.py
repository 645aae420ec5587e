"""Dagster's storage, whichever database it is: its texts, and previews of rows in its events."""

import json
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg
import sqlalchemy as sa

from gsum_resources.dagster_io import dagster_private as private
from gsum_resources.dagster_io.event_log import EventLog, engine_of
from gsum_resources.dagster_io.instance import PREVIEW
from gsum_resources.state.database import batches_of

_FORGOTTEN = "forgotten preview"
_PREVIEW_COLUMNS = (("event_logs", "event"), ("asset_keys", "last_materialization"))
_ROWS_AT_ONCE = 1000
_EVENTS_OF = "select id from event_logs where asset_key = :key and partition in :keys"
# without the copy, Dagster reads the latest event that is left
_NO_LATEST = (
    "update asset_keys set last_materialization = null, cached_status_data = null "
    "where asset_key = :key"
)
_TEXT_TYPES = (sa.String, sa.LargeBinary, sa.JSON)
Connect = Callable[[], AbstractContextManager[sa.Connection]]


@dataclass(frozen=True)
class Preview:
    """Identify the rows that an event shows; a key of several dimensions is plain text."""

    asset: list[str]
    partition: str | None
    run_id: str


@dataclass(frozen=True)
class StorageLocations:
    """Databases and folders of an instance of Dagster.

    Attributes
    ----------
    databases : by address without password, how to read all texts.
    folders : of SQLite files and of the logs of steps.
    unknown : storages that cannot be searched, by the names of their classes.
    """

    databases: dict[str, Callable[[], Iterator[str]]]
    folders: list[Path]
    unknown: list[str]


def storage_of(instance: dg.DagsterInstance) -> StorageLocations:
    """Find the databases, folders and unknown storages of an instance."""
    found = StorageLocations({}, [], [])
    storages = instance.event_log_storage, instance.run_storage, instance.schedule_storage
    for storage in storages:
        connect = _connect(storage)
        if connect is None:
            found.unknown.append(type(storage).__name__)
            continue
        with connect() as connection:
            url = connection.engine.url
        if url.get_backend_name() == "sqlite" and url.database:
            found.folders.append(Path(url.database).parent)
        else:
            found.databases[url.render_as_string()] = lambda connect=connect: _texts(connect)
    logs = instance.compute_log_manager
    if isinstance(logs, private.LocalComputeLogManager):
        found.folders.append(Path(logs._base_dir))
    elif not isinstance(logs, private.NoOpComputeLogManager):
        found.unknown.append(type(logs).__name__)
    return found


def forget_previews(log: object, is_kept: Callable[[Preview], bool]) -> int:
    """Remove the rows that events show, all but those to keep, and return how many events.

    What was removed is overwritten on the disk as far as the database can tell. Of a storage that
    `storage_of` calls unknown nothing is removed.
    """
    if isinstance(log, private.SqliteEventLogStorage):
        if isinstance(log, EventLog):
            log.close()  # so that SQLite can fold what it keeps beside its files into them
        paths = sorted(Path(log._base_dir).glob("*.db"))
        return sum(_forget_in_file(path, is_kept) for path in paths)
    if not isinstance(log, private.SqlEventLogStorage):
        return 0
    with log.index_connection() as connection:
        n_removed = _forget_previews(connection, is_kept)
        engine = connection.engine
    if n_removed and engine.dialect.name == "postgresql":
        with engine.connect() as connection:
            tables = ", ".join(table for table, _ in _PREVIEW_COLUMNS)
            alone = connection.execution_options(isolation_level="AUTOCOMMIT")
            alone.exec_driver_sql(f"VACUUM {tables}")
    return n_removed


def wipe_partitions(
    instance: dg.DagsterInstance, key: dg.AssetKey, partitions: Collection[str]
) -> None:
    """Remove the events of an asset's partitions from Dagster's index, so that it shows none.

    The public `DagsterInstance.wipe_asset_partitions` is not implemented for any open-source
    storage. Of a storage that `storage_of` calls unknown nothing is removed.
    """
    log = instance.event_log_storage
    if not isinstance(log, private.SqlEventLogStorage) or not partitions:
        return
    with log.index_connection() as connection:
        for keys in batches_of(sorted(partitions), _ROWS_AT_ONCE):
            named = sa.text(_EVENTS_OF).bindparams(sa.bindparam("keys", expanding=True))
            ids = connection.execute(named, {"key": key.to_string(), "keys": keys}).scalars().all()
            for some in batches_of(ids, _ROWS_AT_ONCE):
                for table, column in (("asset_event_tags", "event_id"), ("event_logs", "id")):
                    statement = sa.text(f"delete from {table} where {column} in :ids")
                    listed = statement.bindparams(sa.bindparam("ids", expanding=True))
                    connection.execute(listed, {"ids": some})
        connection.execute(sa.text(_NO_LATEST), {"key": key.to_string()})


def _connect(storage: Any) -> Connect | None:
    """Return how to open a connection to the database of a storage; None where it has none."""
    if isinstance(storage, private.SqlEventLogStorage):
        return storage.index_connection
    if isinstance(storage, (private.SqlRunStorage, private.SqlScheduleStorage)):
        return storage.connect
    return None


def _texts(connect: Connect) -> Iterator[str]:
    """Yield every text of every table, a thousand rows at a time."""
    with connect() as connection:
        engine = connection.engine
    # Dagster's own connections commit each statement, and have no cursors that stream
    in_transaction = engine.connect().execution_options(isolation_level="SERIALIZABLE")
    with in_transaction as connection:
        for name in sa.inspect(connection).get_table_names():
            table = sa.Table(name, sa.MetaData(), autoload_with=connection)
            columns = [column for column in table.columns if isinstance(column.type, _TEXT_TYPES)]
            if not columns:
                continue
            rows = connection.execute(sa.select(*columns).execution_options(stream_results=True))
            for some in rows.yield_per(_ROWS_AT_ONCE).partitions():
                yield "\n".join(_text(value) for row in some for value in row if value)


def _text(value: Any) -> str:
    if isinstance(value, (bytes, memoryview)):
        return bytes(value).decode("utf-8", "ignore")
    return value if isinstance(value, str) else json.dumps(value)


def _forget_in_file(path: Path, is_kept: Callable[[Preview], bool]) -> int:
    """Remove previews from one SQLite file of the event log."""
    engine = engine_of(f"sqlite:///{path}")
    try:
        with engine.begin() as connection:
            connection.exec_driver_sql("PRAGMA secure_delete = ON")
            n_removed = _forget_previews(connection, is_kept)
        with engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        engine.dispose()
    return n_removed


def _forget_previews(connection: sa.Connection, is_kept: Callable[[Preview], bool]) -> int:
    """Remove previews from the tables of a connection."""
    n_removed = 0
    for table, column in _PREVIEW_COLUMNS:
        marked = sa.text(f"select id, {column} from {table} where {column} like :mark")
        change = sa.text(f"update {table} set {column} = :event where id = :id")
        for id_, content in connection.execute(marked, {"mark": f'%"label": "{PREVIEW}"%'}).all():
            if (rewritten := _without_preview(json.loads(content), is_kept)) is not None:
                connection.execute(change, {"event": rewritten, "id": id_})
                n_removed += 1
    return n_removed


def _without_preview(event: dict[str, Any], is_kept: Callable[[Preview], bool]) -> str | None:
    """Return an event without the rows that it shows; None where they are to be kept."""
    entry = event.get("event_log_entry", event)
    data = entry["dagster_event"]["event_specific_data"]
    shown = data.get("materialization") or data
    key = shown.get("asset_key") or {"path": []}
    if is_kept(Preview(key["path"], shown.get("partition"), entry["run_id"])):
        return None
    for item in shown["metadata_entries"]:
        if item["label"] == PREVIEW:
            item["label"] = _FORGOTTEN
            item["entry_data"]["md_str"] = "A document that was shown here has been deleted."
    return json.dumps(event)
