"""Dagster's storage, whichever database it is: its texts, and the events of partitions."""

import json
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg
import sqlalchemy as sa

from gsum_resources.dagster_io import dagster_private as private
from gsum_resources.state.database import batches_of

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
