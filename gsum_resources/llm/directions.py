"""Directions for JSON in prompts: the form of a reply, made from its schema."""

import json
import re
from functools import cache
from typing import Any

from pydantic import BaseModel

DIRECTIONS_VERSION = "2"  # raise it with every change of `json_directions`

_MAX_WORDS = 10  # of a field's description
_DETAIL = re.compile(r"[.;]\s|\.$|, (?:as|at|in|without|copied|one to)\b")


@cache
def json_directions(schema: type[BaseModel]) -> str:
    """Return directions for JSON: field names with a few words, a quarter of a schema's tokens."""
    described = schema.model_json_schema()
    form = _form(described, described.get("$defs", {}), "")
    return f"Reply with JSON of this form alone, <...> filled in, lists as long as needed:\n{form}"


@cache
def schema_in_full(schema: type[BaseModel]) -> str:
    """Return the longest text of a schema that a server may add to a prompt, for budgets."""
    described = json.dumps(schema.model_json_schema(), ensure_ascii=False)
    return (
        "Reply with one JSON value and nothing else: no introduction, no comment, no code fence. "
        f"It must satisfy this JSON schema:\n{described}"
    )


@cache
def blanks_of(schema: type[BaseModel]) -> list[str]:
    """Return the quoted words of the form, which small models copy."""
    return re.findall(r'"<[^<>]+>"', json_directions(schema))


def _form(subschema: dict[str, Any], definitions: dict[str, Any], name: str) -> str:
    """Return the shape of a JSON schema as JSON, with `<words>` for values."""
    if "$ref" in subschema:
        return _form(definitions[subschema["$ref"].rpartition("/")[2]], definitions, name)
    if "anyOf" in subschema:
        choices = [choice for choice in subschema["anyOf"] if choice.get("type") != "null"]
        shared = {key: value for key, value in subschema.items() if key != "anyOf"}
        return _form(shared | choices[0], definitions, name)
    if choices := [subschema["const"]] if "const" in subschema else subschema.get("enum"):
        return f'"<{" | ".join(map(str, choices))}>"'
    words = _DETAIL.split(subschema.get("description", ""))[0].split()
    words = " ".join(words[:_MAX_WORDS]) or name.replace("_", " ") or "text"
    if subschema.get("type") == "object":
        fields = subschema.get("properties") or {
            "<name>": subschema.get("additionalProperties") or {}
        }
        inner = (
            f'"{key}": {_form(field, definitions, key.strip("<>"))}'
            for key, field in fields.items()
        )
        return "{" + ", ".join(inner) + "}"
    if subschema.get("type") == "array":
        item = subschema.get("items", {})
        return f"[{_form({'description': words} | item, definitions, name)}]"
    if subschema.get("type") in ("integer", "number"):
        return f"<{_range(subschema, words)}>"
    return "<true or false>" if subschema.get("type") == "boolean" else f'"<{words}>"'


def _range(subschema: dict[str, Any], words: str) -> str:
    low, high = subschema.get("minimum"), subschema.get("maximum")
    if low is None or high is None or (str(low) in words and str(high) in words):
        return words
    return f"{low} to {high}: {words}"
