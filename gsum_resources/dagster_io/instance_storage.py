"""Dagster's storage, whichever database it is: its texts, which `gsum forget` searches."""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg
import sqlalchemy as sa

_ROWS_AT_ONCE = 1000
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
        connect: Connect | None = getattr(storage, "index_connection", None)
        connect = connect or getattr(storage, "connect", None)
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
    if folder := getattr(logs, "_base_dir", ""):  # of logs in files
        found.folders.append(Path(folder))
    elif type(logs).__name__ != "NoOpComputeLogManager":
        found.unknown.append(type(logs).__name__)
    return found


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
