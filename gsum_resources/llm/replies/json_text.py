"""JSON in a model's text: bare, in a fence, among prose, with slips of syntax, or cut off."""

import json
import re
from collections.abc import Iterator
from typing import Any

# limits of `complete_value`: repair takes quadratic time if brackets are never closed
_MOST_CHARS, _MOST_DEPTH = 40_000, 8
_MAX_PROBLEM_CHARS = 160
_FENCE = re.compile(r"```\w*\n(.*?)\n?```", re.DOTALL)
_TEXT_FENCE = re.compile(r"```(?:text|txt|plaintext|markdown|md)?[ \t]*\n(.*?)\n?```", re.DOTALL)
_MARKS = re.compile(r'\\.|["{}\[\],:]', re.DOTALL)
_LONE_SURROGATE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    r"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)


class StructureError(ValueError):
    """A reply of wrong structure; the message is sent to the model in a re-ask."""


def plain_text(text: str) -> str:
    """Return a free text without the fence around the whole of it."""
    fence = _TEXT_FENCE.fullmatch(text.strip())
    return (fence[1] if fence and "```" not in fence[1] else text).strip()


def bare_value(text: str) -> Any:
    """Return the value of a text that is JSON and nothing else; raise ValueError if it is not."""
    # lone surrogates, which are invalid in texts, become U+FFFD
    text = _LONE_SURROGATE.sub(r"\\ufffd", text)
    try:
        # NaN and Infinity are not JSON; as null they pass only where null may stand
        return json.loads(text, parse_constant=lambda constant: None)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def whole_value(text: str) -> Any:
    """Return the value of a text that is JSON, bare or in a fence; raise ValueError if not."""
    fence = _FENCE.fullmatch(text.strip())
    return bare_value(fence[1] if fence else text)


def values_among_prose(text: str) -> tuple[list[tuple[int, Any]], list[tuple[int, str]]]:
    """Return length and value of each span of JSON, and length and error of each invalid span.

    Raises
    ------
    StructureError
        If the last span is not closed, so that its value was cut off.
    """
    values, failures = [], []
    for span in _spans(text):
        try:
            values.append((len(span), _repaired(span)))
        except StructureError as problem:
            failures.append((len(span), str(problem)))
    return values, failures


def complete_value(text: str) -> Any:
    """Return the JSON value in a text, up to its last item that is certainly complete.

    Raises
    ------
    ValueError
        If there is none.
    """
    from json_repair import loads

    text = text[:_MOST_CHARS]
    start = min((text.find(mark) for mark in "{[" if mark in text), default=-1)
    if start < 0:
        raise ValueError("it holds no JSON")
    try:
        return loads(_until_complete(text[start:]))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def shortened(text: str) -> str:
    """Return a description of an error, cut to a length that models read."""
    if len(text) <= _MAX_PROBLEM_CHARS:
        return text
    return text[: _MAX_PROBLEM_CHARS - 1] + "…"


def _marks(text: str) -> Iterator[tuple[re.Match[str], list[str]]]:
    """Yield brackets, commas, colons and ends of strings, and the brackets open after each.

    Marks in strings are ignored, and so are quotes and closing brackets in prose.
    """
    open_brackets: list[str] = []
    in_string = False
    for match in _MARKS.finditer(text):
        mark = match[0]
        if mark == '"':
            in_string = bool(open_brackets) and not in_string
            if in_string or not open_brackets:
                continue
        elif in_string or len(mark) > 1 or (mark in "}]" and not open_brackets):
            continue
        elif mark in "{[":
            open_brackets.append(mark)
        elif mark in "}]":
            open_brackets.pop()
        yield match, open_brackets


def _spans(text: str) -> Iterator[str]:
    """Yield each outermost `{…}` or `[…]`; raise StructureError if the last one is not closed."""
    start: int | None = None
    for match, open_brackets in _marks(text):
        if start is None and open_brackets:
            start = match.start()
        elif start is not None and not open_brackets:
            yield text[start : match.end()]
            start = None
    if start is not None:
        raise StructureError("its JSON value is cut off before its end")


def _repaired(span: str) -> Any:
    """Return the value of a span with balanced brackets, after repair of small slips of syntax."""
    try:
        return bare_value(span)
    except ValueError:
        from json_repair import repair_json

    try:
        # strict: repairs commas, quotes and comments, and invents no missing value
        return bare_value(str(repair_json(span, strict=True)))
    except (ValueError, RecursionError) as error:
        raise StructureError(f"it is not valid JSON: {shortened(str(error))}") from None


def _until_complete(text: str) -> str:
    """Return the text up to the last value that is certainly complete, or all of it.

    An object in a list is complete only as a whole, since its further fields are unknown. The text
    ends before a bracket that is nested deeper than in any valid reply.
    """
    is_value, last, complete = True, 0, 0
    open_brackets: list[str] = []
    for match, open_brackets in _marks(text):
        mark = match[0]
        if len(open_brackets) > _MOST_DEPTH:
            break
        if not open_brackets and mark in "}]":  # another value or prose follows
            complete = match.end()
        is_end = mark in "}]," or (mark == '"' and is_value)
        if mark != '"':
            is_value = mark == ":" or (mark in "[," and open_brackets[-1:] == ["["])
        if is_end and open_brackets in (["{"], ["["], ["{", "["]):
            last = match.start() if mark == "," else match.end()
    return text[: max(last, complete)] if open_brackets else text
