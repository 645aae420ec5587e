"""Budget of a day, for requests to served models: kept in the state database over all hosts.

Before a batch of requests its largest cost is reserved; what was really spent replaces it. A batch
that exceeds what is left is not begun.
"""

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import reduce
from operator import add
from pathlib import Path
from zoneinfo import ZoneInfo

import psutil
import sqlalchemy as sa

from gsum_resources.settings.schema import BudgetSettings, Settings
from gsum_resources.state.database import OVER_BUDGET, SPENDING, State

_WRITE_EVERY_S = 1.0
_SPENT = ("calls", "tokens", "usd")
_BOOT, _PIDS = Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/pid")


class BudgetError(ValueError):
    """A batch of requests exceeds the budget; the message names the sum and the remedies."""


@dataclass(frozen=True)
class Amount:
    """Requests, tokens in and out together, and US dollars."""

    calls: int = 0
    tokens: int = 0
    usd: float = 0.0

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(self.calls + other.calls, self.tokens + other.tokens, self.usd + other.usd)

    def __str__(self) -> str:
        price = f", {in_unit(self.usd, 'usd')}" if self.usd else ""
        return f"{in_unit(self.calls, 'calls')}, {in_unit(self.tokens, 'tokens')}{price}"


class Spending:
    """What a batch has spent so far.

    `write` is called with the sum at most every second, and with whether the batch has ended.
    """

    def __init__(self, write: Callable[[Amount, bool], None]) -> None:
        self._write, self._lock = write, threading.Lock()
        self._sum, self._written = Amount(), time.monotonic()

    def add(self, amount: Amount) -> None:
        """Add what a reply has cost; may be called from any thread."""
        with self._lock:
            self._sum += amount
            if time.monotonic() - self._written >= _WRITE_EVERY_S:
                self._write(self._sum, False)
                self._written = time.monotonic()

    def end(self) -> None:
        """Replace the reservation by what was spent."""
        with self._lock:
            self._write(self._sum, True)


Reserve = Callable[[Amount], AbstractContextManager[Spending]]
"""Reserves the largest cost of a batch while it is requested; raises `BudgetError`."""


@contextmanager
def free_of_charge(_: Amount) -> Iterator[Spending]:
    """Reserve nothing: for models that no server provides."""
    yield Spending(lambda *_: None)


@dataclass(frozen=True)
class Limit:
    """A limit that a batch exceeds: the key `unit` of a table of `gsum.toml`."""

    table: str
    unit: str
    limit: float
    used: float

    @property
    def left(self) -> float:
        """What is left until midnight."""
        return max(0.0, self.limit - self.used)


