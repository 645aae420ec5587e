"""Leases: which process may refresh a corpus, decided in the state database.

A `gsum run` that computes takes a lease on its corpus, a row whose number is the *fence*. Fences
grow; the lowest living one of a corpus has the turn, the others wait. The holder renews its lease
every few seconds by the clock of the database, so that the clocks of hosts do not matter. A lease
that was not renewed for `EXPIRED_S`, or whose process has ended on this machine, is deleted by
whoever finds it. A process that was paused so long finds its row missing, and must not begin
further work.

A `gsum run` of named methods beside a daemon records them with a lease of its own, so that the
daemon computes them first as long as the process lives. Such a lease has no turn.
"""

import logging
import os
import socket
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import psutil
import sqlalchemy as sa

from gsum_resources.state.database import FIRST, LEASES, State, StateAwayError, state_of
from gsum_resources.store.parquet_store import ParquetStore

RENEW_S = 10.0
EXPIRED_S = 60.0  # without a renewal; on its own machine a process counts as alive all the same
_LOG = logging.getLogger(__name__)
_BOOT, _PIDS = Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/pid")


class LeaseLostError(ValueError):
    """Another process took over the corpus; this one must not begin further work."""


@dataclass(frozen=True)
class Holder:
    """A process that holds a lease, or waits for its turn.

    Attributes
    ----------
    machine : boot and process namespace; processes see each other's numbers if it is the same.
    born : when the process began, since numbers are used again.
    """

    host: str
    machine: str
    pid: int
    born: float

    @classmethod
    def this_process(cls) -> "Holder":
        """Return the description of this process."""
        boot = _BOOT.read_text().strip() if _BOOT.exists() else ""
        processes = _PIDS.readlink() if _PIDS.is_symlink() else ""
        born = psutil.Process().create_time()
        return cls(socket.gethostname(), f"{boot} {processes}", os.getpid(), born)

    def is_beside(self, other: "Holder") -> bool:
        """Return whether both are on one host, so that its process table decides."""
        return (self.host, self.machine) == (other.host, other.machine)

    def runs_here(self) -> bool:
        """Return whether the process table has this process."""
        try:
            return psutil.Process(self.pid).create_time() == self.born
        except psutil.Error:
            return False


@dataclass(frozen=True)
class Lease:
    """A row of `LEASES`.

    Attributes
    ----------
    first : methods that its process waits for while a daemon computes; none: it computes itself.
    """

    fence: int
    corpus: str
    holder: Holder
    first: frozenset[str] = frozenset()


