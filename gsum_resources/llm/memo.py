"""Replies in the memo: keys of requests, and JSON that is valid in any file and database."""

import json
from dataclasses import replace
from functools import cache

from pydantic import BaseModel

from gsum_resources.protocols.models import Completion, CompletionError, Reply, Request
from gsum_resources.store.content_hash import hash_texts

as_json = json.JSONEncoder(ensure_ascii=False).encode


def prompt_hash(identity: str, request: Request) -> str:
    """Return 32 hex digits of model identity, full prompt, sampling settings and schema."""
    return hash_texts(
        [
            identity,
            request.task,
            request.instructions,
            request.question,
            *request.passages,
            json.dumps([request.max_words, request.temperature, request.seed]),
            _schema_text(request.schema) if request.schema else "null",
            *([request.ending] if request.ending else []),
            *([json.dumps(["labels", *request.labels])] if request.labels else []),
            *([json.dumps(["weights", *request.weights])] if request.weights else []),
            *(["brief"] if request.is_brief else []),
        ]
    )


@cache
def _schema_text(schema: type[BaseModel]) -> str:
    """Return the JSON schema as text; cached, since creating it dominates the time of a call."""
    return json.dumps(schema.model_json_schema(), sort_keys=True)


def storable(reply: Reply) -> tuple[Reply, bytes | None]:
    """Return a reply with well-formed text, and its bytes for the memo."""
    if isinstance(reply, CompletionError):
        message, text = well_formed(reply.message), well_formed(reply.text)
        return replace(reply, message=message, text=text), None
    parsed = reply.parsed.model_dump(mode="json") if reply.parsed else None
    fields = vars(reply) | {"parsed": parsed}
    if not reply.slips:
        del fields["slips"]
    content = as_json(fields)
    try:
        return reply, content.encode()
    except UnicodeEncodeError:
        value = well_formed(content).encode()
        return decode(value, type(reply.parsed) if reply.parsed else None), value


def decode(value: bytes, schema: type[BaseModel] | None, cached: bool = False) -> Completion:
    """Return the reply from the bytes of `storable`; `schema` is that of the request."""
    fields = json.loads(value)
    parsed = fields.pop("parsed")
    if parsed is not None and schema is not None:
        parsed = schema.model_validate(parsed)
    slips = tuple(fields.get("slips", ()))
    return Completion(**fields | {"parsed": parsed, "cached": cached, "slips": slips})


def well_formed(text: str) -> str:
    """Return `text` with U+FFFD for lone surrogates, which files and databases reject."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
