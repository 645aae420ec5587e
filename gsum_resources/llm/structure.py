"""Structured replies: directions for JSON in prompts, and parsing and validation of replies.

Only the schema determines the content of a reply. Prose around the JSON, fences, and instructions
in documents or replies have no effect. Small slips of syntax are repaired, slips of form are
corrected (`coerce.py`); a value that was cut off is not, since its continuation is unknown.
"""

import json
import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Generic, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from gsum_resources.llm.coerce import coerced

Schema = TypeVar("Schema", bound=BaseModel)

DIRECTIONS_VERSION = "2"  # raise it with every change of `json_directions`
READING_VERSION = "4"  # raise it when more replies become readable

_MAX_FAILURES = 3  # in one error: models correct none of fifty reported failures
_MAX_PROBLEM_CHARS = 160
_MAX_WORDS = 10  # of a field's description in the directions
_FENCE = re.compile(r"```\w*\n(.*?)\n?```", re.DOTALL)
_TEXT_FENCE = re.compile(r"```(?:text|txt|plaintext|markdown|md)?[ \t]*\n(.*?)\n?```", re.DOTALL)
_DETAIL = re.compile(r"[.;]\s|\.$|, (?:as|at|in|without|copied|one to)\b")
_FREE_TEXT = re.compile(r'"<[^<>|]+>"(?!:)')
_BRACKETS_AND_STRINGS = re.compile(r'\\.|["{}\[\]]', re.DOTALL)
_LONE_SURROGATE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    r"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)
_JSON_NAMES = {dict: "object", list: "array", str: "string", bool: "boolean", type(None): "null"}


class StructureError(ValueError):
    """A reply of wrong structure; the message is sent to the model in a re-ask."""


class Read(NamedTuple, Generic[Schema]):
    """Parsed content of a reply, and a line for each kind of item that was left out of a list."""

    value: Schema
    slips: tuple[str, ...] = ()


@cache
def json_directions(schema: type[BaseModel], is_enforced: bool = False) -> str:
    """Return directions for JSON in a prompt: field names, with a few words on each.

    A JSON schema has four times as many tokens, and small models copy it instead of filling it.

    Parameters
    ----------
    is_enforced : whether the server enforces the schema. Then small models also copy the words for
        free texts: SmolLM2 did in 14 of 113 replies, and in none of 139 with "…" instead.
    """
    described = schema.model_json_schema()
    form = _form(described, described.get("$defs", {}), "")
    blanks = "" if is_enforced else "<...> "
    form = _FREE_TEXT.sub('"…"', form) if is_enforced else form
    return (
        f"Reply with JSON of this form alone, {blanks}filled in, lists as long as needed:\n{form}"
    )


@cache
def schema_in_full(schema: type[BaseModel]) -> str:
    """Return the longest text of a schema in a prompt, for budgets.

    A server that enforces JSON schemas may add the complete schema to the prompt.
    """
    described = json.dumps(schema.model_json_schema(), ensure_ascii=False)
    return (
        "Reply with one JSON value and nothing else: no introduction, no comment, no code fence. "
        f"It must satisfy this JSON schema:\n{described}"
    )


def _form(subschema: dict[str, Any], definitions: dict[str, Any], name: str) -> str:
    """Return the shape of a JSON schema as JSON, with `<words>` for values."""
    if "$ref" in subschema:
        return _form(definitions[subschema["$ref"].rpartition("/")[2]], definitions, name)
    if "anyOf" in subschema:
        choices = [choice for choice in subschema["anyOf"] if choice.get("type") != "null"]
        shared = {key: value for key, value in subschema.items() if key != "anyOf"}
        return _form(shared | choices[0], definitions, name)
    if choices := _choices(subschema):
        return f'"<{" | ".join(choices)}>"'
    words = _words(subschema.get("description", ""), name)
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
        said = item if "description" in item else {**item, "description": words}
        return f"[{_form(said, definitions, name)}]"
    if subschema.get("type") in ("integer", "number"):
        return f"<{_range(subschema, words)}>"
    return "<true or false>" if subschema.get("type") == "boolean" else f'"<{words}>"'


def _choices(subschema: dict[str, Any]) -> list[str]:
    given = [subschema["const"]] if "const" in subschema else subschema.get("enum", [])
    return [str(choice) for choice in given]