class Leases:
    """The leases of all processes that share a state database."""

    def __init__(self, store: ParquetStore) -> None:
        self._store = store

    @cached_property
    def _state(self) -> State:
        return state_of(self._store)

    def take(self, corpus: str, first: Collection[str] = ()) -> Lease:
        """Return a new lease, whose fence is larger than all before it.

        Parameters
        ----------
        first : methods that a daemon shall compute first; none: this process computes.
        """
        holder = Holder.this_process()
        # one at a time, so that who gets a larger fence sees the rows of all smaller ones
        with self._state.writing(alone=LEASES) as connection:
            row = {"corpus": corpus, **vars(holder), "renewed": self._state.now(connection)}
            inserted = connection.execute(sa.insert(LEASES).values(row)).inserted_primary_key
            assert inserted is not None
            if first:
                rows = [{"fence": inserted[0], "method": method} for method in first]
                connection.execute(sa.insert(FIRST), rows)
        return Lease(inserted[0], corpus, holder, frozenset(first))

    def renew(self, lease: Lease) -> None:
        """Record that the process of a lease is alive.

        Raises
        ------
        LeaseLostError
            If the lease was deleted, because it was not renewed for too long.
        """
        with self._state.writing(durable=False) as connection:
            renewed = {"renewed": self._state.now(connection)}
            renewal = sa.update(LEASES).where(LEASES.c.fence == lease.fence).values(renewed)
            n_renewed = connection.execute(renewal).rowcount
        if not n_renewed:
            raise LeaseLostError(
                f"corpus '{lease.corpus}': another host has taken over, since this process did "
                f"not report for more than {EXPIRED_S:.0f} s; `gsum run {lease.corpus}` follows it"
            )

    def release(self, lease: Lease) -> None:
        """Delete a lease."""
        with self._state.writing(durable=False) as connection:
            connection.execute(sa.delete(LEASES).where(LEASES.c.fence == lease.fence))
            connection.execute(sa.delete(FIRST).where(FIRST.c.fence == lease.fence))

    def living(self, corpus: str | None = None) -> list[Lease]:
        """Return the leases of a corpus, or of all, whose processes live, the oldest first.

        The others are deleted, unless they are renewed in this moment.
        """
        return [
            lease
            for lease, renewed, lives in self._judged(corpus)
            if lives or not self._delete(lease.fence, renewed)
        ]

    def by_life(self) -> tuple[list[Lease], list[Lease]]:
        """Return the leases whose processes live and those whose have ended, deleting none."""
        judged = self._judged()
        living = [lease for lease, _, lives in judged if lives]
        return living, [lease for lease, _, lives in judged if not lives]

    def _judged(self, corpus: str | None = None) -> list[tuple[Lease, float, bool]]:
        """Return the leases with the time of their renewal, and whether their processes live."""
        query = sa.select(LEASES).order_by(LEASES.c.fence)
        if corpus is not None:
            query = query.where(LEASES.c.corpus == corpus)
        with self._state.reading() as connection:
            rows = connection.execute(query).all()
            methods = connection.execute(sa.select(FIRST)).all() if rows else ()
            now = self._state.now(connection) if rows else 0.0
        me = Holder.this_process() if rows else None
        judged = []
        for row in rows:
            holder = Holder(row.host, row.machine, row.pid, row.born)
            # renewed later than now: before the machine was started, whose clock SQLite uses
            lives = (
                holder.runs_here()
                if me and holder.is_beside(me)
                else 0 <= now - row.renewed < EXPIRED_S
            )
            first = frozenset(method for fence, method in methods if fence == row.fence)
            judged.append((Lease(row.fence, row.corpus, holder, first), row.renewed, lives))
        return judged

    def own(self) -> list[Lease]:
        """Return the leases of this process."""
        me = Holder.this_process()
        return [lease for lease in self.living() if lease.holder == me]

    def computing(self, corpus: str) -> list[Lease]:
        """Return the living leases of processes that compute a corpus, or wait for their turn."""
        return [lease for lease in self.living(corpus) if not lease.first]

    def before(self, lease: Lease) -> list[Lease]:
        """Return the living leases of the same corpus that have the turn before this one."""
        return [other for other in self.computing(lease.corpus) if other.fence < lease.fence]

    def first(self) -> Mapping[str, frozenset[str]]:
        """Return the methods that a daemon computes first, by corpus, without changing anything.

        Those of several processes are united.
        """
        methods: dict[str, frozenset[str]] = {}
        for lease, _, lives in self._judged():
            if lives and lease.first:
                methods[lease.corpus] = methods.get(lease.corpus, frozenset()) | lease.first
        return methods

    def is_held_elsewhere(self, corpus: str) -> bool:
        """Return whether another process has the turn on a corpus, without changing anything.

        A lease of an ended process counts until it is deleted: a process that was only paused
        learns from its missing row that it must not continue.
        """
        computing = (lease for lease, _, _ in self._judged(corpus) if not lease.first)
        lease = next(computing, None)
        return lease is not None and lease.holder != Holder.this_process()

    def _delete(self, fence: int, renewed: float) -> bool:
        """Delete a lease that was last renewed then; return False if it was renewed since."""
        unchanged = LEASES.c.fence == fence, LEASES.c.renewed == renewed
        with self._state.writing(durable=False) as connection:
            deleted = connection.execute(sa.delete(LEASES).where(*unchanged)).rowcount
            if deleted:
                connection.execute(sa.delete(FIRST).where(FIRST.c.fence == fence))
        return deleted > 0


class HeldLease:
    """A lease of this process that a thread renews.

    Parameters
    ----------
    on_lost : called with a message when another process has taken over.
    """

    def __init__(self, leases: Leases, lease: Lease, on_lost: Callable[[str], None]) -> None:
        self.leases, self.lease = leases, lease
        self._on_lost = on_lost
        self._lost: LeaseLostError | None = None

    @property
    def corpus(self) -> str:
        """The corpus that the lease is on."""
        return self.lease.corpus

    @property
    def fence(self) -> str:
        """The number of the lease, as runs are tagged with it."""
        return str(self.lease.fence)

    def check(self) -> None:
        """Raise `LeaseLostError` if another process has taken over, by the last renewal."""
        if self._lost:
            raise self._lost

    def renew(self) -> None:
        """Renew the lease now; raises `LeaseLostError`."""
        self.check()
        try:
            self.leases.renew(self.lease)
        except LeaseLostError as error:
            self._lost = error
            self._on_lost(str(error))
            raise


@contextmanager
def held(
    leases: Leases,
    corpus: str,
    beside: Callable[[], None],
    on_lost: Callable[[str], None] = lambda _: None,
    first: Collection[str] = (),
) -> Iterator[HeldLease]:
    """Take a lease on a corpus, and renew it in a thread until the context ends.

    Parameters
    ----------
    beside : called after each renewal.
    on_lost : called with a message, in that thread, when another process has taken over.
    first : see `Leases.take`.
    """
    lease = HeldLease(leases, leases.take(corpus, first), on_lost)
    done = threading.Event()

    def renew() -> None:
        while not done.wait(RENEW_S):
            try:
                lease.renew()
                beside()
            except LeaseLostError:
                return
            except Exception as error:  # a database that is away now may be back next time
                _LOG.debug("lease %s: %s", lease.fence, error)

    thread = threading.Thread(target=renew, name="lease", daemon=True)
    thread.start()
    is_away = False
    try:
        beside()
        yield lease
    except StateAwayError:
        is_away = True
        raise
    finally:
        done.set()
        if not is_away:  # else it expires
            thread.join()
            leases.release(lease.lease)
