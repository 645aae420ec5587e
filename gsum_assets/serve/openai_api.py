"""`/v1/models`, `/v1/chat/completions` and `/v1/embeddings`: the protocol of OpenAI."""

import base64
import time
import uuid
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, BeforeValidator, Field, PositiveInt
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from gsum_assets.corpus.chunk import n_word_pieces
from gsum_assets.serve.chat import (
    Chat,
    Pieces,
    Schema,
    Texts,
    Written,
    as_list,
    corpus_and_method,
    model_names,
)
from gsum_assets.serve.http import (
    Endpoint,
    Events,
    Nothing,
    RequestError,
    error_of,
    event,
    event_stream,
    in_thread,
)
from gsum_assets.serve.service import service_of


class ChatBody(Chat):
    """Body of `/v1/chat/completions`."""

    stream_options: dict[str, Any] | None = None
    form: Schema = Field(None, alias="response_format")
    stops: Texts = Field([], alias="stop")
    most_tokens: PositiveInt | None = Field(
        None, validation_alias=AliasChoices("max_completion_tokens", "max_tokens")
    )


def _texts(value: Any) -> Any:
    """Return texts as a list; numbers of tokens, which some clients send, are refused."""
    if isinstance(value, list) and any(isinstance(item, int | list) for item in value):
        raise ValueError(
            "numbers of tokens are those of another model; send texts (in LangChain with "
            "check_embedding_ctx_length=False)"
        )
    return as_list(value)


class EmbeddingBody(BaseModel):
    """Body of `/v1/embeddings`; the model is a corpus, whose embedder is used."""

    model: str
    input: Annotated[list[str], BeforeValidator(_texts)] = Field(min_length=1, max_length=2_048)
    encoding_format: Literal["float", "base64"] | None = "float"
    dimensions: int | None = None

    @property
    def corpora(self) -> list[str]:
        """The corpora that are asked."""
        return [self.model.partition("/")[0]]


def _models(request: Request, _: Nothing) -> dict[str, Any]:
    """The models of OpenAI's protocol: `corpus` and `corpus/method`."""
    return {"object": "list", "data": list(map(_as_model, model_names(request)))}


def _model(request: Request) -> JSONResponse:
    name = request.path_params["name"]
    corpus_and_method(request, name)
    return JSONResponse(_as_model(name))


def _as_model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "gsum"}


async def _complete(request: Request, body: ChatBody) -> Any:
    """An answer in OpenAI's protocol, also streamed."""
    ask = await in_thread(body.asked, request)
    reply = {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": int(time.time()), "model": body.model}
    if body.stream:
        pieces = body.pieces(ask, request.app.state.limits.idle_s)
        with_usage = bool((body.stream_options or {}).get("include_usage"))
        return event_stream(_streamed(pieces, reply, with_usage), body.warning)
    written = await in_thread(body.whole, ask)
    cited = {"citations": written.sources}
    message = {"role": "assistant", "content": written.text, "refusal": None, **cited}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": written.finish}
    whole = {"object": "chat.completion", "choices": [choice], "usage": _usage(written)}
    return JSONResponse({**reply, **whole, **cited}, headers=body.warning)


async def _streamed(pieces: Pieces, reply: dict[str, Any], with_usage: bool) -> Events:
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
                    yield chunk({}, choices=[], usage=_usage(piece))
    except Exception as error:
        yield event({"error": error_of(error)[1]})
    yield event("[DONE]")


def _usage(written: Written) -> dict[str, int]:
    names = ("prompt_tokens", "completion_tokens", "total_tokens")
    return dict(zip(names, written.usage, strict=True))


def _embed(request: Request, body: EmbeddingBody) -> dict[str, Any]:
    """Vectors of texts by the embedder of a corpus, as those of its passages."""
    vectors = service_of(request).embedded(body.corpora[0], body.input)
    if body.dimensions not in (None, vectors.shape[1]):
        message = f"dimensions: {body.dimensions} is not {vectors.shape[1]}, the length of vectors"
        raise RequestError(400, "invalid_request", f"{message} here; leave it out")
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
    Endpoint("/v1/embeddings", _embed, EmbeddingBody, "POST"),
]
ROUTES = [Route("/v1/models/{name:path}", _model)]
