"""Deterministic replies of the scripted server, computed from the request."""

import hashlib
import json
import re
from typing import Any

_FORM_FOLLOWS = "lists as long as needed:\n"
_BLANK = re.compile(r'("?)<([^<>]*)>"?')


def tokens_of(text: str) -> int:
    """The rule of usage: one token for each four bytes of UTF-8, begun ones included."""
    return -(-len(text.encode("utf-8", "replace")) // 4)


def text_for(said: str, digest: str) -> str:
    """The first thirty words of what was said, behind its hash."""
    return f"Reply {digest}: {' '.join(said[:400].split()[:30])}"


def wanted_schema(body: dict) -> dict | None:
    """Return the schema of `response_format`, or in the messages, or None."""
    given = body.get("response_format") or {}
    if given.get("type") == "json_schema":
        return given["json_schema"]["schema"]
    for message in body["messages"]:
        _, found, rest = message["content"].partition(_FORM_FOLLOWS)
        if found:
            form, _ = json.JSONDecoder().raw_decode(_BLANK.sub(_blank, rest))
            return _schema_of(form)
    return None


def _blank(found: re.Match) -> str:
    """A blank of the form as JSON: text of text, a number as a text that begins with "#"."""
    return json.dumps(("" if found[1] else "#") + found[2])


def _schema_of(form: Any) -> dict:
    if isinstance(form, dict):
        fields = {name: _schema_of(value) for name, value in form.items()}
        return {"type": "object", "properties": fields}
    if isinstance(form, list):
        return {"type": "array", "items": _schema_of(form[0])}
    if form.startswith("#"):
        bounds = [int(n) for n in re.findall(r"\d+", form)][:2]
        names = ("minimum", "maximum") if len(bounds) == 2 else ()
        return {"type": "integer"} | dict(zip(names, sorted(bounds), strict=False))
    return {"enum": form.split(" | ")} if " | " in form else {"type": "string"}


def value_for(schema: dict, digest: str) -> Any:
    """A value that satisfies a schema, all optional fields included."""
    return _value(schema, schema.get("$defs", {}), digest)


def _value(schema: dict, definitions: dict, digest: str) -> Any:
    if "$ref" in schema:
        return _value(definitions[schema["$ref"].rpartition("/")[2]], definitions, digest)
    for one_of in ("anyOf", "allOf", "oneOf"):
        if one_of in schema:
            return _value(schema[one_of][0], definitions, digest)
    if "const" in schema or "enum" in schema:
        return schema.get("const", schema.get("enum", [None])[0])
    match schema.get("type"):
        case "object":
            fields = schema.get("properties", {})
            return {
                name: _value(field, definitions, f"{name}-{digest}")
                for name, field in fields.items()
            }
        case "array":
            n_items = max(2, schema.get("minItems", 0))
            items = schema.get("items", {"type": "string"})
            return [_value(items, definitions, f"{digest}-{i}") for i in range(n_items)]
        case "integer" | "number":
            low, high = schema.get("minimum", 0), schema.get("maximum", 100)
            drawn = int.from_bytes(hashlib.blake2b(digest.encode(), digest_size=4).digest())
            return low + drawn % int(high - low + 1)
        case "boolean":
            return True
        case "null":
            return None
    return f"value {digest}"


def embedding_of(text: str, dimension: int) -> list[float]:
    """A vector drawn from the hash of the text, components between -1 and 1, any length."""
    drawn = hashlib.shake_128(text.encode("utf-8", "replace")).digest(2 * dimension)
    return [int.from_bytes(drawn[2 * i : 2 * i + 2]) / 32768 - 1 for i in range(dimension)]
