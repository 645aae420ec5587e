"""The state database of a home, besides its tables: replies, calls, limits, locks.

It is the file `state.db` in the home (SQLite), or PostgreSQL by `[state] url` of `gsum.toml`. A
committed transaction is on disk and survives `kill -9` and a power cut. Any number of threads and
processes may read and write.
"""

import errno
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    InterfaceError,
    NoSuchModuleError,
    OperationalError,
)
from sqlalchemy.pool import StaticPool

from gsum_resources.store.content_hash import hash_texts
from gsum_resources.store.parquet_store import MemoryFiles, ParquetStore

Value = TypeVar("Value")

_EXAMPLE = "write postgresql+psycopg2://user:password@host/name, or remove it"
_SERVER_CLOCK = "SELECT extract(epoch FROM clock_timestamp())"
MEMORY = "sqlite://"
"""URL of an in-memory database that belongs to a single `State`."""
_AT_ONCE = 5000  # keys in one statement; SQLite takes 32,766 parameters
_TIMEOUT_S = 300.0  # to wait for another writer
RESTART_S = 60.0  # to wait for a server that is being restarted
_RECONNECT_S = 0.5
_SYNC = "gsum_synchronous"  # execution option of a writing transaction

_TABLES = sa.MetaData()
_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

REPLIES = sa.Table(
    "replies",
    _TABLES,
    sa.Column("key", sa.LargeBinary, primary_key=True),  # 16 bytes: hash of the request
    sa.Column("kind", sa.Text, primary_key=True),
    sa.Column("model", sa.Text, primary_key=True),  # hash of its identity
    sa.Column("value", sa.LargeBinary, nullable=False),
    sa.Column("created", sa.DateTime(timezone=True), server_default=sa.func.now()),
)
CALLS = sa.Table(  # the ledger; `exports` has the last call that is in the table `llm_calls`
    "calls",
    _TABLES,
    sa.Column("id", _NUMBER, primary_key=True),
    sa.Column("corpus", sa.Text, nullable=False),
    sa.Column("asset", sa.Text),
    sa.Column("document_id", sa.Text),
    sa.Column("model", sa.Text),
    sa.Column("prompt_hash", sa.Text),
    sa.Column("tokens_in", sa.BigInteger),
    sa.Column("tokens_out", sa.BigInteger),
    sa.Column("latency_s", sa.Double),
    sa.Column("calls", sa.BigInteger),
    sa.Column("retries", sa.BigInteger),
    sa.Column("structured", sa.Boolean),
    sa.Column("left_out", sa.BigInteger),
    sa.Column("cached", sa.Boolean),
    sa.Column("cost_usd", sa.Double),
    sa.Column("error", sa.Text),
    sa.Column("run_id", sa.Text),
    sa.Column("time", sa.BigInteger),  # microseconds since 1970
    sa.Index("calls_by_corpus", "corpus", "id"),
    sqlite_autoincrement=True,  # ids are never reused, so that `exports` stays valid
)
EXPORTS = sa.Table(
    "exports",
    _TABLES,
    sa.Column("corpus", sa.Text, primary_key=True),
    sa.Column("last_id", _NUMBER, nullable=False),
)
SEEN = sa.Table(  # version of `documents` that `seen_documents` was last compared with
    "seen_versions",
    _TABLES,
    sa.Column("corpus", sa.Text, primary_key=True),
    sa.Column("version", sa.Text, nullable=False),
)
SEEN_DOCUMENTS = sa.Table(
    "seen_documents",
    _TABLES,
    sa.Column("corpus", sa.Text, primary_key=True),
    sa.Column("document_id", sa.Text, primary_key=True),
    sa.Column("is_deleted", sa.Boolean, nullable=False),
)
ATTEMPTS = sa.Table(  # requests recently sent to servers
    "attempts",
    _TABLES,
    sa.Column("id", _NUMBER, primary_key=True),
    sa.Column("account", sa.Text, nullable=False),
    sa.Column("time", sa.Double, nullable=False),  # seconds by `State.now`
    sa.Column("tokens", sa.BigInteger, nullable=False),
    sa.Index("attempts_by_time", "account", "time"),
)
SPENDING = sa.Table(  # batches of requests, see `endpoint/budget.py`
    "spending",
    _TABLES,
    sa.Column("id", _NUMBER, primary_key=True),
    sa.Column("day", sa.Text, nullable=False),
    sa.Column("corpus", sa.Text, nullable=False),
    sa.Column("is_open", sa.Boolean, nullable=False),
    sa.Column("calls", sa.BigInteger, nullable=False),  # reserved while it is open, then spent
    sa.Column("tokens", sa.BigInteger, nullable=False),
    sa.Column("usd", sa.Double, nullable=False),
    sa.Column("spent_calls", sa.BigInteger, nullable=False),
    sa.Column("spent_tokens", sa.BigInteger, nullable=False),
    sa.Column("spent_usd", sa.Double, nullable=False),
    sa.Column("host", sa.Text, nullable=False),
    sa.Column("machine", sa.Text, nullable=False),
    sa.Column("pid", sa.BigInteger, nullable=False),
    sa.Column("born", sa.Double, nullable=False),
    sa.Index("spending_by_day", "day"),
    sqlite_autoincrement=True,
)
OVER_BUDGET = sa.Table(  # corpora that may exceed the budget
    "over_budget",
    _TABLES,
    sa.Column("corpus", sa.Text, primary_key=True),
    sa.Column("until", sa.Double, nullable=False),  # Unix time
)
LOCKS = sa.Table(  # runs that hold the advisory lock of a corpus, see `locks.py`
    "locks",
    _TABLES,
    sa.Column("corpus", sa.Text, primary_key=True),
    sa.Column("run_id", sa.Text, nullable=False),
    sa.Column("host", sa.Text, nullable=False),
    sa.Column("pid", sa.BigInteger, nullable=False),
)
MISSING = sa.Table(  # corpora whose folder is missing
    "missing_corpora",
    _TABLES,
    sa.Column("corpus", sa.Text, primary_key=True),
    sa.Column("since", sa.Double, nullable=False),  # Unix time when it was first noted
)
BUCKETS = sa.Table(
    "buckets",
    _TABLES,
    sa.Column("corpus", sa.Text, primary_key=True),
    sa.Column("n", sa.Integer, nullable=False),
)


