"""What a server takes of the OpenAI protocol, learnt from what it rejects."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from gsum_resources.llm.grammar import bounded_schema
from gsum_resources.protocols import Request

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
# these say who asks, how often, for what or how much, and nothing of a request's form
_NEVER_OF_FORMAT = frozenset({401, 402, 403, 404, 408, 409, 413, 429, 503, 504, 529})
COMPLAINTS = frozenset({400, 422})
"""Statuses that servers give to a request whose form they do not take."""


@dataclass(frozen=True)
class Dialect:
    """How a request is put to a server.

    Attributes
    ----------
    format : how JSON is requested. `json_schema` is OpenAI's; `json_object_schema` adds the schema
        to `json_object`, as llama.cpp and Anyscale take it; `guided_json` names it beside the
        messages, under the names of vLLM and of llama.cpp. A server may ignore what it does not
        know, so every format but the first describes the schema in the prompt, too.
    seed, temperature : whether these are sent.
    bounds : whether a schema may bound the lengths of lists and strings; not all take that.
    room : name of the parameter that bounds the reply's tokens; newer OpenAI models have another.
    """

    format: Format = "json_schema"
    seed: bool = True
    temperature: bool = True
    bounds: bool = True
    room: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"

    def parameters(self, request: Request, room: int, within: int | None = None) -> dict[str, Any]:
        """Return everything of a request's body but model and messages.

        Parameters
        ----------
        room : most tokens of the reply.
        within : tokens that the schema shall keep a structured reply to; None: it bounds nothing.
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
        """The next best format; None after the last."""
        following = _FORMATS[_FORMATS.index(self.format) + 1 :]
        return following[0] if following else None

    def adapted(
        self, complaint: str, may_lower_format: bool, is_accepted: bool = False
    ) -> Mapping[str, Any]:
        """What to change after a request was rejected; nothing if nothing suits the complaint.

        Parameters
        ----------
        complaint : the server's words.
        may_lower_format : whether the request wanted JSON, and how was left to us. Servers reject
            a format in many words, so it is lowered for any complaint that names nothing else.
        is_accepted : whether the server has taken this format before; it is lowered then only for
            a complaint that names it.
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
    """Return whether an answer means that the request's form is not taken, whatever its status.

    Some servers and proxies answer 500 to a request that fails their validation. Then only the
    words tell it from an outage.
    """
    if status in COMPLAINTS:
        return True
    return status >= 400 and status not in _NEVER_OF_FORMAT and bool(_SAYS_FORMAT.search(complaint))


def is_unexplained(status: int) -> bool:
    """Return whether a server fails with a status that it may give to a form that it does not take."""
    return status >= 500 and status not in _NEVER_OF_FORMAT


def _structure(form: Format, described: dict[str, Any]) -> dict[str, Any]:
    """Return the part of a request's body that asks for JSON, by its `response_format`."""
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
    """`response_format` with a JSON schema, strict where the protocol allows that."""
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
    """Return the schema as strict mode wants it: all fields required, no others; None if it cannot
    be.

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
