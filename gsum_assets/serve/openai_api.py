"""The protocol of OpenAI: models, chat completions, responses (none is kept) and embeddings."""

import base64
import time
import uuid
from itertools import count
from typing import Annotated, Any, Literal

from pydantic import AliasPath, BaseModel, BeforeValidator, Field
from pydantic.json_schema import SkipJsonSchema
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from gsum_assets.answering.answer import Answer
from gsum_assets.answering.ask import inputs_of
from gsum_assets.corpus.chunk import n_word_pieces
from gsum_assets.serve.chat import ChatBody, Message, Pieces, Schema, Texts, Written, workspace_of
from gsum_assets.serve.http import Endpoint, Events, Nothing, error_of, event, event_stream
from gsum_assets.serve.service import service_of


def _messages(given: Any) -> Any:
    """Return an input as messages; items that are none, such as calls of tools, are left out."""
    if isinstance(given, list):
        return [item for item in given if not isinstance(item, dict) or "role" in item]
    return [{"role": "user", "content": given}]


_USAGE = ("prompt_tokens", "completion_tokens", "total_tokens")


class ResponseBody(ChatBody):
    """Body of `/v1/responses`."""

    messages: Annotated[list[Message], BeforeValidator(_messages)] = Field(
        alias="input", min_length=1, max_length=1_000
    )
    instructions: str | None = None
    text: Any = None
    form: SkipJsonSchema[Schema] = Field(None, validation_alias=AliasPath("text", "format"))
    most_tokens: int | None = Field(None, alias="max_output_tokens")
    previous_response_id: str | None = None


class EmbeddingBody(BaseModel):
    """Body of `/v1/embeddings`; the model is a corpus, whose embedder is used."""

    model: str
    input: Texts = Field(min_length=1, max_length=2_048)
    encoding_format: Literal["float", "base64"] | None = "float"
    dimensions: int | None = None


def _models(request: Request, _: Nothing) -> dict[str, Any]:
    """The models of OpenAI's protocol: `corpus` and `corpus/method`."""
    models = map(_as_model, service_of(request).model_names(request))
    return {"object": "list", "data": list(models)}


def _model(request: Request) -> JSONResponse:
    name = request.path_params["name"]
    workspace_of(request, name)
    return JSONResponse(_as_model(name))


def _as_model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "gsum"}


