"""Structured replies: how JSON is asked for in words, and how a reply becomes a checked object.

Only the schema decides what a reply says. Prose around the JSON, fences, and whatever a document
or a reply tells its reader to do change nothing. A small slip of syntax is repaired, one of form is
mended (`coerce.py`); a value that was cut off is not, since nobody knows what would have followed.
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
READING_VERSION = "3"  # raise it where a reply that could not be read before can be

_MAX_FAILURES = 3  # told in one error: a model that is told all of fifty mends none
_MAX_PROBLEM_CHARS = 160
_MAX_WORDS = 10  # of a field's description in the compact form
_FENCE = re.compile(r"```\w*\n(.*?)\n?```", re.DOTALL)
_DETAIL = re.compile(r"[.;]\s|\.$|, (?:as|at|in|without|copied|one to)\b")
_ALTERNATIVES = re.compile(r"\^\(([\w ]+(?:\|[\w ]+)+)\)\$")
_FREE_TEXT = re.compile(r'"<[^<>|]+>"(?!:)')
_REASONING = re.compile(r"\s*<think>.*?</think>\s*", re.DOTALL)
_BRACKETS_AND_STRINGS = re.compile(r'\\.|["{}\[\]]', re.DOTALL)
_LONE_SURROGATE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    r"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)
_JSON_NAMES = {dict: "object", list: "array", str: "string", bool: "boolean", type(None): "null"}


class StructureError(ValueError):
    """A reply that does not have the wanted structure; the message suits a re-ask."""


class Read(NamedTuple, Generic[Schema]):
    """What a reply says, and a line for each kind of item that was left out of a list."""

    value: Schema
    slips: tuple[str, ...] = ()


@cache
def json_directions(schema: type[BaseModel], is_enforced: bool = False) -> str:
    """Directions for a model that is asked for JSON in words: the names, and a word on each.

    A JSON schema takes four times the tokens, and small models copy it instead of filling it.

    Parameters
    ----------
    is_enforced : whether the server lets nothing else through. Then small models copy the words on
        free texts, too: SmolLM2 did in 14 of 113 replies, and in none of 139 with "…" instead.
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
    """The longest text that a schema can take in a prompt, for budgets.

    A server that enforces JSON schemas may show them to its model whole.
    """
    described = json.dumps(schema.model_json_schema(), ensure_ascii=False)
    return (
        "Reply with one JSON value and nothing else: no introduction, no comment, no code fence. "
        f"It must satisfy this JSON schema:\n{described}"
    )


def _form(part: dict[str, Any], definitions: dict[str, Any], name: str) -> str:
    """The shape of a JSON schema as JSON, with `<words>` for values."""
    if "$ref" in part:
        return _form(definitions[part["$ref"].rpartition("/")[2]], definitions, name)
    if "anyOf" in part:
        meant = [one for one in part["anyOf"] if one.get("type") != "null"]
        rest = {key: value for key, value in part.items() if key != "anyOf"}
        return _form(rest | meant[0], definitions, name)
    if choices := _choices(part):
        return f'"<{" | ".join(choices)}>"'
    words = _words(part.get("description", ""), name)
    if part.get("type") == "object":
        fields = part.get("properties") or {"<name>": part.get("additionalProperties") or {}}
        inner = (
            f'"{one}": {_form(field, definitions, one.strip("<>"))}'
            for one, field in fields.items()
        )
        return "{" + ", ".join(inner) + "}"
    if part.get("type") == "array":
        item = part.get("items", {})
        said = item if "description" in item else {**item, "description": words}
        return f"[{_form(said, definitions, name)}]"
    if part.get("type") in ("integer", "number"):
        return f"<{_range(part, words)}>"
    return "<true or false>" if part.get("type") == "boolean" else f'"<{words}>"'


def _choices(part: dict[str, Any]) -> list[str]:
    alternatives = _ALTERNATIVES.fullmatch(part.get("pattern", ""))
    given = [part["const"]] if "const" in part else part.get("enum", [])
    return alternatives[1].split("|") if alternatives else [str(one) for one in given]


