"""`Connection`: sends one request and reports failures without revealing the key."""

import asyncio
import logging
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gsum_resources.endpoint.failures import EndpointError, Settings, TransientError, failure_of
from gsum_resources.endpoint.key import Key, read_key
from gsum_resources.endpoint.stream import Assembly, OnWords
from gsum_resources.settings.schema import SettingsError

if TYPE_CHECKING:
    from openai import AsyncOpenAI


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
        """Return the body of a successful answer to one request, without the key.

        Parameters
        ----------
        content : JSON to post; None sends a GET request.
        seconds : time limit of the whole attempt, including the body's arrival.
        on_words : called with the pieces of a chat completion whose content requests a stream.

        Raises
        ------
        EndpointError
            The classified failure. It has no cause and no context, so that no traceback shows the
            client's own exceptions and their data.
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

        post: dict[str, Any] = {} if content is None else {"content": content}
        call = self._client.get if content is None else self._client.post
        try:
            async with asyncio.timeout(seconds):
                if on_words:
                    return await self._streamed(path, post, on_words)
                response = await call(path, cast_to=httpx2.Response, options=self._options, **post)
        except openai.APIStatusError as error:
            body = self.key.hide_in_error(error.response.content.decode("utf-8", "replace"))
            return failure_of(error.response.status_code, error.response.headers, body)
        except (TimeoutError, openai.APITimeoutError):
            return TransientError(f"no complete answer within {seconds:g} s")
        except (openai.OpenAIError, httpx2.HTTPError) as error:
            cause = error.__cause__ or error
            message = self.key.hide_in_error(f"{type(cause).__name__}: {cause}".rstrip(": "))
            return TransientError(message, reached=not isinstance(cause, httpx2.ConnectError))
        return self.key.hide_in_reply(response.content.decode("utf-8", "replace"))

    async def _streamed(self, path: str, post: dict[str, Any], on_words: OnWords) -> str:
        """Return the body of an answer, of a server that does not stream as it is."""
        import httpx2

        headers = {**self._options.get("headers", {}), "X-Stainless-Raw-Response": "stream"}
        response = await self._client.post(
            path, cast_to=httpx2.Response, options={"headers": headers}, **post
        )
        try:
            if "text/event-stream" not in response.headers.get("content-type", ""):
                body = await response.aread()
                return self.key.hide_in_reply(body.decode("utf-8", "replace"))
            assembly = Assembly(lambda words: on_words(words and self.key.hide_in_reply(words)))
            try:
                async for line in response.aiter_lines():
                    assembly.add(line)
            except ValueError as error:
                return f"an event that is no JSON: {error}"  # an unusable body
            return self.key.hide_in_reply(assembly.body())
        finally:
            await response.aclose()

    @cached_property
    def _options(self) -> Any:
        """Request options, without the client's mandatory Authorization header if there is no
        key.
        """
        from openai import Omit

        return {} if self.key.reveal() else {"headers": {"Authorization": Omit()}}

    @cached_property
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
                max_retries=0,
                timeout=None,  # `send` bounds the attempt as a whole
                http_client=DefaultAsyncHttpxClient(timeout=None, limits=limits),
            )
        except InvalidURL as error:
            problem = str(error)
        table = self._settings.table
        raise SettingsError(f"base_url in [{table}] of gsum.toml: {problem}; correct it")
