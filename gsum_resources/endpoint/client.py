"""`Endpoint`: requests to one server, many at once, each tried until answered or given up."""

import asyncio
import json
import queue
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception,
    retry_if_exception_type,
    stop_after_attempt,
    wait_random_exponential,
)

from gsum_resources.content_hash import hash_texts
from gsum_resources.endpoint.background import BackgroundLoop
from gsum_resources.endpoint.connection import Connection
from gsum_resources.endpoint.failures import (
    EndpointError,
    RefusedError,
    Settings,
    TransientError,
    away,
    out_of_reach,
    unavailable,
)
from gsum_resources.endpoint.rate_limit import RateLimiter, TokenEstimate
from gsum_resources.parquet_store import ParquetStore
from gsum_resources.state import state_of

Item = TypeVar("Item")
Value = TypeVar("Value")

_LONGEST_BACKOFF_S = 60.0
_CHECK_TIMEOUT_S = 30.0
_CHECK_ATTEMPTS = 3
_UNREADABLE = (LookupError, TypeError, AttributeError, ValueError, RecursionError)
_AWAY_AFTER = 3  # requests in a row for which no connection could be made


@dataclass(frozen=True)
class Answer(Generic[Value]):
    """What a server answered.

    Attributes
    ----------
    value : what `read` made of it.
    tokens_in, tokens_out : as the server counts them; None where it does not.
    retries : attempts before this one.
    """

    value: Value
    tokens_in: int | None
    tokens_out: int | None
    retries: int = 0


