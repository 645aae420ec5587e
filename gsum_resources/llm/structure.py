"""Structured replies: how JSON is asked for in words, and how a reply becomes a checked object.

Only the schema decides what a reply says. Prose around the JSON, fences, and whatever a document
or a reply tells its reader to do change nothing. A small slip of syntax is repaired; a value that
was cut off is not, since nobody knows what would have followed.
"""

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

Schema = TypeVar("Schema", bound=BaseModel)

_MAX_PROBLEMS = 3  # told in one error: a model that is told all of fifty mends none
_MAX_PROBLEM_CHARS = 160
_REASONING = re.compile(r"\s*<think>.*?</think>\s*", re.DOTALL)
_BRACKETS_AND_STRINGS = re.compile(r'\\.|["{}\[\]]', re.DOTALL)
_LONE_SURROGATE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    r"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)
_JSON_NAMES = {dict: "object", list: "array", str: "string", bool: "boolean", type(None): "null"}


class StructureError(ValueError):
    """A reply that does not have the wanted structure; the message suits a re-ask."""


@cache
def json_directions(schema: type[BaseModel]) -> str:
    """Directions for a model that is asked for JSON in words, with the JSON schema."""
    described = json.dumps(schema.model_json_schema(), ensure_ascii=False)
    return (
        "Reply with one JSON value and nothing else: no introduction, no comment, no code fence. "
        f"It must satisfy this JSON schema:\n{described}"
    )


def re_ask(problem: StructureError | str) -> str:
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
    """The object that a reply holds.

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
    try:
        whole = _load(text)
    except ValueError:
        return _parse_among_prose(text, schema)
    return _validated(whole, schema)


def _parse_among_prose(text: str, schema: type[Schema]) -> Schema:
    found: list[Schema] = []
    problems: list[tuple[int, str]] = []
    for start, end in _spans(text):
        try:
            valid = _validated(_load_or_repair(text[start:end]), schema)
        except StructureError as problem:
            problems.append((end - start, str(problem)))
        else:
            found += [valid] if valid not in found else []
    if len(found) > 1:
        raise StructureError(f"it holds {len(found)} different JSON values; send only one")
    if found:
        return found[0]
    # the longest is the one that was meant
    raise StructureError(max(problems)[1] if problems else "it holds no JSON")


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


def _validated(value: Any, schema: type[Schema]) -> Schema:
    try:
        return schema.model_validate(value)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False, include_context=False)
    if len(problems) == 1 and not problems[0]["loc"]:
        kind = _JSON_NAMES.get(type(value), "number")
        raise StructureError(f"its JSON is of type {kind}: {_short(problems[0]['msg'])}")
    told = [
        _short(f"{'.'.join(str(part) for part in problem['loc'])}: {problem['msg']}")
        for problem in problems[:_MAX_PROBLEMS]
    ]
    more = len(problems) - len(told)
    raise StructureError("; ".join(told) + (f"; and {more} more" if more else ""))


def _short(text: str) -> str:
    if len(text) <= _MAX_PROBLEM_CHARS:
        return text
    return text[: _MAX_PROBLEM_CHARS - 1] + "…"
