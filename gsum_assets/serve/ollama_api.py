"""The protocol of Ollama: models, chats that are streamed as lines of JSON, and the version."""

import json
import time
from datetime import UTC, datetime
from hashlib import sha256
from typing import Annotated, Any

from pydantic import AfterValidator, AliasPath, BeforeValidator, Field, PrivateAttr
from pydantic.json_schema import SkipJsonSchema
from starlette.requests import Request
from starlette.responses import JSONResponse

from gsum_assets.serve.chat import ChatBody, Pieces, Schema, Texts, Written
from gsum_assets.serve.http import Endpoint, Events, Nothing, error_of, event_stream
from gsum_assets.serve.service import service_of

_VERSION = "0.9.0"  # of Ollama; clients refuse one that is too old for them


def _response_format(given: Any) -> Any:
    """Return a JSON schema as a `response_format` of OpenAI's protocol."""
    if given and not isinstance(given, dict):
        raise ValueError(f"{given!r:.80} is no JSON schema; send one, or leave it out")
    return {"json_schema": {"schema": given}} if given else None


class OllamaBody(ChatBody):
    """Body of `/api/chat`; of `options`, `stop` and `num_predict` are used."""

    model: Annotated[str, AfterValidator(lambda name: name.removesuffix(":latest"))]
    stream: bool | None = True
    form: Annotated[Schema, BeforeValidator(_response_format)] = Field(None, alias="format")
    options: dict[str, Any] | None = None
    stops: SkipJsonSchema[Texts] = Field([], validation_alias=AliasPath("options", "stop"))
    most_tokens: SkipJsonSchema[int | None] = Field(
        None, validation_alias=AliasPath("options", "num_predict")
    )
    _begun_ns: int = PrivateAttr(default_factory=time.monotonic_ns)

    def reply(self, text: str, written: Written | None = None) -> dict[str, Any]:
        """Return a piece of a reply, or its end; of the durations, the total alone is known."""
        message = {"role": "assistant", "content": text}
        piece = {"model": self.model, "created_at": datetime.now(UTC).isoformat()}
        piece |= {"message": message, "done": written is not None}
        if written:
            piece |= {"done_reason": written.finish, "citations": written.sources}
            piece |= written.usage("prompt_eval_count", "eval_count")
            piece["total_duration"] = time.monotonic_ns() - self._begun_ns
        return piece


async def _chat(request: Request, body: OllamaBody) -> Any:
    """An answer in Ollama's protocol, streamed unless `stream` is false."""
    pieces = await body.pieces(request)
    if body.stream is not False:
        return event_stream(_lines(pieces, body), body.warning, "application/x-ndjson")
    *_, written = [piece async for piece in pieces]
    return JSONResponse(body.reply(written.text, written), headers=body.warning)


async def _lines(pieces: Pieces, body: OllamaBody) -> Events:
    """Yield the lines of a reply; one without text is this protocol's comment."""
    try:
        async for piece in pieces:
            is_end, is_text = isinstance(piece, Written), isinstance(piece, str)
            reply = body.reply(piece if is_text else "", piece if is_end else None)
            yield json.dumps(reply).encode() + b"\n"  # ASCII: clients end lines at U+2028, too
    except Exception as error:
        yield json.dumps({"error": error_of(error)[1]["message"]}).encode() + b"\n"


def _tags(request: Request, _: Nothing) -> dict[str, Any]:
    """The models of Ollama's protocol: those of `/v1/models`."""
    facts = {"size": 0, "modified_at": "1970-01-01T00:00:00Z", "details": {"family": "gsum"}}
    models = [
        {"name": name, "model": name, "digest": sha256(name.encode()).hexdigest(), **facts}
        for name in service_of(request).model_names(request)
    ]
    return {"models": models}


def _version(_: Request, __: Nothing) -> dict[str, str]:
    """The version of Ollama whose protocol this is."""
    return {"version": _VERSION}


ENDPOINTS = [
    Endpoint("/api/tags", _tags),
    Endpoint("/api/version", _version),
    Endpoint("/api/chat", _chat, OllamaBody, "POST"),
]
