"""Strict limits of requests and tokens per minute, for every window of 60 seconds."""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from typing import NamedTuple

import sqlalchemy as sa

from gsum_resources.state.database import ATTEMPTS, MEMORY, State

WINDOW_S = 60.0
MARGIN_S = 2.0  # variation of the delay to the server, seconds; costs 3 % of the rate


class Attempt(NamedTuple):
    """An admitted request; the time is part of its key, since SQLite reuses ids of deleted rows."""

    id: int
    tokens: int
    time: float


class RateLimiter:
    """Admits requests in order of arrival, as the limits allow.

    Attempts are counted in the database before their requests are sent, so that a limit holds
    across processes and after `kill -9`.

    Parameters
    ----------
    requests_per_minute, tokens_per_minute : 0 means no limit.
    state : returns the database; by default an in-memory one for this limiter.
    account : account in the database that the limits apply to.
    clock : returns seconds; by default the database's clock.
    """

    def __init__(
        self,
        requests_per_minute: int,
        tokens_per_minute: int,
        state: Callable[[], State] | None = None,
        account: str = "",
        clock: Callable[[], float] | None = None,
        window_s: float = WINDOW_S + MARGIN_S,
    ) -> None:
        self._limits = requests_per_minute, tokens_per_minute
        self._open_state, self._account = state or lru_cache(lambda: State(MEMORY)), account
        self._given_clock, self._clock = clock, clock or time.monotonic
        self._window_s = window_s
        self._held_until = 0.0
        self._turn = asyncio.Lock()  # serves in the order of arrival
        self._freed = asyncio.Event()

    def hold(self, seconds: float) -> None:
        """Admit no request for `seconds`, as required by the server."""
        self._held_until = max(self._held_until, self._clock() + seconds)

    async def admit(self, tokens: int) -> Attempt | None:
        """Wait until a request of at most `tokens` may be sent; return the argument of `settle`."""
        if not any(self._limits) and self._held_until <= self._clock():
            return None
        async with self._turn:
            while True:
                while (held := self._held_until - self._clock()) > 0:
                    await asyncio.sleep(held)
                if not any(self._limits):
                    return None
                admitted = self._reserve(tokens)
                if isinstance(admitted, Attempt):
                    return admitted
                self._freed.clear()
                with suppress(TimeoutError):  # by then the oldest attempt has left the window
                    await asyncio.wait_for(self._freed.wait(), admitted)

    def settle(self, attempt: Attempt | None, tokens: int) -> None:
        """Correct a reservation to the `tokens` that the request actually used."""
        if attempt is None or tokens == attempt.tokens:
            return
        key = ATTEMPTS.c.id == attempt.id, ATTEMPTS.c.time == attempt.time
        correction = sa.update(ATTEMPTS).where(*key).values(tokens=tokens)
        self._open_state().repeat(lambda c, _: c.execute(correction), durable=False)
        self._freed.set()

    def _reserve(self, tokens: int) -> Attempt | float:
        """Return the reservation, or the seconds to wait; beyond the whole limit it is alone."""
        state = self._open_state()
        # where it is repeated, a request may count twice: no more is sent than the limits allow
        return state.repeat(
            lambda connection, _: self._reserve_in(state, connection, tokens), ATTEMPTS, False
        )

    def _reserve_in(self, state: State, connection: sa.Connection, tokens: int) -> Attempt | float:
        columns = ATTEMPTS.c
        own_rows = columns.account == self._account
        now = self._given_clock() if self._given_clock else state.now(connection)
        # later than now: from before the machine was started
        old = sa.or_(columns.time <= now - self._window_s, columns.time > now)
        connection.execute(sa.delete(ATTEMPTS).where(own_rows, old))
        sums = sa.func.count(), sa.func.sum(columns.tokens), sa.func.min(columns.time)
        requests, used, first = connection.execute(sa.select(*sums).where(own_rows)).one()
        most_requests, most_tokens = self._limits
        is_full = bool(most_requests) and requests >= most_requests
        if is_full or (most_tokens and used and used + tokens > most_tokens):
            return max(0.001, first + self._window_s - now)
        row = {"account": self._account, "time": now, "tokens": tokens}
        inserted = connection.execute(sa.insert(ATTEMPTS).values(row)).inserted_primary_key
        assert inserted is not None
        return Attempt(inserted[0], tokens, now)
