"""One lock a corpus: two runs never write a corpus at the same time.

The lock belongs to a run, whose steps may be several processes. It is a lock of the operating
system on a file beside the state database or, where that is PostgreSQL, an advisory lock of the
server; either is released when its process dies. So nothing expires, and nothing has to be cleaned.
"""

import fcntl
import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import sqlalchemy as sa

from gsum_resources.state.database import LOCKS, State, state_of
from gsum_resources.store.content_hash import hash_texts
from gsum_resources.store.parquet_store import ParquetStore

_POLL_S = 0.5


@dataclass(frozen=True)
class LockHolder:
    """A run that holds the lock of a corpus, and one of its processes."""

    run_id: str = "unknown"
    host: str = ""
    pid: int = 0

    def __str__(self) -> str:
        return f"run {self.run_id[:8]} of the same corpus (process {self.pid} on {self.host})"


@contextmanager
def locked(
    store: ParquetStore, corpus: str, run_id: str, on_wait: Callable[[str], None] = lambda _: None
) -> Iterator[None]:
    """Hold the lock of a corpus for a run; report each run that is waited for."""
    with closing(_open(store, corpus)) as handle:
        waited_for = None
        while not (handle.try_shared(run_id) or handle.try_alone(run_id)):
            if (holder := handle.holder()) != waited_for:
                waited_for = holder
                on_wait(str(holder))
            time.sleep(_POLL_S)
        yield


def locked_by(store: ParquetStore, corpus: str) -> str:
    """Return the id of the run that holds the lock of a corpus; "": none."""
    with closing(_open(store, corpus)) as handle:
        return "" if handle.try_alone("") else handle.holder().run_id


def _open(store: ParquetStore, corpus: str) -> "_FileLock | _ServerLock":
    """Return an open lock that other processes of the same run may share."""
    if store.state_url.startswith("postgresql"):
        return _ServerLock(state_of(store), corpus)
    return _FileLock(Path(store.state_url).parent / "locks", corpus)


class _FileLock:
    """`flock` on a file, which names the run; a second file guards the change of the holder."""

    def __init__(self, folder: Path, corpus: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file: IO[str] = (folder / f"{corpus}.lock").open("a+")
        self._gate: IO[str] = (folder / f"{corpus}.gate").open("a+")

    def try_alone(self, run_id: str) -> bool:
        """Take the lock for a run if no process holds it, and share it from then on."""
        with self._turn():
            if not _flock(self._file, fcntl.LOCK_EX):
                return False
            if run_id:
                self._file.seek(0)
                self._file.truncate()
                json.dump([run_id, socket.gethostname(), os.getpid()], self._file)
                self._file.flush()
            return _flock(self._file, fcntl.LOCK_SH)

    def try_shared(self, run_id: str) -> bool:
        """Share the lock of the same run if another of its processes holds it."""
        with self._turn():
            if not _flock(self._file, fcntl.LOCK_SH):
                return False
            content = self._content()
            others = (
                bool(content) and content[0] == run_id and not _flock(self._file, fcntl.LOCK_EX)
            )
            # a failed change of the lock gives up the one that was held
            if others and _flock(self._file, fcntl.LOCK_SH):
                return True
            fcntl.flock(self._file, fcntl.LOCK_UN)
            return False

    def holder(self) -> LockHolder:
        """Return the run that took the lock last."""
        return LockHolder(*self._content())

    def close(self) -> None:
        self._file.close()
        self._gate.close()

    def _content(self) -> list:
        self._file.seek(0)
        try:
            return json.loads(self._file.read())
        except ValueError:
            return []

    @contextmanager
    def _turn(self) -> Iterator[None]:
        fcntl.flock(self._gate, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._gate, fcntl.LOCK_UN)


def _flock(file: IO[str], mode: int) -> bool:
    try:
        fcntl.flock(file, mode | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class _ServerLock:
    """Advisory locks of PostgreSQL in one session, with the run in the table `locks`."""

    def __init__(self, state: State, corpus: str) -> None:
        self._state, self._corpus = state, corpus
        self._session = state.session()
        self._key = int(hash_texts([corpus], 7), 16)

    def try_alone(self, run_id: str) -> bool:
        if not self._ask("pg_try_advisory_lock"):
            return False
        if run_id:
            of_corpus = LOCKS.c.corpus == self._corpus
            row = {"run_id": run_id, "host": socket.gethostname(), "pid": os.getpid()}
            with self._state.writing(alone=LOCKS) as connection:
                connection.execute(sa.delete(LOCKS).where(of_corpus))
                connection.execute(sa.insert(LOCKS), [{"corpus": self._corpus, **row}])
            self._ask("pg_try_advisory_lock_shared")
        return self._ask("pg_advisory_unlock") or True

    def try_shared(self, run_id: str) -> bool:
        row = self._row()
        if row is None or row.run_id != run_id or self._ask("pg_try_advisory_lock"):
            self._ask("pg_advisory_unlock_all", has_key=False)
            return False
        return self._ask("pg_try_advisory_lock_shared")

    def holder(self) -> LockHolder:
        row = self._row()
        return LockHolder(row.run_id, row.host, row.pid) if row else LockHolder()

    def close(self) -> None:
        self._session.invalidate()  # not back into the pool: the server ends the session
        self._session.close()

    def _row(self) -> sa.Row | None:
        query = sa.select(LOCKS).where(LOCKS.c.corpus == self._corpus)
        with self._state.reading() as connection:
            return connection.execute(query).first()

    def _ask(self, function: str, has_key: bool = True) -> bool:
        sql = f"SELECT {function}({self._key if has_key else ''})"
        return bool(self._session.exec_driver_sql(sql).scalar())