def _words(description: str, name: str) -> str:
    """Return the beginning of a description, or the name of a field without one."""
    words = _DETAIL.split(description)[0].split()
    return " ".join(words[:_MAX_WORDS]) or name.replace("_", " ") or "text"


def _range(subschema: dict[str, Any], words: str) -> str:
    low, high = subschema.get("minimum"), subschema.get("maximum")
    if low is None or high is None or (str(low) in words and str(high) in words):
        return words
    return f"{low} to {high}: {words}"


def has_form(text: str, schema: type[BaseModel]) -> bool:
    """Return whether a reply is bare JSON with all required fields, as if enforced by a server."""
    try:
        value = _load(text)
    except ValueError:
        return False
    required = schema.model_json_schema().get("required", [])
    return not required or (isinstance(value, dict) and value.keys() >= set(required))


def correction(problem: StructureError | str) -> str:
    """Return the turn that reports the errors of its reply to a model."""
    return (
        f"Your reply cannot be used: {problem}. "
        "Reply again, with the complete JSON value and nothing else."
    )


def parse(text: str, schema: type[Schema], truncated: bool) -> Schema:
    """Return the object in a reply; see `read`."""
    return read(text, schema, truncated).value


def read(text: str, schema: type[Schema], truncated: bool, keep_few: bool = False) -> Read[Schema]:
    """Return the object in a reply, and the slips that were left out.

    Parameters
    ----------
    text : bare JSON, or JSON in a fence or in prose.
    schema : schema that the value must satisfy; fields without a default are required.
    truncated : whether the server cut the reply off at its maximum length.

    Raises
    ------
    StructureError
        If the reply was cut off, contains no JSON, contains several different values that satisfy
        the schema, or none that does.
    """
    if truncated:
        raise StructureError("it was cut off before its end")
    if echoes := [blank for blank in blanks_of(schema) if blank in text]:
        return _read_beside_echoes(text, schema, echoes)
    try:
        whole = whole_value(text)
    except ValueError:
        return _read_among_prose(text, schema)
    return _validated(whole, schema)


def _read_beside_echoes(text: str, schema: type[Schema], echoes: Sequence[str]) -> Read[Schema]:
    """Return the content of a reply without the items that repeat the form.

    Raises
    ------
    StructureError
        If the remaining value does not satisfy the schema, or is empty.
    """
    problem = StructureError(f"it repeats {echoes[0]} instead of filling it in")
    try:
        value = without_blanks(whole_value(text), echoes)
        found = _validated(value, schema)
    except ValueError:
        raise problem from None
    lists = [value for value in found.value.model_dump().values() if isinstance(value, list)]
    if not any(lists):
        raise problem
    return Read(found.value, (*found.slips, "items that repeat the form of the reply"))


def without_blanks(value: Any, blanks: Sequence[str]) -> Any:
    """Return the value without items and fields that repeat the form of the reply.

    Parameters
    ----------
    value : parsed JSON; a list item that contains a blank is left out, and so is an object's field.
    blanks : quoted words of the form.
    """

    def is_blank(content: Any) -> bool:
        if isinstance(content, dict):
            return any(is_blank(field) for field in content.values())
        return isinstance(content, str) and f'"{content}"' in blanks

    if isinstance(value, dict):
        kept = {
            key: field
            for key, field in value.items()
            if not isinstance(field, str) or not is_blank(field)
        }
        return {key: without_blanks(field, blanks) for key, field in kept.items()}
    if isinstance(value, list):
        return [without_blanks(item, blanks) for item in value if not is_blank(item)]
    return value


def whole_value(text: str) -> Any:
    """Return the value of a text that is JSON as a whole, in a fence or bare.

    Raises
    ------
    ValueError
        If it is not.
    """
    fence = _FENCE.fullmatch(text.strip())
    return _load(fence[1] if fence else text)


def plain_text(text: str) -> str:
    """Return a free text without the fence around the whole of it."""
    fence = _TEXT_FENCE.fullmatch(text.strip())
    return (fence[1] if fence and "```" not in fence[1] else text).strip()


@cache
def blanks_of(schema: type[BaseModel]) -> list[str]:
    """Return the quoted words of the form, which small models copy."""
    return re.findall(r'"<[^<>]+>"', json_directions(schema))