def _words(description: str, name: str) -> str:
    """The beginning of a description, or the name of a field that has none."""
    words = _DETAIL.split(description)[0].split()
    return " ".join(words[:_MAX_WORDS]) or name.replace("_", " ") or "text"


def _range(part: dict[str, Any], words: str) -> str:
    low, high = part.get("minimum"), part.get("maximum")
    if low is None or high is None or (str(low) in words and str(high) in words):
        return words
    return f"{low} to {high}: {words}"


def has_form(text: str, schema: type[BaseModel]) -> bool:
    """Whether a reply is bare JSON with all required fields, as a server that enforces it sends."""
    try:
        value = _load(without_reasoning(text))
    except ValueError:
        return False
    required = schema.model_json_schema().get("required", [])
    return not required or (isinstance(value, dict) and value.keys() >= set(required))


def correction(problem: StructureError | str) -> str:
    """The further turn that tells a model what was wrong with its reply."""
    return (
        f"Your reply cannot be used: {problem}. "
        "Reply again, with the complete JSON value and nothing else."
    )


def without_reasoning(text: str) -> str:
    """The reply without the `<think>…</think>` block that it may begin with.

    A block that never ends is all there is of the reply, so nothing remains.
    """
    if not text.lstrip().startswith("<think>"):
        return text
    block = _REASONING.match(text)
    return text[block.end() :] if block else ""


def parse(text: str, schema: type[Schema], truncated: bool) -> Schema:
    """The object that a reply holds, as `read` gives it."""
    return read(text, schema, truncated).value


def read(text: str, schema: type[Schema], truncated: bool) -> Read[Schema]:
    """The object that a reply holds, and what was left out of it.

    Parameters
    ----------
    text : bare JSON, or JSON in a fence or among prose.
    schema : what the value must satisfy; fields without a default must be there.
    truncated : whether the server cut the reply off at its length.

    Raises
    ------
    StructureError
        If the reply was cut off, holds no JSON, holds several different values that satisfy the
        schema, or none that does.
    """
    if truncated:
        raise StructureError("it was cut off before its end")
    if echoes := [blank for blank in blanks_of(schema) if blank in text]:
        return _read_beside_echoes(text, schema, echoes)
    return _read(text, schema)


def _read_beside_echoes(text: str, schema: type[Schema], echoes: Sequence[str]) -> Read[Schema]:
    """What a reply says beside items that repeat the form, if there is anything.

    Raises
    ------
    StructureError
        If what is left does not satisfy the schema, or holds nothing.
    """
    problem = StructureError(f"it repeats {echoes[0]} instead of filling it in")
    try:
        value = without_blanks(_load(_unfenced(text)), echoes)
        found = _validated(value, schema)
    except ValueError:
        raise problem from None
    lists = [one for one in found.value.model_dump().values() if isinstance(one, list)]
    if not any(lists):
        raise problem
    return Read(found.value, (*found.slips, "items that repeat the form of the reply"))


def without_blanks(value: Any, blanks: Sequence[str]) -> Any:
    """The value without what repeats the form of the reply instead of filling it in.

    Parameters
    ----------
    value : parsed JSON; of a list an item with a blank is left out, of an object its field.
    blanks : the quoted words of the form.
    """

    def is_blank(one: Any) -> bool:
        if isinstance(one, dict):
            return any(is_blank(field) for field in one.values())
        return isinstance(one, str) and f'"{one}"' in blanks

    if isinstance(value, dict):
        kept = {
            key: one for key, one in value.items() if not isinstance(one, str) or not is_blank(one)
        }
        return {key: without_blanks(one, blanks) for key, one in kept.items()}
    if isinstance(value, list):
        return [without_blanks(one, blanks) for one in value if not is_blank(one)]
    return value


