"""An event loop whose time is not real: it jumps to the next moment at which something is due."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any


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
