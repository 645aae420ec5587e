"""No window exceeds the limit for all callers together, and every caller gets a turn."""

import asyncio
import selectors
import signal
import subprocess
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from gsum_resources.endpoint.rate_limit import MARGIN_S, WINDOW_S, RateLimiter
from gsum_resources.state.database import ATTEMPTS, State

# An event loop whose time is not real: it jumps to the next moment at which something is due.


class _NoWaiting(selectors.SelectSelector):
    """Instead of waiting for sockets, moves its loop's time on."""

    loop: "JumpingLoop"

    def select(self, timeout: float | None = None) -> list[Any]:
        assert timeout is not None, "everything waits for something that never comes"
        self.loop.now += timeout
        self.loop.rounds += 1
        return []


class JumpingLoop(asyncio.SelectorEventLoop):
    """`now` is its time, seconds; `rounds` counts how often it looked what is due."""

    def __init__(self) -> None:
        self.now, self.rounds = 0.0, 0
        selector = _NoWaiting()
        selector.loop = self
        super().__init__(selector)

    def time(self) -> float:
        return self.now


def run_jumping(loop: JumpingLoop, work: Coroutine[Any, Any, Any]) -> None:
    """Run `work` to its end, and close the loop."""
    try:
        loop.run_until_complete(work)
    finally:
        loop.close()


REQUEST = st.tuples(
    st.floats(0, 200),  # when it comes
    st.integers(0, 700),  # tokens reserved
    st.floats(0, 1),  # part of them really used
    st.floats(0, 90),  # how long it takes
    st.floats(0, MARGIN_S),  # how long it is on its way to the server
)


def most_in_a_window(events: list[tuple[float, float]]) -> float:
    """The largest sum of amounts whose times lie within 60 seconds."""
    return max(
        sum(amount for time, amount in events if start <= time < start + WINDOW_S)
        for start, _ in events
    )


async def send_all(limiter: RateLimiter, loop: JumpingLoop, requests: list, sent: list) -> None:
    """Send requests as they come; `sent` gets (arrival at the server, tokens used) of each."""

    async def send(come: float, reserved: int, used: float, takes: float, way: float) -> None:
        await asyncio.sleep(come)
        admitted = await limiter.admit(reserved)
        sent.append((loop.time() + way, round(reserved * used)))
        await asyncio.sleep(way + takes)
        limiter.settle(admitted, round(reserved * used))

    await asyncio.gather(*(send(*request) for request in requests))


@given(st.lists(REQUEST, min_size=1, max_size=80), st.integers(1, 20), st.integers(700, 2000))
def test_no_window_exceeds_the_limits(requests: list, per_minute: int, tokens: int) -> None:
    loop, sent = JumpingLoop(), []
    limiter = RateLimiter(per_minute, tokens, clock=loop.time)
    run_jumping(loop, send_all(limiter, loop, requests, sent))
    assert len(sent) == len(requests)  # no starvation
    assert most_in_a_window([(time, 1) for time, _ in sent]) <= per_minute
    assert most_in_a_window(sent) <= tokens
    assert loop.rounds < 100 * (len(requests) + 5)  # no busy waiting


def test_late_reply_frees_only_its_own_tokens() -> None:
    """The row of an attempt that left the window has the id of the next one in SQLite."""
    loop, sent = JumpingLoop(), []
    limiter = RateLimiter(0, 700, clock=loop.time)
    requests = [(0.0, 119, 0.0, 64.0, 0.0), (63.0, 582, 1.0, 0.0, 0.0), (65.0, 119, 1.0, 0.0, 0.0)]
    run_jumping(loop, send_all(limiter, loop, requests, sent))
    assert most_in_a_window(sent) <= 700


def test_requests_are_served_in_order_and_without_delay() -> None:
    loop, order = JumpingLoop(), []
    limiter = RateLimiter(10, 0, clock=loop.time)

    async def admit(number: int) -> None:
        await limiter.admit(0)
        order.append((number, loop.time()))

    async def all_at_once() -> None:
        await asyncio.gather(*(admit(number) for number in range(100)))

    run_jumping(loop, all_at_once())
    assert [number for number, _ in order] == list(range(100))
    assert loop.now == pytest.approx(9 * (WINDOW_S + MARGIN_S), abs=0.1)


def test_request_above_the_limit_runs_alone() -> None:
    loop, sent = JumpingLoop(), []
    limiter = RateLimiter(0, 100, clock=loop.time)
    requests = [(0, 60, 1, 1, 0), (1, 500, 1, 1, 0), (2, 10, 1, 1, 0)]
    run_jumping(loop, send_all(limiter, loop, requests, sent))
    times = [time for time, _ in sent]
    assert [tokens for _, tokens in sent] == [60, 500, 10]
    assert times[1] - times[0] >= WINDOW_S
    assert times[2] - times[1] >= WINDOW_S


