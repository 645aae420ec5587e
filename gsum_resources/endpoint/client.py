"""`Endpoint`: concurrent requests to one server, retried until answered or given up."""

import asyncio
import json
import queue
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception,
    stop_after_attempt,
    wait_random_exponential,
)

from gsum_resources.endpoint.connection import Connection, OnWords
from gsum_resources.endpoint.failures import (
    EndpointError,
    RefusedError,
    Settings,
    TransientError,
    away,
    error_of,
    unavailable,
)
from gsum_resources.endpoint.rate_limit import RateLimiter
from gsum_resources.protocols.models import ModelUnavailableError
from gsum_resources.state.database import state_of
from gsum_resources.store.content_hash import hash_texts
from gsum_resources.store.locked_property import locked_property
from gsum_resources.store.parquet_store import ParquetStore

Item = TypeVar("Item")
Value = TypeVar("Value")

_BYTES_PER_TOKEN = 2  # of a prompt until the server has counted it; English has four
_LONGEST_BACKOFF_S = 60.0
_CHECK_TIMEOUT_S = 30.0
_CHECK_ATTEMPTS = 3
_UNREADABLE = (LookupError, TypeError, AttributeError, ValueError, RecursionError)
_CONSUMED_S = 0.01  # between two checks of the values that wait to be consumed
_AWAY_AFTER = 3  # consecutive requests, at least
_PROBE_EVERY_S = 30.0  # while the server is away; between, every batch fails at once


@dataclass(frozen=True)
class Answer(Generic[Value]):
    """A server's answer; its token counts are None if it does not count.

    `retries` is the number of attempts before the successful one.
    """

    value: Value
    tokens_in: int | None
    tokens_out: int | None
    retries: int = 0