def _read_among_prose(text: str, schema: type[Schema]) -> Read[Schema]:
    """Return the only value in prose that satisfies the schema, corrected if necessary.

    A list in brackets may be a citation such as "[1]", so that only lists of objects are corrected.
    """
    values, failures = _values(text)
    exact, corrected = [], []
    for size, value in values:
        try:
            exact.append(Read(schema.model_validate(value)))
        except ValidationError:
            try:
                found = _validated(value, schema)
            except StructureError as problem:
                failures.append((size, str(problem)))
            else:
                if _holds_object(value):
                    corrected.append(found)
                else:
                    failures.append((size, f"its JSON is of type {_kind(value)}"))
    found = []
    for candidate in exact or corrected:
        found += [candidate] if candidate not in found else []
    if len(found) > 1:
        raise StructureError(f"it holds {len(found)} different JSON values; send only one")
    if found:
        return found[0]
    # the longest span is most likely the reply
    raise StructureError(max(failures)[1] if failures else "it holds no JSON")


def _holds_object(value: Any) -> bool:
    """Return whether a value is an object, or a list whose first item holds one."""
    if isinstance(value, list):
        return bool(value) and _holds_object(value[0])
    return isinstance(value, dict) or str(value).lstrip().startswith("{")


def _values(text: str) -> tuple[list[tuple[int, Any]], list[tuple[int, str]]]:
    """Return length and value of each span of JSON, and length and error of each invalid span."""
    values, failures = [], []
    for start, end in _spans(text):
        try:
            values.append((end - start, _load_or_repair(text[start:end])))
        except StructureError as problem:
            failures.append((end - start, str(problem)))
    return values, failures


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each outermost `{…}` or `[…]`; brackets in strings are ignored.

    Raises
    ------
    StructureError
        If the last one is not closed, so that its value was cut off.
    """
    start, depth, in_string = 0, 0, False
    for match in _BRACKETS_AND_STRINGS.finditer(text):
        mark = match.group()
        if mark == '"':
            in_string = not in_string and depth > 0  # quotes in prose open no string
        elif in_string or len(mark) > 1:
            continue
        elif mark in "{[":
            start = start if depth else match.start()
            depth += 1
        elif depth:
            depth -= 1
            if not depth:
                yield start, match.end()
    if depth:
        raise StructureError("its JSON value is cut off before its end")


def _load_or_repair(text: str) -> Any:
    """Return the value of a span with balanced brackets, after repair of small slips of syntax."""
    try:
        return _load(text)
    except ValueError:
        from json_repair import repair_json

    try:
        # strict: repairs commas, quotes and comments, and invents no missing value
        return _load(str(repair_json(text, strict=True)))
    except (ValueError, RecursionError) as error:
        raise StructureError(f"it is not valid JSON: {_short(str(error))}") from None


def _load(text: str) -> Any:
    # lone surrogates, which are invalid in texts, become U+FFFD
    text = _LONE_SURROGATE.sub(r"\\ufffd", text)
    try:
        # NaN and Infinity are not JSON; as null they pass only where null may stand
        return json.loads(text, parse_constant=lambda constant: None)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _validated(value: Any, schema: type[Schema]) -> Read[Schema]:
    """Return the value as an object of the schema, with slips of form corrected."""
    try:
        return Read(schema.model_validate(value))
    except ValidationError:
        corrected, slips = coerced(value, schema)
    try:
        return Read(schema.model_validate(corrected), tuple(slips))
    except ValidationError as error:
        failures = error.errors(include_url=False, include_input=False, include_context=False)
    if len(failures) == 1 and not failures[0]["loc"]:
        raise StructureError(f"its JSON is of type {_kind(value)}: {_short(failures[0]['msg'])}")
    messages = [
        _short(f"{'.'.join(str(key) for key in problem['loc'])}: {problem['msg']}")
        for problem in failures[:_MAX_FAILURES]
    ]
    more = len(failures) - len(messages)
    raise StructureError("; ".join(messages) + (f"; and {more} more" if more else ""))


def _kind(value: Any) -> str:
    return _JSON_NAMES.get(type(value), "number")


def _short(text: str) -> str:
    if len(text) <= _MAX_PROBLEM_CHARS:
        return text
    return text[: _MAX_PROBLEM_CHARS - 1] + "…"