class StateError(ValueError):
    """The database cannot be used; the message names the setting and the remedy."""


class StateAwayError(StateError):
    """The server of the database was there before, and does not answer any more."""


class State:
    """The database of a home.

    Raise `StateError` if the URL is invalid, or its driver or server is missing.

    Parameter `where`: path of an SQLite file, or the URL of a database. A file is created by the
    first write; until then it reads as an empty database.

    Attribute `address`: URL without its password.
    """

    def __init__(self, where: str) -> None:
        self._engine = _engine(where)
        self.address = self._engine.url.render_as_string(hide_password=True)
        self._turn = threading.Lock()  # threads wait for this lock, not in SQLite's sleep
        self._process = os.getpid()
        self._is_sqlite = self._engine.dialect.name == "sqlite"
        self._is_open = False
        if not self._is_absent():
            self._open()

    def _is_absent(self) -> bool:
        """Return whether this is an SQLite file that nothing was written to yet."""
        file = self._engine.url.database
        return self._is_sqlite and bool(file) and not self._is_open and not Path(file).exists()

    def _open(self) -> None:
        """Create the tables that are missing."""
        if self._is_open:
            return
        if self._is_absent():
            Path(str(self._engine.url.database)).parent.mkdir(parents=True, exist_ok=True)
        try:
            if set(_TABLES.tables) - set(sa.inspect(self._engine).get_table_names()):
                with self._write() as connection:
                    if not self._is_sqlite:  # only one process creates the tables
                        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(42)")
                    _TABLES.create_all(connection)
        except OperationalError as error:
            if unwritable(error):
                raise
            raise StateError(
                f"{_named(self._engine.url)}: {_reason(error)}; start the server or correct the "
                "address"
            ) from None
        self._is_open = True

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Open a read transaction."""
        if self._is_absent():
            with State(MEMORY).reading() as connection:
                yield connection
            return
        self._open()
        with self._connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(
        self, alone: sa.Table | None = None, durable: bool = True
    ) -> Iterator[sa.Connection]:
        """Open a write transaction, which is on disk when it ends, or has no effect.

        Parameters
        ----------
        alone : table that no other connection may write meanwhile; SQLite never has two writers.
        durable : False: no disk flush is awaited. A power cut may undo it, or `kill -9` of
            PostgreSQL; `kill -9` of this process does not.
        """
        self._open()
        with self._write(alone, durable) as connection:
            yield connection

    @contextmanager
    def _write(
        self, alone: sa.Table | None = None, durable: bool = True
    ) -> Iterator[sa.Connection]:
        self._after_fork()
        turn = self._turn if self._is_sqlite else nullcontext()
        with turn, self._connect() as connection:
            connection = connection.execution_options(**{_SYNC: "FULL" if durable else "NORMAL"})
            with connection.begin():
                if not (durable or self._is_sqlite):
                    connection.exec_driver_sql("SET LOCAL synchronous_commit TO off")
                if alone is not None and not self._is_sqlite:
                    lock = f"LOCK TABLE {alone.name} IN SHARE ROW EXCLUSIVE MODE"
                    connection.exec_driver_sql(lock)
                yield connection

    def session(self) -> sa.Connection:
        """Open a connection whose statements commit at once, for locks that it holds."""
        self._open()
        return self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")

    def repeat(
        self,
        transaction: Callable[[sa.Connection, bool], Value],
        alone: sa.Table | None = None,
        durable: bool = True,
    ) -> Value:
        """Run a write transaction; once more if the server ended meanwhile, as in a restart.

        It is called with a connection, and whether an earlier call may have succeeded.
        """
        try:
            with self.writing(alone, durable) as connection:
                return transaction(connection, False)
        except DBAPIError as error:
            if not error.connection_invalidated:
                raise
        with self.writing(alone, durable) as connection:
            return transaction(connection, True)

    def replies(self, kind: str, model: str, keys: Collection[bytes]) -> dict[bytes, bytes]:
        """Return the stored replies of a model, by key."""
        of_model = sa.and_(REPLIES.c.kind == kind, REPLIES.c.model == model_key(model))
        query = sa.select(REPLIES.c.key, REPLIES.c.value).where(of_model)
        found: dict[bytes, bytes] = {}
        with self.reading() as connection:
            for batch in batches_of(keys):
                rows = connection.execute(query.where(REPLIES.c.key.in_(batch)))
                found.update((bytes(key), bytes(value)) for key, value in rows)
        return found

    def now(self, connection: sa.Connection) -> float:
        """Return the seconds of a clock shared by all users of the database."""
        if self._is_sqlite:
            return time.monotonic()  # the machine's clock since its start
        return float(connection.exec_driver_sql(_SERVER_CLOCK).scalar_one())

    def texts(self) -> Iterator[str]:
        """Yield all texts in the database, a thousand rows at a time."""
        of_calls = CALLS.c.document_id, CALLS.c.error
        columns = (REPLIES.c.value, *of_calls, SEEN_DOCUMENTS.c.document_id)
        with self.reading() as connection:
            for column in columns:
                query = sa.select(column).where(column.is_not(None))
                for rows in connection.execute(query).yield_per(1000).partitions():
                    yield "\n".join(v if isinstance(v, str) else bytes(v).decode() for (v,) in rows)

    def clear_log(self) -> None:
        """Remove deleted rows from SQLite's write-ahead log, or from PostgreSQL's files."""
        self._open()
        if self._is_sqlite:
            with closing(self._engine.raw_connection()) as connection:
                connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")
            return
        with self.session() as connection:
            connection.exec_driver_sql(f"VACUUM {', '.join(map(str, _TABLES.tables))}")

    def _connect(self) -> sa.Connection:
        """Connect; wait for a server that was there before and is being restarted."""
        self._after_fork()
        deadline = time.monotonic() + RESTART_S
        while True:
            try:
                return self._engine.connect()
            except OperationalError as error:
                if self._is_sqlite or not self._is_open:
                    raise
                if time.monotonic() > deadline:
                    raise StateAwayError(
                        f"{_named(self._engine.url)}: {_reason(error)}, for {RESTART_S:.0f} s; "
                        "start the server, and repeat the command: it continues"
                    ) from None
            time.sleep(_RECONNECT_S)

    def _after_fork(self) -> None:
        """Discard the parent's connections in a child process."""
        if self._process != os.getpid():
            self._process, self._turn = os.getpid(), threading.Lock()
            self._engine.dispose(close=False)


