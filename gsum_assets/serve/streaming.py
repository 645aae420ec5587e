"""Answers as server-sent events: the words of a model as they arrive, then the whole."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextvars import ContextVar
from typing import Any, NamedTuple, TypeVar

import anyio

from gsum_resources.endpoint.stream import OnWords

Value = TypeVar("Value")
EVENT_STREAM = "text/event-stream"
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}  # proxies pass words on

_on_words: ContextVar[OnWords | None] = ContextVar("on_words", default=None)


class Words(NamedTuple):
    """A piece of an answer; None: an attempt begins, and earlier pieces are void."""

    text: str | None


def pass_words_on(text: str | None) -> None:
    """Pass a piece of an answer to the request that it is for: `on_words` of the models."""
    if on_words := _on_words.get():
        on_words(text)


async def arriving(answer: Callable[[], Value]) -> AsyncIterator[Words | Value]:
    """Run a function in a thread; yield the words of its model as they arrive, then its answer.

    Raises
    ------
    Exception
        The error of the function.
    """
    loop, queue = asyncio.get_running_loop(), asyncio.Queue[Any]()

    def put(item: Any) -> None:
        loop.call_soon_threadsafe(queue.put_nowait, item)

    def work() -> None:
        _on_words.set(lambda text: put(Words(text)))  # in the thread's own context
        try:
            put(answer())
        except Exception as error:
            put(error)

    thread = asyncio.ensure_future(in_thread(work))
    try:
        while True:
            item = await queue.get()
            if isinstance(item, Exception):
                raise item
            yield item
            if not isinstance(item, Words):
                return
    finally:
        thread.cancel()


async def in_thread(work: Callable[..., Any], *arguments: Any) -> Any:
    """Run a function in a thread; after a time-out or a disconnection it is not waited for."""
    return await anyio.to_thread.run_sync(work, *arguments, abandon_on_cancel=True)


def event(data: Any, name: str = "") -> bytes:
    """Return a server-sent event; data that is no text is written as JSON, in one line."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    return (f"event: {name}\n" if name else "").encode() + f"data: {text}\n\n".encode()