def _read(text: str, schema: type[Schema]) -> Read[Schema]:
    try:
        whole = _load(_unfenced(text))
    except ValueError:
        return _read_among_prose(text, schema)
    return _validated(whole, schema)


def _unfenced(text: str) -> str:
    fence = _FENCE.fullmatch(text.strip())
    return fence[1] if fence else text


@cache
def blanks_of(schema: type[BaseModel]) -> list[str]:
    """The quoted words of the form, which small models copy."""
    return re.findall(r'"<[^<>]+>"', json_directions(schema))


def _read_among_prose(text: str, schema: type[Schema]) -> Read[Schema]:
    """The one value among prose that satisfies the schema, if need be mended.

    A list in brackets may be a mark such as "[1]", so that none is mended there.
    """
    values, failures = _values(text)
    exact, mended = [], []
    for size, value in values:
        try:
            exact.append(Read(schema.model_validate(value)))
        except ValidationError:
            try:
                found = _validated(value, schema)
            except StructureError as problem:
                failures.append((size, str(problem)))
            else:
                if isinstance(value, dict):
                    mended.append(found)
                else:
                    failures.append((size, f"its JSON is of type {_kind(value)}"))
    found = []
    for one in exact or mended:
        found += [one] if one not in found else []
    if len(found) > 1:
        raise StructureError(f"it holds {len(found)} different JSON values; send only one")
    if found:
        return found[0]
    # the longest is the one that was meant
    raise StructureError(max(failures)[1] if failures else "it holds no JSON")


def _values(text: str) -> tuple[list[tuple[int, Any]], list[tuple[int, str]]]:
    """Length and value of each span of JSON, and length and problem of each that is none."""
    values, failures = [], []
    for start, end in _spans(text):
        try:
            values.append((end - start, _load_or_repair(text[start:end])))
        except StructureError as problem:
            failures.append((end - start, str(problem)))
    return values, failures


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each outermost `{…}` or `[…]`; brackets inside strings do not count.

    Raises
    ------
    StructureError
        If the last one is never closed, so that its value was cut off.
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
    """The value of a span whose brackets are balanced, small slips of syntax mended."""
    try:
        return _load(text)
    except ValueError:
        from json_repair import repair_json

    try:
        # strict: it mends commas, quotes and comments, and makes up no missing value
        return _load(str(repair_json(text, strict=True)))
    except (ValueError, RecursionError) as error:
        raise StructureError(f"it is not valid JSON: {_short(str(error))}") from None


def _load(text: str) -> Any:
    # half a character, which no text may hold, becomes the sign for an unknown one
    text = _LONE_SURROGATE.sub(r"\\ufffd", text)
    try:
        # NaN and Infinity are not JSON; as null they pass only where null may stand
        return json.loads(text, parse_constant=lambda constant: None)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _validated(value: Any, schema: type[Schema]) -> Read[Schema]:
    """The value as an object of the schema, slips of form mended where there are any."""
    try:
        return Read(schema.model_validate(value))
    except ValidationError:
        mended, slips = coerced(value, schema)
    try:
        return Read(schema.model_validate(mended), tuple(slips))
    except ValidationError as error:
        failures = error.errors(include_url=False, include_input=False, include_context=False)
    if len(failures) == 1 and not failures[0]["loc"]:
        raise StructureError(f"its JSON is of type {_kind(value)}: {_short(failures[0]['msg'])}")
    told = [
        _short(f"{'.'.join(str(part) for part in problem['loc'])}: {problem['msg']}")
        for problem in failures[:_MAX_FAILURES]
    ]
    more = len(failures) - len(told)
    raise StructureError("; ".join(told) + (f"; and {more} more" if more else ""))


def _kind(value: Any) -> str:
    return _JSON_NAMES.get(type(value), "number")


def _short(text: str) -> str:
    if len(text) <= _MAX_PROBLEM_CHARS:
        return text
    return text[: _MAX_PROBLEM_CHARS - 1] + "…"
