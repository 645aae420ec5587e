"""Replies as the memo keeps them: JSON that any file and database takes."""

import json
from dataclasses import replace

from pydantic import BaseModel

from gsum_resources.protocols import Completion, CompletionError, Reply

_json = json.JSONEncoder(ensure_ascii=False).encode


def storable(reply: Reply) -> tuple[Reply, bytes | None]:
    """Return a reply whose text can be written anywhere, and what the memo keeps of it."""
    if isinstance(reply, CompletionError):
        said = well_formed(reply.text)
        return replace(reply, message=well_formed(reply.message), text=said), None
    parsed = reply.parsed.model_dump(mode="json") if reply.parsed else None
    fields = vars(reply) | {"parsed": parsed}
    if not reply.slips:  # as replies were stored before there were any
        del fields["slips"]
    content = _json(fields)
    try:
        return reply, content.encode()
    except UnicodeEncodeError:
        value = well_formed(content).encode()
        return decode(value, type(reply.parsed) if reply.parsed else None), value


def decode(value: bytes, schema: type[BaseModel] | None, cached: bool = False) -> Completion:
    """What `storable` made of a reply, whose request had this schema."""
    fields = json.loads(value)
    parsed = fields.pop("parsed")
    if parsed is not None and schema is not None:
        parsed = schema.model_validate(parsed)
    slips = tuple(fields.get("slips", ()))
    return Completion(**fields | {"parsed": parsed, "cached": cached, "slips": slips})


def storable_failure(failure: CompletionError) -> bytes:
    """What the memo of failures keeps of one; its texts are well-formed."""
    return _json(vars(failure)).encode()


def decode_failure(value: bytes) -> CompletionError:
    """What `storable_failure` made of a failure."""
    return CompletionError(**json.loads(value))


def well_formed(text: str) -> str:
    """`text` with U+FFFD for half surrogate pairs, which no file or database takes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