def test_unused_tokens_are_freed_at_once() -> None:
    loop, sent = JumpingLoop(), []
    limiter = RateLimiter(0, 100, clock=loop.time)
    requests = [(0, 100, 0.1, 5, 0), (1, 80, 1, 1, 0)]
    run_jumping(loop, send_all(limiter, loop, requests, sent))
    assert [time for time, _ in sent] == pytest.approx([0, 5], abs=0.1)


def test_hold_stops_everyone_until_it_ends() -> None:
    loop, sent = JumpingLoop(), []
    limiter = RateLimiter(0, 0, clock=loop.time)
    limiter.hold(30)
    run_jumping(loop, send_all(limiter, loop, [(1, 0, 0, 0, 0), (40, 0, 0, 0, 0)], sent))
    assert [time for time, _ in sent] == pytest.approx([30, 40], abs=0.1)


def sharing(file: Path | str, *limits: Any) -> RateLimiter:
    """A limiter of the account "a"; `limits` may end with a clock."""
    state = State(str(file))
    return RateLimiter(*limits[:2], lambda: state, "a", *limits[2:])


@settings(max_examples=30)
@given(st.lists(REQUEST, min_size=1, max_size=30), st.lists(REQUEST, min_size=1, max_size=30))
def test_processes_share_the_window(tmp_path_factory, ours: list, theirs: list) -> None:
    file = str(tmp_path_factory.mktemp("limits") / "a" / "state.db")
    loop, sent = JumpingLoop(), []
    # two limiters that share nothing but the file, as two processes do
    limiters = [sharing(file, 5, 1000, loop.time) for _ in range(2)]

    async def both() -> None:
        works = zip(limiters, (ours, theirs), strict=True)
        await asyncio.gather(*(send_all(one, loop, n_tokens, sent) for one, n_tokens in works))

    run_jumping(loop, both())
    assert most_in_a_window([(time, 1) for time, _ in sent]) <= 5
    assert most_in_a_window(sent) <= 1000


def test_attempts_of_a_killed_process_still_count(tmp_path: Path) -> None:
    file = tmp_path / "state.db"
    code = (
        "import asyncio, os, signal, sys\n"
        "from gsum_resources.endpoint.rate_limit import RateLimiter\n"
        "from gsum_resources.state.database import State\n"
        "state = State(sys.argv[1])\n"
        "limiter = RateLimiter(5, 0, lambda: state, 'a')\n"
        "async def work():\n"
        "    for _ in range(5): await limiter.admit(0)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "asyncio.run(work())\n"
    )
    killed = subprocess.run([sys.executable, "-c", code, str(file)])
    assert killed.returncode == -signal.SIGKILL

    async def no_room() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await sharing(file, 5, 0).admit(0)
        async with asyncio.timeout(30):
            await sharing(file, 6, 0).admit(0)

    asyncio.run(no_room())


def test_attempts_of_another_boot_are_ignored(tmp_path: Path) -> None:
    state = State(str(tmp_path / "state.db"))
    with state.writing() as connection:  # the clock was reset since
        connection.execute(sa.insert(ATTEMPTS).values(account="a", time=1e9, tokens=1))
    loop, sent = JumpingLoop(), []
    limiter = RateLimiter(1, 0, lambda: state, "a", loop.time)
    run_jumping(loop, send_all(limiter, loop, [(0, 0, 0, 0, 0)], sent))
    assert sent[0][0] < 1


def test_only_the_window_is_stored_and_accounts_are_separate(tmp_path: Path) -> None:
    state = State(str(tmp_path / "state.db"))
    loop, sent = JumpingLoop(), []
    limiters = [RateLimiter(5, 0, lambda: state, account, loop.time) for account in "ab"]
    requests = [(7.0 * i, 0, 0, 0, 0) for i in range(40)]

    async def both() -> None:
        await asyncio.gather(*(send_all(one, loop, requests, sent) for one in limiters))

    run_jumping(loop, both())
    assert len(sent) == 80
    assert most_in_a_window([(time, 1) for time, _ in sent]) <= 10
    assert loop.now == pytest.approx(7 * (WINDOW_S + MARGIN_S), rel=0.1)
    with state.reading() as connection:
        assert len(connection.execute(sa.select(ATTEMPTS)).all()) <= 10


def test_no_limits_need_no_database(tmp_path: Path) -> None:
    limiter = RateLimiter(0, 0, lambda: State(str(tmp_path / "state.db")))
    asyncio.run(limiter.admit(100))
    assert list(tmp_path.iterdir()) == []
