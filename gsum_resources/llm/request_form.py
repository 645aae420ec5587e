"""The form of requests that a server supports, found out once and stored for later runs.

JSON is requested by `response_format` with the schema (`json_schema`), or else by directions in the
prompt (`prompt`): a server may reject the first, or ignore it. `gsum models` finds it out anew.
"""

import json
import re
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any, Literal

from pydantic import BaseModel

from gsum_resources.llm.grammar import reply_schema
from gsum_resources.protocols.models import Request
from gsum_resources.settings.schema import LlmSettings
from gsum_resources.state.server_facts import ServerFacts
from gsum_resources.store.content_hash import hash_texts

FORM = "request_form"
"""Name of the stored fact."""
Structure = Literal["json_schema", "prompt"]
Schema = type[BaseModel] | None

_REJECTED = frozenset({400, 422})
_FAILED = frozenset({500, 501})  # some servers and proxies answer so to what they cannot validate
_SAYS_STRUCTURE = re.compile(r"response_format|json_schema", re.IGNORECASE)
_SAYS_LENGTH = re.compile(
    r"context_length|context (length|window|size)|too (long|large|many tokens)|reduce the length"
    r"|exceeds? the .{0,40}(context|tokens)",
    re.IGNORECASE,
)
_COMPLAINTS = {  # about what a request may do without, by the name in `Form.omitted`
    # newer models of OpenAI want `max_completion_tokens` instead
    "max_tokens": re.compile(r"max_completion_tokens|unsupported.{0,40}max_tokens", re.IGNORECASE),
    "bounds": re.compile(r"max(Items|Length)|['\"`](minimum|maximum)"),
    "seed": re.compile(r"\bseed\b"),
    "temperature": re.compile(r"\btemperature\b"),
    "stream": re.compile(r"\bstream"),
}


@dataclass(frozen=True)
class Form:
    """The form in which requests are sent to a server.

    Attributes
    ----------
    structure : how JSON is requested.
    is_confirmed : whether a reply had the structure that was requested by `json_schema`.
    prompted : hashes of schemas that the server rejects, which the prompt describes.
    omitted : names of `_COMPLAINTS` that requests do without.
    """

    structure: Structure = "json_schema"
    is_confirmed: bool = False
    prompted: tuple[str, ...] = ()
    omitted: tuple[str, ...] = ()

    def structure_for(self, schema: Schema) -> Structure:
        """Return how JSON of a schema is requested."""
        is_prompted = schema is not None and _hash(schema) in self.prompted
        return "prompt" if is_prompted else self.structure

    def parameters(self, request: Request, room: int, within: int | None = None) -> dict[str, Any]:
        """Return the body of a request except model and messages.

        `room` is the maximum number of tokens of the reply; `within` the number of tokens that
        bounds in the schema limit it to; None: no bounds.
        """
        limit = "max_completion_tokens" if "max_tokens" in self.omitted else "max_tokens"
        chosen: dict[str, Any] = {"temperature": request.temperature, "seed": request.seed}
        chosen = {name: value for name, value in chosen.items() if name not in self.omitted}
        chosen[limit] = room
        schema = request.schema
        if schema is None or self.structure_for(schema) == "prompt":
            return chosen
        is_bounded = within is not None and "bounds" not in self.omitted
        described = reply_schema(schema, request.max_words if is_bounded else None, within)
        # strict mode allows no mapping of free keys
        is_strict = not re.search(r'"additionalProperties": (?!false)', json.dumps(described))
        named = {"name": re.sub(r"\W", "_", schema.__name__)[:64], "schema": described}
        wanted = {"type": "json_schema", "json_schema": named | {"strict": is_strict}}
        return chosen | {"response_format": wanted}

    def adapted(self, schema: Schema, complaint: str) -> "Form | None":
        """Return the form after a rejection, also an unclear one; None: not due to it."""
        for name, pattern in _COMPLAINTS.items():
            if name not in self.omitted and pattern.search(complaint):
                return replace(self, omitted=(*self.omitted, name))
        if (
            self.structure_for(schema) == "prompt"
            or schema is None
            or _SAYS_LENGTH.search(complaint)
        ):
            return None
        if self.is_confirmed:
            return replace(self, prompted=(*self.prompted, _hash(schema)))
        return replace(self, structure="prompt")


class LearntForm:
    """The form of requests to one model of one server; "auto": structure is found out."""

    def __init__(self, settings: LlmSettings, facts: ServerFacts | None = None) -> None:
        requested = settings.structured_output
        self._initial = Form("json_schema" if requested == "auto" else requested)
        self.is_fixed = requested != "auto"
        self._facts = facts
        self._current: Form | None = None  # None: not read yet

    @property
    def current(self) -> Form:
        """The form of the next request."""
        if self._current is None:
            stored = self._facts.get(FORM) if self._facts else ""
            fields = json.loads(stored or "{}")
            lists = {name: tuple(fields[name]) for name in ("prompted", "omitted") if fields}
            self._current = replace(self._initial, **fields | lists)
        return self._current

    def forget(self) -> None:
        """Find the form out anew, whatever earlier runs have stored."""
        self._current = self._initial

    def adapted(self, form: Form, schema: Schema, status: int, complaint: str) -> Form | None:
        """Return the form to try after a failure; None if it is not due to the form."""
        changed = form.adapted(schema, complaint) if is_rejection(status, complaint) else None
        if changed and self.is_fixed and changed.omitted == form.omitted:
            return None
        return changed

    def learn(self, accepted: Form) -> None:
        """Note and store a form that a server has accepted, with what other requests learnt."""
        known = self.current
        learnt = replace(
            accepted,
            structure="prompt"
            if "prompt" in (known.structure, accepted.structure)
            else "json_schema",
            is_confirmed=known.is_confirmed or accepted.is_confirmed,
            prompted=tuple(sorted({*known.prompted, *accepted.prompted})),
            omitted=tuple(sorted({*known.omitted, *accepted.omitted})),
        )
        if learnt != known:
            self._current = learnt
            if self._facts:
                self._facts.put(FORM, json.dumps(asdict(learnt)))

    def note_reply(self, form: Form, schema: Schema, text: str, is_usable: bool) -> bool:
        """Note whether a server has heeded `json_schema`; return whether the prompt must do it.

        A server that has never sent a reply of the requested structure, and sends one without JSON,
        or JSON without the required fields, ignores `response_format`.
        """
        if schema is None or form.structure_for(schema) == "prompt" or self.is_fixed:
            return False
        if is_usable:
            self.learn(replace(form, is_confirmed=True))
        elif text and not self.current.is_confirmed:
            names = schema.model_json_schema().get("required", [])
            if not text.startswith("{") or any(f'"{name}"' not in text for name in names):
                self.learn(replace(form, structure="prompt"))
                return True
        return False


def is_rejection(status: int, complaint: str) -> bool:
    """Return whether a failure may be due to the form, so that it is useless to repeat it."""
    return status in _REJECTED or (status in _FAILED and bool(_SAYS_STRUCTURE.search(complaint)))


@cache
def _hash(schema: type[BaseModel]) -> str:
    return hash_texts([json.dumps(schema.model_json_schema())], 8)
