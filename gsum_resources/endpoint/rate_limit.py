"""Requests and tokens per minute, strictly: in no window of 60 seconds is there more.

Counted at the server, a request may arrive later than it was sent, by more or less, so the window
here is a little longer than the server's (`MARGIN_S`).
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from typing import NamedTuple

import sqlalchemy as sa

from gsum_resources.state import ATTEMPTS, MEMORY, State

WINDOW_S = 60.0
MARGIN_S = 2.0  # by how much requests may differ in their way to the server; costs 3 % of the rate
_FIRST_MARGIN, _MARGIN, _OBSERVATIONS = 2.0, 1.25, 8


class Attempt(NamedTuple):
    """A request that was admitted: its row in the database, and the tokens that it takes.

    Its time is part of its key: SQLite gives the id of a row that left the window to another.
    """

    id: int
    tokens: int
    time: float


class TokenEstimate:
    """An upper estimate of a prompt's tokens from its bytes, learnt from what servers count.

    No token is shorter than a byte, so at first each byte counts as one; then the largest ratio
    seen, with a margin of 100 %, and of 25 % from the eighth observation on.
    """

    def __init__(self) -> None:
        self._largest = 0.0
        self._observed = 0

    def tokens(self, n_bytes: int) -> int:
        """No fewer tokens than `n_bytes` of prompt will take, as far as can be told."""
        margin = _MARGIN if self._observed >= _OBSERVATIONS else _FIRST_MARGIN
        ratio = min(1.0, self._largest * margin) if self._observed else 1.0
        return round(n_bytes * ratio)

    def observe(self, n_bytes: int, tokens: int) -> None:
        """`n_bytes` of prompt took so many tokens."""
        self._observed += 1
        self._largest = max(self._largest, tokens / max(1, n_bytes))


class RateLimiter:
    """Lets requests go in the order in which they came, as the limits allow.

    Attempts are counted in the database before their requests are sent, so that a limit holds
    across processes and `kill -9`.

    Parameters
    ----------
    requests_per_minute, tokens_per_minute : 0: no limit.
    state : gives the database; by default one of this limiter alone.
    account : whose limits these are, in the database.
    clock : seconds; by default that of the database.
    window_s : length of the window, seconds.
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
        self._open_state, self._account = state or _in_memory(), account
        self._given_clock, self._clock = clock, clock or time.monotonic
        self._window_s = window_s
        self._held_until = 0.0
        self._turn = asyncio.Lock()  # serves in the order of arrival
        self._freed = asyncio.Event()

    def hold(self, seconds: float) -> None:
        """Let nothing go for so long: the server asked for it."""
        self._held_until = max(self._held_until, self._clock() + seconds)

    async def admit(self, tokens: int) -> Attempt | None:
        """Return when a request of at most `tokens` may be sent, which it must be at once.

        Gives what `settle` wants, or None where there is no limit.
        """
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
        """Correct a reservation to the `tokens` that the request really took."""
        if attempt is None or tokens == attempt.tokens:
            return
        with self._open_state().writing(durable=False) as connection:
            key = ATTEMPTS.c.id == attempt.id, ATTEMPTS.c.time == attempt.time
            mine = sa.update(ATTEMPTS).where(*key)
            connection.execute(mine.values(tokens=tokens))
        self._freed.set()

    def _reserve(self, tokens: int) -> Attempt | float:
        """Return the reservation, or the seconds to wait before asking again.

        What is larger than the whole limit goes alone, in a window without any tokens.
        """
        columns = ATTEMPTS.c
        mine = columns.account == self._account
        state = self._open_state()
        with state.writing(alone=ATTEMPTS, durable=False) as connection:
            now = self._given_clock() if self._given_clock else state.now(connection)
            # later than now: from before the machine's start
            old = sa.or_(columns.time <= now - self._window_s, columns.time > now)
            connection.execute(sa.delete(ATTEMPTS).where(mine, old))
            sums = sa.func.count(), sa.func.sum(columns.tokens), sa.func.min(columns.time)
            requests, used, first = connection.execute(sa.select(*sums).where(mine)).one()
            most_requests, most_tokens = self._limits
            is_full = bool(most_requests) and requests >= most_requests
            if is_full or (most_tokens and used and used + tokens > most_tokens):
                return max(0.001, first + self._window_s - now)
            row = {"account": self._account, "time": now, "tokens": tokens}
            made = connection.execute(sa.insert(ATTEMPTS).values(row)).inserted_primary_key
            assert made is not None
            return Attempt(made[0], tokens, now)


def _in_memory() -> Callable[[], State]:
    return lru_cache(lambda: State(MEMORY))