class Budget:
    """The budget of a home; a day begins at midnight in the time zone of `[automation]`."""

    def __init__(
        self, settings: Settings, state: Callable[[], State], clock: Callable[[], float] = time.time
    ) -> None:
        self._settings: BudgetSettings = settings.budget
        self._zone = ZoneInfo(settings.automation.timezone)
        self._state, self._clock = state, clock

    @property
    def _today(self) -> datetime:
        now = datetime.fromtimestamp(self._clock(), self._zone)
        return now.replace(hour=0, minute=0, second=0, microsecond=0)

    @property
    def _midnight(self) -> datetime:
        return self._today + timedelta(days=1)  # local time, whatever the length of the day

    @contextmanager
    def batch(self, corpus: str, most: Amount) -> Iterator[Spending]:
        """Reserve at most `most` for a batch of requests, and yield where its costs are added.

        Raises `BudgetError` if this exceeds what is left, and the corpus may not exceed it.
        """
        if not most.calls:
            yield Spending(lambda *_: None)
            return
        row_id = self._state().repeat(lambda c, _: self._reserve(c, corpus, most), SPENDING)
        if isinstance(row_id, list):
            raise BudgetError(self._message(corpus, most, row_id))
        reserved = SPENDING.c.id == row_id

        def write(spent: Amount, has_ended: bool) -> None:
            values: dict = {f"spent_{name}": getattr(spent, name) for name in _SPENT}
            values |= vars(spent) | {"is_open": False} if has_ended else {}
            update = sa.update(SPENDING).where(reserved).values(values)
            self._state().repeat(lambda c, _: c.execute(update), durable=has_ended)

        spending = Spending(write)
        try:
            yield spending
        finally:
            spending.end()

    def exceeded(self, corpus: str, most: Amount) -> list[Limit]:
        """Return the limits that a batch would exceed now."""
        with self._state().reading() as connection:
            return self._exceeded(connection, corpus, most)

    @contextmanager
    def exceeding(self, corpus: str) -> Iterator[None]:
        """Let a corpus exceed the budget, on all hosts, until the context or the day ends."""
        row = {"corpus": corpus, "until": self._midnight.timestamp()}
        is_corpus = OVER_BUDGET.c.corpus == corpus

        def allow(connection: sa.Connection, _: bool) -> None:
            connection.execute(sa.delete(OVER_BUDGET).where(is_corpus))
            connection.execute(sa.insert(OVER_BUDGET).values(row))

        self._state().repeat(allow)
        try:
            yield
        finally:
            self._state().repeat(lambda c, _: c.execute(sa.delete(OVER_BUDGET).where(is_corpus)))

    def _reserve(self, connection: sa.Connection, corpus: str, most: Amount) -> int | list[Limit]:
        """Return the id of the reservation, or the limits that it would exceed."""
        allowed = sa.select(OVER_BUDGET.c.until).where(OVER_BUDGET.c.corpus == corpus)
        may_exceed = (connection.execute(allowed).scalar() or 0.0) > self._clock()
        if not may_exceed and (exceeded := self._exceeded(connection, corpus, most)):
            return exceeded
        yesterday = (self._today - timedelta(days=1)).date().isoformat()
        connection.execute(sa.delete(SPENDING).where(SPENDING.c.day < yesterday))
        row = {"day": self._today.date().isoformat(), "corpus": corpus, "is_open": True}
        row |= vars(most) | {f"spent_{name}": 0 for name in _SPENT} | vars(_Process.this())
        inserted = connection.execute(sa.insert(SPENDING).values(row)).inserted_primary_key
        assert inserted is not None
        return inserted[0]

    def _exceeded(self, connection: sa.Connection, corpus: str, most: Amount) -> list[Limit]:
        own = self._settings.corpora.get(corpus)
        tables = [("budget", self._settings, None)]
        tables += [(f"budget.corpora.{corpus}", own, corpus)] if own else []
        limits = []
        for table, settings, of_corpus in tables:
            wanted = {name: limit for name in _SPENT if (limit := getattr(settings, name))}
            used = self._used(connection, of_corpus) if wanted else Amount()
            for name, limit in wanted.items():
                if getattr(used, name) + getattr(most, name) > limit:
                    limits.append(Limit(table, name, limit, getattr(used, name)))
        return limits

    def _used(self, connection: sa.Connection, corpus: str | None) -> Amount:
        """Return what was spent and reserved today; None: for all corpora."""
        today = [SPENDING.c.day == self._today.date().isoformat()]
        today += [] if corpus is None else [SPENDING.c.corpus == corpus]
        sums = [sa.func.coalesce(sa.func.sum(SPENDING.c[name]), 0) for name in _SPENT]
        ended = connection.execute(sa.select(*sums).where(*today, sa.not_(SPENDING.c.is_open)))
        calls, tokens, usd = tuple(ended.one())
        reserved = connection.execute(sa.select(SPENDING).where(*today, SPENDING.c.is_open)).all()
        me = _Process.this() if reserved else None
        return reduce(
            add, (_of_open(row, me) for row in reserved), Amount(int(calls), int(tokens), usd)
        )

    def _message(self, corpus: str, most: Amount, exceeded: list[Limit]) -> str:
        left = " and ".join(
            f"{in_unit(limit.left, limit.unit)} of {limit.limit:,g} are left ({limit.unit} in "
            f"[{limit.table}] of gsum.toml)"
            for limit in exceeded
        )
        until = f"{self._midnight:%Y-%m-%d %H:%M} {self._zone}"
        return (
            f"over budget: corpus '{corpus}' needs up to {most}, but {left} until {until}; it "
            f"waits until then, for a higher number there, or for `gsum run {corpus} --over-budget`"
        )


@dataclass(frozen=True)
class _Process:
    """A process whose reservation ends with it; `machine`: boot and process namespace."""

    host: str
    machine: str
    pid: int
    born: float

    @classmethod
    def this(cls) -> "_Process":
        boot = _BOOT.read_text().strip() if _BOOT.exists() else ""
        processes = _PIDS.readlink() if _PIDS.is_symlink() else ""
        born = psutil.Process().create_time()
        return cls(socket.gethostname(), f"{boot} {processes}", os.getpid(), born)

    def has_ended(self, me: "_Process") -> bool:
        """Return whether the process table of this process shows that it has ended."""
        if (self.host, self.machine) != (me.host, me.machine):
            return False
        try:
            return psutil.Process(self.pid).create_time() != self.born
        except psutil.Error:
            return True


def _of_open(row: sa.Row, me: _Process | None) -> Amount:
    """Return what counts of an open batch: what it spent, if its process was killed."""
    if me and _Process(row.host, row.machine, row.pid, row.born).has_ended(me):
        return Amount(row.spent_calls, row.spent_tokens, row.spent_usd)
    return Amount(*(max(getattr(row, n), getattr(row, f"spent_{n}")) for n in _SPENT))


def in_unit(value: float, unit: str) -> str:
    """Return a number with its unit, `1 call`."""
    if unit == "usd":
        return f"USD {value:,.4f}"
    return f"{value:,.0f} {unit.removesuffix('s') if value == 1 else unit}"
