"""What a server takes of the OpenAI protocol, learnt from what it rejects."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from pydantic import BaseModel

from gsum_resources.protocols import Request

Format = Literal["json_schema", "json_object", "prompt"]

_FORMATS: tuple[Format, ...] = ("json_schema", "json_object", "prompt")
_SAYS_ROOM = re.compile(r"max_completion_tokens|unsupported.{0,40}max_tokens", re.IGNORECASE)


@dataclass(frozen=True)
class Dialect:
    """How a request is put to a server.

    Attributes
    ----------
    format : how JSON is asked for.
    seed, temperature : whether these are sent.
    room : name of the parameter that bounds the reply's tokens; newer OpenAI models have another.
    """

    format: Format = "json_schema"
    seed: bool = True
    temperature: bool = True
    room: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"

    def parameters(self, request: Request, room: int) -> dict[str, Any]:
        """Everything of a request's body but model and messages."""
        chosen: dict[str, Any] = {self.room: room}
        if self.temperature:
            chosen["temperature"] = request.temperature
        if self.seed:
            chosen["seed"] = request.seed
        if request.schema and self.format == "json_schema":
            chosen["response_format"] = _schema_format(request.schema)
        elif request.schema and self.format == "json_object":
            chosen["response_format"] = {"type": "json_object"}
        return chosen

    def adapted(self, complaint: str, may_lower_format: bool) -> Mapping[str, Any]:
        """What to change after a request was rejected; nothing if nothing suits the complaint.

        Parameters
        ----------
        complaint : the server's words.
        may_lower_format : whether the request wanted JSON, and how was left to us. Servers reject
            a format in many words, so it is lowered for any complaint that names nothing else.
        """
        if self.room == "max_tokens" and _SAYS_ROOM.search(complaint):
            return {"room": "max_completion_tokens"}
        for name in ("seed", "temperature"):
            if getattr(self, name) and re.search(rf"\b{name}\b", complaint):
                return {name: False}
        if may_lower_format and self.format != _FORMATS[-1]:
            return {"format": _FORMATS[_FORMATS.index(self.format) + 1]}
        return {}


@cache
def _schema_format(schema: type[BaseModel]) -> dict[str, Any]:
    """`response_format` with a JSON schema, strict where the protocol allows that."""
    described = schema.model_json_schema()
    strict = _strict(described)
    return {
        "type": "json_schema",
        "json_schema": {
            "name": re.sub(r"\W", "_", schema.__name__)[:64],
            "strict": strict is not None,
            "schema": strict or described,
        },
    }


def _strict(schema: dict[str, Any]) -> dict[str, Any] | None:
    """The schema as strict mode wants it: all fields required, no others; None if it cannot be.

    A field with a default is required then, which satisfies the schema as it was all the more.
    """
    if schema.get("type") != "object":
        return None
    try:
        return _closed(schema)
    except _NotStrictError:
        return None


class _NotStrictError(Exception):
    """A part that strict mode does not know."""


def _closed(part: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in part:
        return {"$ref": part["$ref"]}  # nothing may stand beside it
    if not part.keys() & {"type", "enum", "const", "anyOf"} or "prefixItems" in part:
        raise _NotStrictError
    closed = {name: value for name, value in part.items() if name != "default"}
    for name in part.keys() & {"$defs", "properties"}:
        closed[name] = {key: _closed(value) for key, value in part[name].items()}
    if "anyOf" in part:
        closed["anyOf"] = [_closed(value) for value in part["anyOf"]]
    if "items" in part:
        closed["items"] = _closed(part["items"])
    if part.get("type") == "object":
        if "properties" not in part or part.get("additionalProperties"):
            raise _NotStrictError  # a mapping of free keys
        closed |= {"additionalProperties": False, "required": list(part["properties"])}
    return closed
