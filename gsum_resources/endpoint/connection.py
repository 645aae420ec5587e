"""`Connection`: sends one request and reports failures without revealing the key."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gsum_resources.endpoint.failures import EndpointError, Settings, TransientError, failure_of
from gsum_resources.endpoint.key import Key, read_key
from gsum_resources.settings.schema import SettingsError
from gsum_resources.store.locked_property import locked_property

if TYPE_CHECKING:
    from openai import AsyncOpenAI

OnWords = Callable[[str | None], None]
"""Callback with each piece of a reply as it arrives, from the thread of the connection.

None: an attempt begins, and what arrived of an earlier one is void."""


class Connection:
    """The HTTP client of one server; the key is read on first use."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def prepare(self) -> None:
        """Read the key and create the client, so that the first request is sent without delay."""
        assert self._client

    @cached_property
    def key(self) -> Key:
        """The key, which hides its value."""
        return read_key(self._settings, self._settings.table)

    async def send(
        self, path: str, content: bytes | None, seconds: float, on_words: OnWords | None = None
    ) -> str:
        """Return the body of a successful answer to one request, a GET without content.

        `seconds` limits the whole attempt, including the body's arrival.

        Raises `EndpointError` without cause and context, whose traceback might show the key.
        """
        if on_words:
            on_words(None)
        answer = await self._answer(path, content, seconds, on_words)
        if isinstance(answer, EndpointError):
            raise answer
        return answer

    async def close(self) -> None:
        """Close the connections."""
        if "_client" in self.__dict__:
            await self._client.close()

    async def _answer(
        self, path: str, content: bytes | None, seconds: float, on_words: OnWords | None
    ) -> str | EndpointError:
        import httpx2
        import openai

        # the client's mandatory Authorization header is left out if there is no key
        headers: dict[str, Any] = {} if self.key.reveal() else {"Authorization": openai.Omit()}
        if on_words:
            headers["X-Stainless-Raw-Response"] = "stream"
        options: Any = {"cast_to": httpx2.Response, "options": {"headers": headers}}
        try:
            async with asyncio.timeout(seconds):
                if content is None:
                    response = await self._client.get(path, **options)
                else:
                    response = await self._client.post(path, content=content, **options)
                return self.key.hide_in_reply(await self._text(response, on_words))
        except openai.APIStatusError as error:
            text = self.key.hide_in_error(error.response.content.decode("utf-8", "replace"))
            return failure_of(error.response.status_code, error.response.headers, text)
        except (TimeoutError, openai.APITimeoutError):
            return TransientError(f"no complete answer within {seconds:g} s")
        except (openai.OpenAIError, httpx2.HTTPError) as error:
            cause = error.__cause__ or error
            message = self.key.hide_in_error(f"{type(cause).__name__}: {cause}".rstrip(": "))
            return TransientError(message, reached=not isinstance(cause, httpx2.ConnectError))

    async def _text(self, response: Any, on_words: OnWords | None) -> str:
        """Return the body of an answer; a stream is put together, if the server sends one."""
        try:
            if on_words and "text/event-stream" in response.headers.get("content-type", ""):
                return await assembled(
                    response.aiter_lines(), lambda words: on_words(self.key.hide_in_reply(words))
                )
            return (await response.aread()).decode("utf-8", "replace")
        finally:
            await response.aclose()

    @locked_property
    def _client(self) -> "AsyncOpenAI":
        from httpx2 import InvalidURL, Limits
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient

        # Their logs of each request do not help an operator, and may contain headers.
        for name in ("openai", "httpx2", "httpcore2"):
            logging.getLogger(name).setLevel(logging.WARNING)
        n_connections = self._settings.max_concurrent + 1  # one more for `check`
        limits = Limits(max_connections=n_connections, max_keepalive_connections=n_connections)
        try:
            return AsyncOpenAI(
                api_key=self.key.reveal() or "none",
                base_url=self._settings.base_url,
                max_retries=0,  # it gives up on a Retry-After of more than two minutes
                timeout=None,  # `send` bounds the attempt as a whole
                http_client=DefaultAsyncHttpxClient(timeout=None, limits=limits),
            )
        except InvalidURL as error:
            problem = str(error)
        table = self._settings.table
        raise SettingsError(f"base_url in [{table}] of gsum.toml: {problem}; correct it")


async def assembled(lines: AsyncIterator[str], on_piece: Callable[[str], None]) -> str:
    """Return the reply, as if it were not streamed, from the events of a chat completion.

    Without choices if the stream ended before the reply did; no JSON if an event is none.
    """
    message: dict[str, str] = {}
    whole: dict[str, Any] = {}
    finish = ""
    async for line in lines:
        name, _, data = line.partition(":")
        if name != "data" or data.strip() in ("", "[DONE]"):
            continue
        try:
            event = json.loads(data)
        except ValueError:
            event = None
        if not isinstance(event, dict):
            return f"an event that is no JSON object: {data}"
        whole |= {k: event[k] for k in ("model", "usage", "error") if event.get(k)}
        for choice in event.get("choices") or ():
            delta = choice.get("delta") or {}
            for key in ("content", "reasoning_content", "reasoning", "refusal"):
                if isinstance(piece := delta.get(key), str):
                    message[key] = message.get(key, "") + piece
                    if key == "content" and piece:
                        on_piece(piece)
            finish = choice.get("finish_reason") or finish
    choices = [{"index": 0, "message": message, "finish_reason": finish}]
    return json.dumps(whole | ({"choices": choices} if finish else {}))
