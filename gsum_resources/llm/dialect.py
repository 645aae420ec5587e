"""The dialect of the OpenAI protocol that a server supports, learnt from its rejections."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from gsum_resources.llm.grammar import bounded_schema
from gsum_resources.protocols.models import Request

Format = Literal["json_schema", "json_object_schema", "guided_json", "json_object", "prompt"]

_FORMATS: tuple[Format, ...] = (
    "json_schema",
    "json_object_schema",
    "guided_json",
    "json_object",
    "prompt",
)
_SAYS_ROOM = re.compile(r"max_completion_tokens|unsupported.{0,40}max_tokens", re.IGNORECASE)
_SAYS_BOUNDS = re.compile(r"max(Items|Length)|['\"`](minimum|maximum)")
_SAYS_LENGTH = re.compile(
    r"context_length|context (length|window|size)|too (long|large|many tokens)|reduce the length"
    r"|exceeds? the .{0,40}(context|tokens)",
    re.IGNORECASE,
)
_SAYS_FORMAT = re.compile(
    r"response.?format|json.?(schema|object|mode)|\bschema|guided|grammar|structured.?output"
    r"|validation error|input should be|extra inputs|extra_forbidden|literal_error"
    r"|(unknown|unsupported|unrecognized|unexpected|invalid) (field|parameter|argument|key|value)",
    re.IGNORECASE,
)
# these concern the account, the rate, the path or the size, never the form of a request
_NEVER_OF_FORMAT = frozenset({401, 402, 403, 404, 408, 409, 413, 429, 503, 504, 529})
COMPLAINTS = frozenset({400, 422})
"""Statuses of requests whose form the server does not support."""


@dataclass(frozen=True)
class Dialect:
    """The form in which requests are sent to a server.

    Attributes
    ----------
    format : how JSON is requested. `json_schema` is OpenAI's; `json_object_schema` adds the schema
        to `json_object`, as in llama.cpp and Anyscale; `guided_json` sends it as separate fields
        with the names of vLLM and of llama.cpp. A server may ignore unknown fields, so that every
        format but the first describes the schema in the prompt as well.
    seed, temperature : whether these are sent.
    bounds : whether a schema may bound the lengths of lists and strings; not all servers support
        that.
    room : name of the parameter that limits the reply's tokens; newer OpenAI models use another.
    """

    format: Format = "json_schema"
    seed: bool = True
    temperature: bool = True
    bounds: bool = True
    room: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"

    def parameters(self, request: Request, room: int, within: int | None = None) -> dict[str, Any]:
        """Return the body of a request except model and messages.

        Parameters
        ----------
        within : number of tokens that the schema's bounds limit a structured reply to; None: no
            bounds.
        """
        chosen: dict[str, Any] = {self.room: room}
        if self.temperature:
            chosen["temperature"] = request.temperature
        if self.seed:
            chosen["seed"] = request.seed
        if request.schema is None:
            return chosen
        if within is not None and self.bounds:
            described = bounded_schema(request.schema, request.max_words, within)
        else:
            described = request.schema.model_json_schema()
        wanted = _schema_format(request.schema.__name__, described)
        return chosen | _structure(self.format, wanted)

    @property
    def lower_format(self) -> Format | None:
        """The next format to try; None after the last."""
        following = _FORMATS[_FORMATS.index(self.format) + 1 :]
        return following[0] if following else None

    def adapted(
        self, complaint: str, may_lower_format: bool, is_accepted: bool = False
    ) -> Mapping[str, Any]:
        """Return the changes to make after a rejection; empty if none matches the complaint.

        Parameters
        ----------
        may_lower_format : whether the format may be lowered: the request needs JSON, and the
            settings leave the format open. The messages for rejected formats vary, so that it is
            lowered for any complaint that names nothing else.
        is_accepted : whether the server has accepted this format before; then it is lowered only
            for a complaint that names it.
        """
        if self.room == "max_tokens" and _SAYS_ROOM.search(complaint):
            return {"room": "max_completion_tokens"}
        if self.bounds and _SAYS_BOUNDS.search(complaint):
            return {"bounds": False}
        for name in ("seed", "temperature"):
            if getattr(self, name) and re.search(rf"\b{name}\b", complaint):
                return {name: False}
        if not may_lower_format or not self.lower_format or _SAYS_LENGTH.search(complaint):
            return {}
        if is_accepted and not _SAYS_FORMAT.search(complaint):
            return {}
        return {"format": self.lower_format}


def is_rejection(status: int, complaint: str) -> bool:
    """Return whether an answer means that the form of the request is not supported.

    Some servers and proxies answer 500 to a request that fails their validation; only the message
    distinguishes it from an outage.
    """
    if status in COMPLAINTS:
        return True
    return status >= 400 and status not in _NEVER_OF_FORMAT and bool(_SAYS_FORMAT.search(complaint))


def is_unexplained(status: int) -> bool:
    """Return whether a status may mean that the form of the request is not supported."""
    return status >= 500 and status not in _NEVER_OF_FORMAT


def _structure(form: Format, described: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a request's body that request JSON, from its `response_format`."""
    if form == "json_schema":
        return {"response_format": described}
    if form == "json_object":
        return {"response_format": {"type": "json_object"}}
    if form == "prompt":
        return {}
    schema = described["json_schema"]["schema"]
    if form == "json_object_schema":
        return {"response_format": {"type": "json_object", "schema": schema}}
    return {"guided_json": schema, "json_schema": schema}


def _schema_format(name: str, described: dict[str, Any]) -> dict[str, Any]:
    """Return `response_format` with a JSON schema, strict where the protocol allows it."""
    strict = _strict(described)
    return {
        "type": "json_schema",
        "json_schema": {
            "name": re.sub(r"\W", "_", name)[:64],
            "strict": strict is not None,
            "schema": strict or described,
        },
    }


def _strict(schema: dict[str, Any]) -> dict[str, Any] | None:
    """Return the schema for strict mode, or None if that is impossible.

    All fields are required, and no others allowed. Requiring a field with a default still satisfies
    the original schema.
    """
    if schema.get("type") != "object":
        return None
    try:
        return _closed(schema)
    except _NotStrictError:
        return None


class _NotStrictError(Exception):
    """A schema that strict mode does not support."""


def _closed(subschema: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in subschema:
        return {"$ref": subschema["$ref"]}  # no other keys are allowed
    if not subschema.keys() & {"type", "enum", "const", "anyOf"} or "prefixItems" in subschema:
        raise _NotStrictError
    closed = {name: value for name, value in subschema.items() if name != "default"}
    for name in subschema.keys() & {"$defs", "properties"}:
        closed[name] = {key: _closed(value) for key, value in subschema[name].items()}
    if "anyOf" in subschema:
        closed["anyOf"] = [_closed(value) for value in subschema["anyOf"]]
    if "items" in subschema:
        closed["items"] = _closed(subschema["items"])
    if subschema.get("type") == "object":
        if "properties" not in subschema or subschema.get("additionalProperties"):
            raise _NotStrictError  # a mapping of free keys
        closed |= {"additionalProperties": False, "required": list(subschema["properties"])}
    return closed
