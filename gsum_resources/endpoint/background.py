"""An event loop in its own thread, so that synchronous code shares its connections."""

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from functools import cached_property
from typing import Any, TypeVar

T = TypeVar("T")


class BackgroundLoop:
    """Runs coroutines for callers in any thread, including those with a running loop.

    Parameters
    ----------
    name : name of the thread, which starts with the first coroutine and ends with the process, or
        when `stop` is called.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    @cached_property  # thread-safe in the pinned Python version
    def _loop(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.new_event_loop()
        threading.Thread(target=loop.run_forever, name=self._name, daemon=True).start()
        return loop

    def start(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Start `work`; cancelling the future cancels it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of `work`; an interrupt of the caller cancels it."""
        future = self.start(work)
        try:
            return future.result()
        finally:
            future.cancel()

    def stop(self) -> None:
        """Stop the thread, if it was started."""
        if "_loop" in self.__dict__:
            self._loop.call_soon_threadsafe(self._loop.stop)