class Endpoint:
    """A server that speaks the OpenAI protocol, with all requests of this process to it.

    Everything runs in one background thread, which keeps the connections and starts on first use;
    `check`, `fetch` and `map` may be called from any thread. `store` counts attempts across
    processes. `backoff_s` is the maximum pause before the first retry, doubled for each further
    one.
    """

    def __init__(
        self, settings: Settings, store: ParquetStore | None = None, backoff_s: float = 1.0
    ) -> None:
        self.settings = settings
        self._connection = Connection(settings)
        # limits apply per account at a server
        account = hash_texts([settings.table, settings.base_url, settings.api_key_env], 8)
        state = (lambda: state_of(store)) if store else None
        limits = settings.requests_per_minute, settings.tokens_per_minute
        self._limiter = RateLimiter(*limits, state, account)
        self._slots = asyncio.Semaphore(settings.max_concurrent)
        self._backoff = wait_random_exponential(multiplier=backoff_s, max=_LONGEST_BACKOFF_S)
        self._given_up = 0  # consecutive requests
        self._answered = False  # whether any request was ever answered
        self._outage = ""  # the error of a server that is away: a request has a single attempt
        self._probed = 0.0  # when a batch was last sent to it

    @locked_property
    def _loop(self) -> asyncio.AbstractEventLoop:
        """The event loop of the background thread, which starts with the first request."""
        loop = asyncio.new_event_loop()
        name = f"endpoint-{self.settings.table}"
        threading.Thread(target=loop.run_forever, name=name, daemon=True).start()
        return loop

    def _run(self, work: Coroutine[Any, Any, Value]) -> Value:
        """Return the result of work in that thread; an interrupt of the caller cancels it."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        finally:
            future.cancel()

    def check(self) -> None:
        """Request the list of models, so that a wrong key or address is reported early.

        A server without such a list, or a busy one, passes. Raises `SettingsError` if there is no
        key, `ModelUnavailableError` if the server refuses it, or cannot be reached.
        """
        self._connection.prepare()
        self._run(self._check(1 if self._outage else _CHECK_ATTEMPTS))
        self._probed = -_PROBE_EVERY_S  # the next batch may try again

    def fetch(self, path: str, body: dict[str, Any] | None = None) -> Any:
        """Return the server's parsed answer to one request, a GET without body; None if it fails.

        `path` is below the base URL, or a complete URL at the same server.
        """
        self._connection.prepare()
        try:
            return json.loads(self._run(self._send_once(path, body)))
        except (EndpointError, ValueError):
            return None

    def map(
        self,
        work: Callable[[Item], Awaitable[Value]],
        items: Sequence[Item],
        on_value: Callable[[int, Value], None] | None = None,
    ) -> list[Value]:
        """Return `work`, which awaits `post`, of each item, in order.

        As many run concurrently as the settings allow. `on_value` is called in the calling thread
        with the index of an item and its value. The first exception of either cancels the others.

        Raises `ModelUnavailableError` if the server is away; at once if this is known, and the
        last batch was sent to it less than 30 seconds ago.
        """
        if not items:
            return []
        self._connection.prepare()
        if self._outage and time.monotonic() - self._probed < _PROBE_EVERY_S:
            raise error_of(self.settings, self._outage)
        self._probed = time.monotonic()
        values: dict[int, Value] = {}
        ready: queue.SimpleQueue[tuple[int, Value] | None] = queue.SimpleQueue()
        future = asyncio.run_coroutine_threadsafe(self._work_off(work, items, ready), self._loop)
        future.add_done_callback(lambda _: ready.put(None))
        try:
            while item := ready.get():
                index, value = item
                values[index] = value
                if on_value:
                    on_value(index, value)
        finally:
            future.cancel()  # no effect if it is done
        future.result()
        return [values[index] for index in range(len(items))]

    async def post(
        self,
        path: str,
        body: dict[str, Any],
        tokens_out: int,
        read: Callable[[Any], Value],
        is_final: Callable[[int, str], bool] | None = None,
        on_words: OnWords | None = None,
    ) -> Answer[Value]:
        """Send one request within the limits, with retries.

        Parameters
        ----------
        tokens_out : maximum number of tokens of the reply.
        read : extracts the value from the parsed JSON reply; LookupError, TypeError, AttributeError
            or ValueError mean that the attempt has failed.
        is_final : whether to leave a failure, by its status and message, to the caller instead of
            trying again. Such a failure does not count as one of the server.
        on_words : called with the pieces of a chat completion whose body requests a stream.

        Raises
        ------
        EndpointError
            If this request got no usable answer.
        ModelUnavailableError
            If no request will succeed: key or model are refused, or the server is away.
        """

        def is_repeated(error: BaseException) -> bool:
            if not isinstance(error, TransientError):
                return False
            return not (is_final and is_final(error.status, str(error)))

        retrying = AsyncRetrying(
            stop=stop_after_attempt(1 if self._outage else self.settings.max_retries + 1),
            wait=self._pause,
            retry=retry_if_exception(is_repeated),
            reraise=True,
        )
        try:
            answer = await retrying(self._attempt, path, _encoded(body), tokens_out, read, on_words)
        except EndpointError as error:
            failure = error
        else:
            self._note_answer()
            retries = retrying.statistics["attempt_number"] - 1
            return Answer(answer.value, answer.tokens_in, answer.tokens_out, retries)
        attempts = retrying.statistics["attempt_number"]
        if unavailable_error := unavailable(failure, self.settings, self._answered):
            raise unavailable_error
        if not is_repeated(failure):
            self._note_answer()
        elif unavailable_error := self._away_after(failure):
            raise unavailable_error
        tried = f", tried {attempts} times" if attempts > 1 else ""
        message = f"no usable answer from {self.settings.base_url}: {failure}{tried}"
        raise EndpointError(message, failure.status, attempts - 1, failure.is_filtered)

    def close(self) -> None:
        """Close the connections and stop the thread; the endpoint cannot be used afterwards."""
        self._run(self._connection.close())
        self._loop.call_soon_threadsafe(self._loop.stop)

    def _note_answer(self) -> None:
        self._answered, self._given_up, self._outage = True, 0, ""

    def _away_after(self, failure: EndpointError) -> ModelUnavailableError | None:
        """Return the error of an outage, and note it, if a request that was given up means one."""
        self._given_up += 1
        reached = isinstance(failure, TransientError) and failure.reached
        if reached and self._given_up < max(_AWAY_AFTER, self.settings.max_concurrent):
            return None
        self._outage = self._outage or str(away(failure, self.settings, self._given_up))
        self._given_up, self._probed = 0, time.monotonic()
        return error_of(self.settings, self._outage)

    async def _send_once(self, path: str, body: dict[str, Any] | None = None) -> str:
        """Return the body of the answer to a request that costs nothing."""
        await self._limiter.admit(0)
        content = None if body is None else _encoded(body)
        seconds = min(_CHECK_TIMEOUT_S, self.settings.timeout_s)
        return await self._connection.send(path, content, seconds)

    async def _work_off(
        self,
        work: Callable[[Item], Awaitable[Value]],
        items: Sequence[Item],
        ready: "queue.SimpleQueue[tuple[int, Value] | None]",
    ) -> None:
        """Run workers; they take no item while values wait to be stored, lest more are paid for."""
        n_workers = min(self.settings.max_concurrent, len(items))

        async def worker(numbered: Generator[tuple[int, Item]]) -> None:
            for index, item in numbered:
                try:
                    ready.put((index, await work(item)))
                except BaseException:
                    numbered.close()
                    raise
                while ready.qsize() > n_workers:
                    await asyncio.sleep(_CONSUMED_S)

        numbered = (pair for pair in enumerate(items))
        workers = [asyncio.ensure_future(worker(numbered)) for _ in range(n_workers)]
        try:
            await asyncio.gather(*workers)
        finally:
            for running in workers:
                running.cancel()
            await asyncio.gather(*workers, return_exceptions=True)

    async def _attempt(
        self,
        path: str,
        content: bytes,
        tokens_out: int,
        read: Callable[[Any], Value],
        on_words: OnWords | None,
    ) -> Answer[Value]:
        async with self._slots:
            admitted = await self._limiter.admit(len(content) // _BYTES_PER_TOKEN + tokens_out)
            try:
                text = await self._connection.send(path, content, self.settings.timeout_s, on_words)
            except EndpointError as failure:
                if 400 <= failure.status < 500:
                    self._limiter.settle(admitted, 0)  # the server processed no tokens
                if isinstance(failure, TransientError) and failure.retry_after_s:
                    self._limiter.hold(failure.retry_after_s)
                raise
        answer = self._read(text, read)
        if answer.tokens_in is not None:
            self._limiter.settle(admitted, answer.tokens_in + (answer.tokens_out or 0))
        return answer

    def _read(self, text: str, read: Callable[[Any], Value]) -> Answer[Value]:
        try:
            data = json.loads(text)
            usage = data.get("usage") or {}
            counts = [usage.get(name) for name in ("prompt_tokens", "completion_tokens")]
            tokens_in, tokens_out = (n if isinstance(n, int) else None for n in counts)
            return Answer(read(data), tokens_in, tokens_out)
        except _UNREADABLE as error:
            what = type(error).__name__
        body = self._connection.key.hide_in_error(" ".join(text[:200].split()))
        raise TransientError(f"200 with an unusable body ({what}): {body}", 200)

    def _pause(self, state: RetryCallState) -> float:
        """Return the seconds before the next attempt: the larger of back-off and Retry-After."""
        failure = state.outcome.exception() if state.outcome else None
        requested = failure.retry_after_s if isinstance(failure, TransientError) else None
        return max(requested or 0.0, self._backoff(state))

    async def _check(self, n_attempts: int) -> None:
        retrying = AsyncRetrying(
            stop=stop_after_attempt(n_attempts),
            wait=self._pause,
            retry=retry_if_exception(lambda e: isinstance(e, TransientError) and not e.status),
            reraise=True,
        )
        try:
            await retrying(self._send_once, "/models")
            return
        except EndpointError as error:
            failure = error
        # a key may be valid for inference but not for lists
        is_refused = isinstance(failure, RefusedError) and "scope" not in str(failure)
        unavailable_error = unavailable(failure, self.settings) if is_refused else None
        if not failure.status:
            unavailable_error = away(failure, self.settings, 1)
            self._outage, self._probed = str(unavailable_error), time.monotonic()
        if unavailable_error:
            raise unavailable_error


def _encoded(body: dict[str, Any]) -> bytes:
    """Return a request's body; lone surrogates become question marks."""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")
