"""`/v1/responses`: OpenAI's newer protocol, without stored responses."""

import time
import uuid
from itertools import count
from typing import Annotated, Any, ClassVar

from pydantic import AliasPath, BeforeValidator, Field, PositiveInt
from starlette.requests import Request
from starlette.responses import JSONResponse

from gsum_assets.serve.chat import Chat, Message, Pieces, Schema, Written
from gsum_assets.serve.http import (
    Endpoint,
    Events,
    RequestError,
    error_of,
    event,
    event_stream,
    in_thread,
)


def _messages(value: Any) -> Any:
    """Return an input as messages; items that are none, such as calls of tools, are left out."""
    if isinstance(value, str):
        return [{"role": "user", "content": value}]
    if isinstance(value, list):
        return [item for item in value if not isinstance(item, dict) or "role" in item]
    return value


class ResponseBody(Chat):
    """Body of `/v1/responses`."""

    form_field: ClassVar = "text.format"

    messages: Annotated[list[Message], BeforeValidator(_messages)] = Field(
        alias="input", min_length=1, max_length=1_000
    )
    instructions: str | None = None
    text: Any = None
    form: Schema = Field(None, validation_alias=AliasPath("text", "format"))
    most_tokens: PositiveInt | None = Field(None, alias="max_output_tokens")
    previous_response_id: str | None = None


async def _respond(request: Request, body: ResponseBody) -> Any:
    """An answer in OpenAI's newer protocol, also streamed."""
    if earlier := body.previous_response_id:
        message = f"previous_response_id: there is no response '{earlier:.80}', since none is kept"
        message += "; send the earlier messages in `input`"
        raise RequestError(400, "invalid_request", message)
    if body.instructions:
        body.messages.insert(0, Message(role="system", content=body.instructions))
    ask = await in_thread(body.asked, request)
    response = {
        **{"id": f"resp_{uuid.uuid4().hex}", "object": "response", "status": "in_progress"},
        **{"created_at": int(time.time()), "model": body.model, "output": [], "usage": None},
        **{"error": None, "incomplete_details": None, "instructions": body.instructions},
        **{"metadata": {}, "parallel_tool_calls": False, "tool_choice": "none", "tools": []},
    }
    if body.stream:
        pieces = body.pieces(ask, request.app.state.limits.idle_s)
        return event_stream(_events(pieces, response), body.warning)
    written = await in_thread(body.whole, ask)
    return JSONResponse(_ended(response, written), headers=body.warning)


def _part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _item(response: dict[str, Any], status: str, *content: dict[str, Any]) -> dict[str, Any]:
    """Return the only item of a response, a message."""
    item_id = response["id"].replace("resp_", "msg_")
    return {
        **{"id": item_id, "type": "message", "role": "assistant"},
        **{"status": status, "content": content},
    }


def _ended(response: dict[str, Any], written: Written) -> dict[str, Any]:
    """Return a response with its answer."""
    n_read, n_written, n_both = written.usage
    is_cut = written.finish == "length"
    status = "incomplete" if is_cut else "completed"
    return {
        **response,
        "status": status,
        "incomplete_details": {"reason": "max_output_tokens"} if is_cut else None,
        "output": [_item(response, status, _part(written.text))],
        "citations": written.sources,
        "usage": {
            **{"input_tokens": n_read, "input_tokens_details": {"cached_tokens": 0}},
            **{"output_tokens": n_written, "output_tokens_details": {"reasoning_tokens": 0}},
            "total_tokens": n_both,
        },
    }


async def _events(pieces: Pieces, response: dict[str, Any]) -> Events:
    """Yield the events of a response."""
    numbers, item = count(), _item(response, "in_progress")
    of_part = {"item_id": item["id"], "output_index": 0, "content_index": 0}

    def sent(kind: str, **fields: Any) -> bytes:
        kind = f"response.{kind}"
        return event({"type": kind, "sequence_number": next(numbers), **fields}, kind)

    yield sent("created", response=response)
    yield sent("in_progress", response=response)
    yield sent("output_item.added", output_index=0, item=item)
    yield sent("content_part.added", **of_part, part=_part(""))
    try:
        async for piece in pieces:
            if isinstance(piece, bytes):
                yield piece
            elif isinstance(piece, str):
                yield sent("output_text.delta", **of_part, delta=piece, logprobs=[])
            else:
                ended, part = _ended(response, piece), _part(piece.text)
                yield sent("output_text.done", **of_part, text=piece.text, logprobs=[])
                yield sent("content_part.done", **of_part, part=part)
                yield sent("output_item.done", output_index=0, item=ended["output"][0])
                yield sent(ended["status"], response=ended)
    except Exception as error:
        failure = {"code": "server_error", "message": error_of(error)[1]["message"]}
        yield sent("failed", response={**response, "status": "failed", "error": failure})


ENDPOINTS = [Endpoint("/v1/responses", _respond, ResponseBody, "POST")]