def lost_connection(error: BaseException | None) -> str | None:
    """Return why a database server did not answer, if that caused an error, or None."""
    while error is not None:
        if isinstance(error, StateAwayError):
            return str(error)
        if isinstance(error, (OperationalError, InterfaceError)) and not isinstance(
            error.orig, sqlite3.Error
        ):
            return _reason(error)
        error = error.__cause__ or error.__context__
    return None


_UNWRITABLE = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT}
_SQLITE = {  # a full disk gives errors of writing, too
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_IOERR,
}


def unwritable(error: BaseException | None) -> str | None:
    """Return why a file or SQLite database cannot be written, if that caused an error, or None."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in _UNWRITABLE:
            file = error.filename2 or error.filename or "a file"
            return f"{file} cannot be written: {os.strerror(error.errno)}"
        code = getattr(getattr(error, "orig", error), "sqlite_errorcode", 0)
        if code & 0xFF in _SQLITE:
            return f"a database of the home cannot be written: {getattr(error, 'orig', error)}"
        error = error.__cause__ or error.__context__
    return None


def insert_new(
    connection: sa.Connection, table: sa.Table, rows: Sequence[Mapping[str, Any]]
) -> int:
    """Insert the rows whose key does not exist yet; return their number."""
    if not rows:
        return 0
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    statement = dialect.insert(table).on_conflict_do_nothing()
    n_new = connection.execute(statement, rows if len(rows) > 1 else rows[0]).rowcount
    return len(rows) if n_new < 0 else n_new  # PostgreSQL does not report it for several rows


def reply_row(kind: str, model: str, key: bytes, value: bytes) -> dict[str, Any]:
    """Return a row of `REPLIES`."""
    return {"kind": kind, "model": model_key(model), "key": key, "value": value}


def model_key(identity: str) -> str:
    """Return the key of a model in `REPLIES`."""
    return hash_texts([identity], 8)


def note_documents(
    connection: sa.Connection,
    corpus: str,
    version: str,
    present: Collection[str],
    deleted: Collection[str] = (),
) -> None:
    """Replace the recorded documents of a corpus; a corpus without documents has no record."""
    for table in (SEEN, SEEN_DOCUMENTS):
        connection.execute(sa.delete(table).where(table.c.corpus == corpus))
    rows = [
        {"corpus": corpus, "document_id": document_id, "is_deleted": is_deleted}
        for is_deleted, ids in ((False, present), (True, deleted))
        for document_id in ids
    ]
    if rows:
        connection.execute(sa.insert(SEEN).values(corpus=corpus, version=version))
        connection.execute(sa.insert(SEEN_DOCUMENTS), rows)


def batches_of(values: Iterable[Any], size: int = _AT_ONCE) -> Iterator[list[Any]]:
    """Split values into lists that fit into one statement."""
    values = iter(values)
    while batch := list(islice(values, size)):
        yield batch


_states: WeakKeyDictionary[ParquetStore, State] = WeakKeyDictionary()
_opening = threading.Lock()


def state_of(store: ParquetStore) -> State:
    """Return the database of a store, opened on first use; see `State`."""
    with _opening:
        if store not in _states:
            if not store.state_url:
                raise StateError(
                    f"the store {store.url} has no folder for a database: open it by "
                    "Home.open_store(), or give state_url"
                )
            _states[store] = State(store.state_url)
    return _states[store]


def _engine(where: str) -> sa.Engine:
    """Return the engine of a database, without connecting."""
    url = sa.URL.create("sqlite", database=where)
    try:
        url = sa.make_url(where) if "://" in where else url
        if url.get_backend_name() == "sqlite":
            return _sqlite_engine(url)
        if url.get_backend_name() == "postgresql":
            return sa.create_engine(url, pool_pre_ping=True)
    except (ImportError, NoSuchModuleError) as error:
        raise StateError(
            f"{_named(url)}: {error}; install the driver: pip install psycopg2-binary"
        ) from None
    except ArgumentError:
        raise StateError(
            f"[state] url of gsum.toml is not the URL of a database; {_EXAMPLE}"
        ) from None
    raise StateError(f"{_named(url)} is neither PostgreSQL nor SQLite; {_EXAMPLE}")


def _sqlite_engine(url: sa.URL) -> sa.Engine:
    if url.database:
        engine = sa.create_engine(url, connect_args={"timeout": _TIMEOUT_S})
    else:
        engine = sa.create_engine(
            url, connect_args={"check_same_thread": False}, poolclass=StaticPool
        )

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, _: object) -> None:
        connection.isolation_level = None  # transactions are started below, not by the driver
        for pragma in ("journal_mode=WAL", "secure_delete=ON"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: sa.Connection) -> None:
        if sync := connection.get_execution_options().get(_SYNC):
            connection.exec_driver_sql(f"PRAGMA synchronous={sync}")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if sync else "BEGIN")

    return engine


def _reason(error: DBAPIError) -> str:
    """Return the first line of a database's message."""
    return str(error.orig).strip().partition("\n")[0]


def _named(url: sa.URL) -> str:
    """Return a description of a database for messages, without its password."""
    return f"[state] url of gsum.toml, {url.render_as_string(hide_password=True)}"


class MemoryStore(ParquetStore):
    """An empty store that writes nothing to disk, and ends with the last reference to it."""

    def __init__(self) -> None:
        super().__init__("memory://gsum", MEMORY, MemoryFiles(), lists_at_once=False)