class Endpoint:
    """A server that speaks the OpenAI protocol, and all that this process asks of it.

    The key is read, and connections are made, when first used. Everything runs in one background
    thread, which keeps the connections; `check` and `map` may be called from any other.

    Parameters
    ----------
    settings : where the server is, and how hard it may be pressed.
    store : its database counts attempts, for other processes as well.
    backoff_s : longest pause before the first retry, seconds; it doubles with each further one.
    """

    def __init__(
        self, settings: Settings, store: ParquetStore | None = None, backoff_s: float = 1.0
    ) -> None:
        self.settings = settings
        self._connection = Connection(settings)
        self._background = BackgroundLoop(f"endpoint-{settings.table}")
        self._limiter = RateLimiter(
            settings.requests_per_minute,
            settings.tokens_per_minute,
            (lambda: state_of(store)) if store else None,
            # limits belong to an account at a server, so what distinguishes those names it
            hash_texts([settings.table, settings.base_url, settings.api_key_env], 8),
        )
        self._estimate = TokenEstimate()
        self._slots = asyncio.Semaphore(settings.max_concurrent)
        self._backoff = wait_random_exponential(multiplier=backoff_s, max=_LONGEST_BACKOFF_S)
        self._given_up = 0  # requests in a row
        self._patient = True  # until no connection could be made for a request, however often
        self._answered = False  # any request, ever

    def check(self) -> None:
        """Ask for the list of models, so that a wrong key or address is told before any work.

        A server that has no such list, or is busy, is none the worse.

        Raises
        ------
        SettingsError
            If the variable that should hold the key does not.
        ModelUnavailableError
            If the server refuses the key, or no connection can be made.
        """
        self._connection.prepare()
        self._background.run(self._check())

    def fetch(self, path: str, bodies: Sequence[dict[str, Any] | None]) -> list[Any]:
        """What the server answers to side questions, each tried once; None for a failure.

        Parameters
        ----------
        path : below the base URL, or a whole address at the same server.
        bodies : made JSON and posted; None: get.
        """
        self._connection.prepare()
        return self._background.run(self._fetch(path, bodies))

    def map(
        self,
        work: Callable[[Item], Awaitable[Value]],
        items: Sequence[Item],
        on_value: Callable[[int, Value], None] | None = None,
    ) -> list[Value]:
        """`work` on each item, as many at once as the settings allow; values in order.

        Parameters
        ----------
        work : awaits `post`.
        on_value : called in the calling thread with an item's place and value once it is there.

        Raises
        ------
        Exception
            The first that `work` or `on_value` raises; what is under way is cancelled then.
        """
        if not items:
            return []
        self._connection.prepare()
        values: dict[int, Value] = {}
        ready: queue.SimpleQueue[tuple[int, Value] | None] = queue.SimpleQueue()
        future = self._background.start(self._work_off(work, items, ready))
        future.add_done_callback(lambda _: ready.put(None))
        try:
            while found := ready.get():
                place, value = found
                values[place] = value
                if on_value:
                    on_value(place, value)
        finally:
            future.cancel()  # of no effect once it is done
        future.result()
        return [values[place] for place in range(len(items))]

    async def post(
        self,
        path: str,
        body: dict[str, Any],
        tokens_out: int,
        read: Callable[[Any], Value],
        is_final: Callable[[EndpointError, int], bool] = lambda failure, attempts: False,
    ) -> Answer[Value]:
        """Send one request, again and again if need be, within the limits.

        Parameters
        ----------
        path : below the base URL, such as `/chat/completions`.
        body : made JSON; lone surrogates become question marks.
        tokens_out : most that the reply may take.
        read : takes what is wanted from the reply, parsed JSON; where it raises LookupError,
            TypeError, AttributeError or ValueError the attempt has failed.
        is_final : whether a failure, after so many attempts, is left to the caller instead of
            trying again. It says nothing of the server's health then.

        Raises
        ------
        EndpointError
            If this request got no usable answer.
        ModelUnavailableError
            If no request will get any: key or model are refused, the server is away.
        """
        content = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
        last = stop_after_attempt(self.settings.max_retries + 1 if self._patient else 1)
        retrying = AsyncRetrying(
            stop=lambda state: last(state) or is_final(_failure_in(state), state.attempt_number),
            wait=self._pause,
            retry=retry_if_exception_type(TransientError),
            reraise=True,
        )
        encoded = content.encode("utf-8", "replace")
        try:
            answer = await retrying(self._attempt, path, encoded, tokens_out, read)
        except EndpointError as error:
            failure = error
        else:
            self._given_up, self._answered, self._patient = 0, True, True
            retries = retrying.statistics["attempt_number"] - 1
            return Answer(answer.value, answer.tokens_in, answer.tokens_out, retries)
        attempts = retrying.statistics["attempt_number"]
        if isinstance(failure, TransientError) and is_final(failure, attempts):
            told = _told(self.settings, failure, attempts)
            raise EndpointError(told, failure.status, attempts - 1)
        raise self._final(failure, attempts)

    def close(self) -> None:
        """Close the connections and end the thread; the endpoint serves no more."""
        self._background.run(self._connection.close())
        self._background.stop()

    async def _fetch(self, path: str, bodies: Sequence[dict[str, Any] | None]) -> list[Any]:
        async def one(body: dict[str, Any] | None) -> Any:
            content = None if body is None else json.dumps(body).encode()
            async with self._slots:
                await self._limiter.admit(0)
                try:
                    return json.loads(await self._connection.send(path, content, _CHECK_TIMEOUT_S))
                except (EndpointError, ValueError):
                    return None

        return await asyncio.gather(*map(one, bodies))

    async def _work_off(
        self,
        work: Callable[[Item], Awaitable[Value]],
        items: Sequence[Item],
        ready: "queue.SimpleQueue[tuple[int, Value] | None]",
    ) -> None:
        """Workers that take items from one iterator; the first exception ends them all."""

        async def worker(numbered: Iterator[tuple[int, Item]]) -> None:
            for place, item in numbered:
                ready.put((place, await work(item)))

        numbered = iter(enumerate(items))
        n_workers = min(self.settings.max_concurrent, len(items))
        workers = [asyncio.ensure_future(worker(numbered)) for _ in range(n_workers)]
        try:
            await asyncio.gather(*workers)
        finally:
            for one in workers:
                one.cancel()
            await asyncio.gather(*workers, return_exceptions=True)

    async def _attempt(
        self, path: str, content: bytes, tokens_out: int, read: Callable[[Any], Value]
    ) -> Answer[Value]:
        async with self._slots:
            reserved = self._estimate.tokens(len(content)) + tokens_out
            admitted = await self._limiter.admit(reserved)
            try:
                text = await self._connection.send(path, content, self.settings.timeout_s)
            except EndpointError as failure:
                if 400 <= failure.status < 500:
                    self._limiter.settle(admitted, 0)  # nothing was read or written
                if isinstance(failure, TransientError) and failure.retry_after_s:
                    self._limiter.hold(failure.retry_after_s)
                raise
        answer = self._read(text, read)
        if answer.tokens_in is not None:
            self._estimate.observe(len(content), answer.tokens_in)
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
        told = self._connection.key.hide_in_error(" ".join(text[:200].split()))
        raise TransientError(f"200 with a body of no use ({what}): {told}", 200)

    def _pause(self, state: RetryCallState) -> float:
        """Return seconds before the next attempt: the back-off, or what the server asks if it is
        more.
        """
        failure = state.outcome.exception() if state.outcome else None
        asked = failure.retry_after_s if isinstance(failure, TransientError) else None
        return max(asked or 0.0, self._backoff(state))

    def _final(self, failure: EndpointError, attempts: int) -> Exception:
        """What is raised for a request that is given up after so many attempts."""
        if hopeless := unavailable(failure, self.settings, self._answered):
            return hopeless
        told = _told(self.settings, failure, attempts)
        if not isinstance(failure, TransientError):
            self._answered = True
            return EndpointError(told, failure.status, attempts - 1)
        self._given_up += 1
        self._patient = failure.reached
        # a request may itself be at fault, unless no connection could be made for it at all
        enough = max(_AWAY_AFTER, self.settings.max_concurrent if failure.reached else 0)
        if self._given_up >= enough:
            given_up, self._given_up = self._given_up, 0
            return away(failure, self.settings, given_up)
        return EndpointError(told, failure.status, attempts - 1)

    async def _check(self) -> None:
        retrying = AsyncRetrying(
            stop=stop_after_attempt(_CHECK_ATTEMPTS),
            wait=self._pause,
            retry=retry_if_exception(lambda e: isinstance(e, TransientError) and not e.status),
            reraise=True,
        )

        async def ask() -> None:
            await self._limiter.admit(0)
            seconds = min(_CHECK_TIMEOUT_S, self.settings.timeout_s)
            await self._connection.send("/models", None, seconds)

        try:
            await retrying(ask)
        except EndpointError as error:
            failure = error
        else:
            return
        if isinstance(failure, RefusedError):
            # a key may be good for inference and not for lists
            hopeless = None if "scope" in str(failure) else unavailable(failure, self.settings)
        else:
            hopeless = None if failure.status else out_of_reach(failure, self.settings)
        if hopeless:
            raise hopeless


def _failure_in(state: RetryCallState) -> EndpointError:
    """Return the failure of the latest attempt, which is the only thing that is retried."""
    failure = state.outcome.exception() if state.outcome else None
    assert isinstance(failure, EndpointError)
    return failure


def _told(settings: Settings, failure: EndpointError, attempts: int) -> str:
    tried = f", tried {attempts} times" if attempts > 1 else ""
    return f"no usable answer from {settings.base_url}: {failure}{tried}"
