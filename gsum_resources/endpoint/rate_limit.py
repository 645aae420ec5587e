"""Requests and tokens per minute, strictly: in no window of 60 seconds is there more.

Counted at the server, a request may arrive later than it was sent, by more or less, so the window
here is a little longer than the server's (`MARGIN_S`).
"""

import asyncio
import heapq
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gsum_resources.endpoint.attempts import Attempt, AttemptFile

WINDOW_S = 60.0
MARGIN_S = 2.0  # by how much requests may differ in their way to the server; costs 3 % of the rate
_FIRST_MARGIN, _MARGIN, _OBSERVATIONS = 2.0, 1.25, 8


class SlidingWindow:
    """Bookkeeping of a window; time is an argument.

    Parameters
    ----------
    requests, tokens : most in any window; 0: no limit.
    window_s : its length, seconds.
    """

    def __init__(self, requests: int, tokens: int, window_s: float) -> None:
        self._limits = requests, tokens
        self._window_s = window_s
        self._live: list[Attempt] = []  # a heap: the oldest first
        self._requests = self._tokens = 0

    def add(self, attempt: Attempt) -> None:
        """Count an attempt, or a correction of one, from its time on for the window's length."""
        heapq.heappush(self._live, attempt)
        self._requests += attempt.requests
        self._tokens += attempt.tokens

    def wait(self, now: float, tokens: int) -> float:
        """Seconds until it is worth asking again; 0: a request of so many tokens may go now.

        What is larger than the whole limit goes alone, in a window without any tokens.
        """
        self.forget(now)
        most_requests, most_tokens = self._limits
        if most_requests and self._requests >= most_requests:
            return self._until_next(now)
        if most_tokens and self._tokens and self._tokens + tokens > most_tokens:
            return self._until_next(now)
        return 0.0

    def forget(self, now: float) -> list[Attempt]:
        """Drop what is older than the window; what remains."""
        while self._live and self._live[0].time <= now - self._window_s:
            gone = heapq.heappop(self._live)
            self._requests -= gone.requests
            self._tokens -= gone.tokens
        return self._live

    def clear(self) -> None:
        """Forget everything."""
        self._live.clear()
        self._requests = self._tokens = 0

    def _until_next(self, now: float) -> float:
        return max(0.001, self._live[0].time + self._window_s - now)


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

    Parameters
    ----------
    requests_per_minute, tokens_per_minute : 0: no limit.
    file : where attempts are recorded for other processes; None: nowhere.
    clock : seconds; the default is shared by the processes of a machine.
    window_s : length of the window, seconds.
    """

    def __init__(
        self,
        requests_per_minute: int,
        tokens_per_minute: int,
        file: Path | None = None,
        clock: Callable[[], float] = time.monotonic,
        window_s: float = WINDOW_S + MARGIN_S,
    ) -> None:
        self._limited = bool(requests_per_minute or tokens_per_minute)
        self._window = SlidingWindow(requests_per_minute, tokens_per_minute, window_s)
        self._file = AttemptFile(file) if file and self._limited else None
        self._clock = clock
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
        if not self._limited and self._held_until <= self._clock():
            return None
        async with self._turn:
            while True:
                while (held := self._held_until - self._clock()) > 0:
                    await asyncio.sleep(held)
                if not self._limited:
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
        with self._shared():
            self._add(Attempt(attempt.time, 0, tokens - attempt.tokens))
        self._freed.set()

    def _reserve(self, tokens: int) -> Attempt | float:
        """The reservation, or the seconds to wait before asking again."""
        with self._shared():
            now = self._clock()
            if wait := self._window.wait(now, tokens):
                return wait
            attempt = Attempt(now, 1, tokens)
            self._add(attempt)
            return attempt

    @contextmanager
    def _shared(self) -> Iterator[None]:
        """The window up to date with other processes, which wait meanwhile."""
        if self._file is None:
            yield
            return
        with self._file.locked() as anew:
            if anew:
                self._window.clear()
            read, now = self._file.read_new(), self._clock()
            for attempt in read:
                if attempt.time <= now:  # else it is of before the machine's start
                    self._window.add(attempt)
            yield
            self._file.compact(self._window.forget(self._clock()))

    def _add(self, attempt: Attempt) -> None:
        self._window.add(attempt)
        if self._file:
            self._file.append(attempt)
