"""Dagster's SQLite storage without the work that it repeats for each event.

Dagster 1.13 creates a new SQLAlchemy engine for every statement, which compiles the statement again
and closes the database, and runs its schema's migrations for every run. This storage keeps engines.
Two processes that create the databases of a new instance at the same time fail on each other's
tables; here each database file appears complete. The file format is Dagster's: either storage reads
files of the other.
"""

import os
import tempfile
import uuid
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import dagster as dg
import sqlalchemy as db
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.event import listen
from sqlalchemy.pool import QueuePool

from gsum_resources.dagster_io.dagster_private import (
    DagsterSqliteStorage,
    SqliteEventLogStorage,
    SqliteRunStorage,
    SqliteScheduleStorage,
)

_INDEX = "index"  # the shard of all runs
_DATABASES = ("history/runs.db", f"history/runs/{_INDEX}.db", "schedules/schedules.db")
_TIMEOUT_S = 30  # to wait for another writer; Dagster's value
_KEPT = 8  # engines of the most recently used runs; a UI reads many runs


def engine_of(url: str) -> Engine:
    """Return an engine that keeps one connection open."""
    timeout = {"timeout": _TIMEOUT_S}
    return db.create_engine(url, poolclass=QueuePool, pool_size=1, connect_args=timeout)


class EventLog(SqliteEventLogStorage):
    """Dagster's event log: one file per run, and an index of all runs.

    A commit does not wait for the disk: after a power failure the last events may be missing, which
    say nothing that the store does not know. A killed process loses none.
    """

    @cached_property
    def _engines(self) -> OrderedDict[str, Engine]:
        return OrderedDict()

    @cached_property
    def _existing(self) -> set[tuple[str, str]]:
        """Tables and columns found in the index; cached, since they are never removed."""
        return set()

    @contextmanager
    def _connect(self, shard: str) -> Iterator[Connection]:
        with self._db_lock:
            engine = self._engine_of(shard)
            if shard not in self._initialized_dbs:
                self._initdb(engine)
                self._initialized_dbs.add(shard)
            with engine.begin() as connection:
                yield connection

    def _engine_of(self, shard: str) -> Engine:
        if shard not in self._engines:
            engine = engine_of(self.conn_string_for_shard(shard))
            listen(engine, "connect", lambda raw, _: raw.execute("PRAGMA synchronous = NORMAL"))
            self._engines[shard] = engine
            if len(self._engines) > _KEPT:
                oldest = next(name for name in self._engines if name != _INDEX)
                self._engines.pop(oldest).dispose()
        self._engines.move_to_end(shard)
        return self._engines[shard]

    def _initdb(self, engine: Engine, for_index_shard: bool = False) -> None:
        path = Path(str(engine.url.database))
        is_new = not for_index_shard and not path.exists()
        if not (is_new and _write_once(path, _no_events())):
            super()._initdb(engine, for_index_shard)

    def store_event(self, event: dg.EventLogEntry) -> None:
        """Store an event and touch the file of its run: the UI watches that file, not the WAL."""
        super().store_event(event)
        os.utime(self.path_for_shard(event.run_id))

    def has_table(self, table_name: str) -> bool:
        """Return whether the index has a table."""
        name = ("table", table_name)
        if name not in self._existing and super().has_table(table_name):
            self._existing.add(name)
        return name in self._existing

    def _has_asset_key_col_on_connection(self, conn: Connection, column_name: str) -> bool:
        name = ("asset_keys", column_name)
        is_known = name in self._existing
        if not is_known and super()._has_asset_key_col_on_connection(conn, column_name):
            self._existing.add(name)
        return name in self._existing

    def wipe(self) -> None:
        """Remove all events and the files of runs."""
        self.close()
        super().wipe()

    def dispose(self) -> None:
        """Close all engines."""
        super().dispose()
        self.close()

    def close(self) -> None:
        """Close every shard, so that SQLite folds its log into the file."""
        with self._db_lock:
            while self._engines:
                self._engines.popitem()[1].dispose()


@cache
def _no_events() -> bytes:
    """Return the content of an event file without events, as Dagster creates it."""
    with tempfile.TemporaryDirectory() as folder:
        log = SqliteEventLogStorage(folder)
        with log.run_connection("none"):
            pass
        return Path(log.path_for_shard("none")).read_bytes()


def _write_once(path: Path, content: bytes) -> bool:
    """Write a file atomically unless it exists; return whether it was written."""
    temporary = path.with_suffix(f".{uuid.uuid4().hex}.part")
    temporary.write_bytes(content)
    try:
        os.link(temporary, path)
    except OSError:  # another process was faster, or the file system has no links
        return False
    finally:
        temporary.unlink()
    return True


@cache
def _no_runs() -> Mapping[str, bytes]:
    """Return the files of a new instance by path, as Dagster creates them."""
    with tempfile.TemporaryDirectory() as folder:
        SqliteRunStorage.from_local(f"{folder}/history")
        SqliteEventLogStorage(f"{folder}/history/runs")
        SqliteScheduleStorage.from_local(f"{folder}/schedules")
        return {name: (Path(folder) / name).read_bytes() for name in _DATABASES}


class RunHistory(SqliteRunStorage):
    """Dagster's table of runs, with an engine that stays open."""

    @cached_property
    def _engine(self) -> Engine:
        return engine_of(self._conn_string)

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        """Yield a connection in a transaction."""
        with self._engine.begin() as connection:
            yield connection

    def dispose(self) -> None:
        """Close the engine."""
        self._engine.dispose()


class InstanceStorage(DagsterSqliteStorage):
    """Dagster's SQLite storage with engines that stay open; named in `dagster.yaml`."""

    def __init__(self, base_dir: str, inst_data: Any = None) -> None:
        self.base_dir = base_dir
        for name in _DATABASES:
            path = Path(base_dir) / name
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                _write_once(path, _no_runs()[name])
        history = Path(base_dir) / "history"
        self._run_storage = RunHistory.from_local(f"{history}/")
        self._event_log_storage = EventLog(f"{history}/runs/")
        self._schedule_storage = SqliteScheduleStorage.from_local(f"{base_dir}/schedules")
        self._inst_data = inst_data
        super(DagsterSqliteStorage, self).__init__()

    @classmethod
    def from_config_value(cls, inst_data: Any, config_value: Any) -> "InstanceStorage":
        """Create the storage from its section of `dagster.yaml`."""
        return cls.from_local(inst_data=inst_data, **config_value)