async def _complete(request: Request, body: ChatBody) -> Any:
    """An answer in OpenAI's protocol, also streamed."""
    pieces = await body.pieces(request)
    reply = {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": int(time.time()), "model": body.model}
    if body.stream:
        with_usage = bool((body.stream_options or {}).get("include_usage"))
        return event_stream(_chunks(pieces, reply, with_usage), body.warning)
    *_, written = [piece async for piece in pieces]
    cited = {"citations": written.sources}
    message = {"role": "assistant", "content": written.text, "refusal": None, **cited}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": written.finish}
    whole = {"object": "chat.completion", "choices": [choice], "usage": written.usage(*_USAGE)}
    return JSONResponse({**reply, **whole, **cited}, headers=body.warning)


async def _chunks(pieces: Pieces, reply: dict[str, Any], with_usage: bool) -> Events:
    """Yield the chunks of a reply."""

    def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return event({**reply, "object": "chat.completion.chunk", "choices": [choice], **more})

    yield chunk({"role": "assistant", "content": ""})
    try:
        async for piece in pieces:
            if isinstance(piece, bytes):
                yield piece
            elif isinstance(piece, str):
                yield chunk({"content": piece})
            else:
                yield chunk({}, piece.finish, citations=piece.sources)
                if with_usage:
                    yield chunk({}, choices=[], usage=piece.usage(*_USAGE))
    except Exception as error:
        yield event({"error": error_of(error)[1]})
    yield event("[DONE]")


async def _respond(request: Request, body: ResponseBody) -> Any:
    """An answer in OpenAI's newer protocol, also streamed."""
    if earlier := body.previous_response_id:
        raise ValueError(
            f"previous_response_id: there is no response '{earlier:.80}', since none is kept; send "
            "the earlier messages in `input`"
        )
    if body.instructions:
        body.messages.insert(0, Message(role="system", content=body.instructions))
    pieces = await body.pieces(request)
    response = {
        **{"id": f"resp_{uuid.uuid4().hex}", "object": "response", "status": "in_progress"},
        **{"created_at": int(time.time()), "model": body.model, "output": [], "usage": None},
        **{"error": None, "incomplete_details": None, "instructions": body.instructions},
        **{"metadata": {}, "parallel_tool_calls": False, "tool_choice": "none", "tools": []},
    }
    if body.stream:
        return event_stream(_events(pieces, response), body.warning)
    *_, written = [piece async for piece in pieces]
    return JSONResponse(_ended(response, written), headers=body.warning)


def _ended(response: dict[str, Any], written: Written) -> dict[str, Any]:
    """Return a response with its answer."""
    is_cut = written.finish == "length"
    status = "incomplete" if is_cut else "completed"
    part = {"type": "output_text", "text": written.text, "annotations": [], "logprobs": []}
    message = {"type": "message", "role": "assistant", "status": status, "content": [part]}
    return {
        **response,
        "status": status,
        "incomplete_details": {"reason": "max_output_tokens"} if is_cut else None,
        "output": [{"id": response["id"].replace("resp_", "msg_"), **message}],
        "citations": written.sources,
        "usage": {
            **written.usage("input_tokens", "output_tokens", "total_tokens"),
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        },
    }


async def _events(pieces: Pieces, response: dict[str, Any]) -> Events:
    """Yield the events of a response."""
    numbers, (message,) = count(), _ended(response, Written(Answer("", []), ""))["output"]
    begun = {**message, "status": "in_progress", "content": []}
    of_part = {"item_id": message["id"], "output_index": 0, "content_index": 0}

    def sent(kind: str, **fields: Any) -> bytes:
        kind = f"response.{kind}"
        return event({"type": kind, "sequence_number": next(numbers), **fields}, kind)

    yield sent("created", response=response)
    yield sent("in_progress", response=response)
    yield sent("output_item.added", output_index=0, item=begun)
    yield sent("content_part.added", **of_part, part=message["content"][0])
    try:
        async for piece in pieces:
            if isinstance(piece, bytes):
                yield piece
            elif isinstance(piece, str):
                yield sent("output_text.delta", **of_part, delta=piece, logprobs=[])
            else:
                ended = _ended(response, piece)
                (message,) = ended["output"]
                yield sent("output_text.done", **of_part, text=piece.text, logprobs=[])
                yield sent("content_part.done", **of_part, part=message["content"][0])
                yield sent("output_item.done", output_index=0, item=message)
                yield sent(ended["status"], response=ended)
    except Exception as error:
        failure = {"code": "server_error", "message": error_of(error)[1]["message"]}
        yield sent("failed", response={**response, "status": "failed", "error": failure})


def _embed(request: Request, body: EmbeddingBody) -> dict[str, Any]:
    """Vectors of texts by the embedder of a corpus, as those of its passages."""
    vectors = (
        inputs_of(*workspace_of(request, body.model)).model("embedding_model").embed(body.input)
    )
    if body.dimensions not in (None, vectors.shape[1]):
        raise ValueError(
            f"dimensions: {body.dimensions} is not {vectors.shape[1]}, the length of vectors here; "
            "leave it out"
        )
    encoded: Any = vectors.tolist()
    if body.encoding_format == "base64":
        encoded = [base64.b64encode(vector.tobytes()).decode() for vector in vectors]
    data = [{"object": "embedding", "index": i, "embedding": v} for i, v in enumerate(encoded)]
    n_tokens = sum(n_word_pieces(body.input))
    usage = {"prompt_tokens": n_tokens, "total_tokens": n_tokens}
    return {"object": "list", "data": data, "model": body.model, "usage": usage}


ENDPOINTS = [
    Endpoint("/v1/models", _models),
    Endpoint("/v1/chat/completions", _complete, ChatBody, "POST"),
    Endpoint("/v1/responses", _respond, ResponseBody, "POST"),
    Endpoint("/v1/embeddings", _embed, EmbeddingBody, "POST"),
]
ROUTES = [Route("/v1/models/{name:path}", _model)]
