"""Structured replies: the JSON in a model's text, as an object of the request's schema.

A reply is read only if the value accounts for all of it: each letter, digit and bracket, except a
fence and prose without JSON around it. Invalid items are left out of its lists, and reported, where
most items are valid. A worse reply is requested again with the error; if it stays invalid, `usable`
gives its valid items, however few. Nothing is guessed, and no value that was cut off is kept.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, Generic, NamedTuple, TypeVar, get_origin

from pydantic import BaseModel, ValidationError

from gsum_resources.llm.directions import blanks_of
from gsum_resources.llm.memo import well_formed
from gsum_resources.protocols.models import Completion, Reply

Schema = TypeVar("Schema", bound=BaseModel)

READING_VERSION = "5"  # raise it when more replies become readable

_MAX_FAILURES = 3  # in one error: models correct none of fifty reported failures
_MAX_PROBLEM_CHARS = 160
_MOST_REPAIRED, _MOST_DEPTH = 40_000, 8  # repair takes quadratic time if brackets are never closed
_FENCE = re.compile(r"```\w*\n(.*?)\n?```", re.DOTALL)
_TEXT_FENCE = re.compile(r"```(?:text|txt|plaintext|markdown|md)?[ \t]*\n(.*?)\n?```", re.DOTALL)
_JSON_MARKS = frozenset('{}[]"')
_CONTENT = re.compile(r"[\w{}\[\].-]")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|.)")
_BEGUN = re.compile(r'[{,]\s*"?\w*"?\s*\Z')  # an object or a field at the end of a reply
_QUOTED = re.compile(r"'[^']*' ?")


class StructureError(ValueError):
    """A reply of wrong structure; the message is sent to the model in a re-ask."""


class Read(NamedTuple, Generic[Schema]):
    """Parsed content of a reply, and a line for each kind of item that was left out of a list."""

    value: Schema
    slips: tuple[str, ...] = ()


def read(text: str, schema: type[Schema]) -> Read[Schema]:
    """Return the object in a complete reply, and the slips that were left out.

    `text` is bare JSON, JSON Lines, or JSON in a fence or in prose.

    Raises `StructureError` if the value does not account for the whole reply, or does not satisfy
    the schema.
    """
    for blank in blanks_of(schema):
        if blank in text:
            raise StructureError(f"it repeats {blank} instead of filling it in")
    return _validated(_value_of(text, schema), schema)


def usable(reply: Reply, schema: type[Schema]) -> tuple[Schema | None, str]:
    """Return the usable content of a reply or None, and a message about its errors, else ""."""
    if isinstance(reply, Completion):
        if not isinstance(reply.parsed, schema):
            return None, "the reply is empty"
        return reply.parsed, f"left out: {'; '.join(reply.slips)}" if reply.slips else ""
    if not reply.text.strip():
        return None, reply.message
    content, slips = salvage(reply.text, schema)
    lost = "left out: " + "; ".join(slips) if slips else "what can be read is kept"
    lost = "nothing of it could be used" if content is None else lost
    return content, f"{reply.message} ({lost})"


def salvage(text: str, schema: type[Schema]) -> tuple[Schema | None, tuple[str, ...]]:
    """Return the valid items of an invalid reply, None without any, and a line for each slip."""
    fields = schema.model_fields.items()
    lists = [name for name, field in fields if get_origin(field.annotation) is list]
    for value_of in (_value_of, _value_before_cut):
        try:
            content, slips = _validated(value_of(text, schema), schema, keep_few=True)
        except StructureError:
            continue
        has_blanks = any(blank in text for blank in blanks_of(schema))
        is_empty = bool(lists) and not any(getattr(content, name) for name in lists)
        if not (has_blanks or is_empty):
            return content, slips
    return None, ()


def correction(problem: StructureError | str) -> str:
    """Return the turn that reports the errors of its reply to a model."""
    return (
        f"Your reply cannot be used: {problem}. "
        "Reply again, with the complete JSON value and nothing else."
    )


def plain_text(text: str) -> str:
    """Return a free text without the fence around the whole of it."""
    fence = _TEXT_FENCE.fullmatch(text.strip())
    return (fence[1] if fence and "```" not in fence[1] else text).strip()


def _value_of(text: str, schema: type[BaseModel]) -> Any:
    """Return the JSON value of a reply, several values as a list."""
    text = _without_prose(text)
    try:
        values = list(_json_values(text))
    except (ValueError, RecursionError):
        return _repaired(text, schema)
    if len(values) > 1 and not all(isinstance(value, dict) for value in values):
        raise StructureError(f"it holds {len(values)} different JSON values; send only one")
    return values if len(values) > 1 else values[0]


def _without_prose(text: str) -> str:
    """Return the text from the first bracket to the last, without a fence and prose around it."""
    text = text.strip()
    fence = _FENCE.search(text)
    if fence and not _JSON_MARKS & {*text[: fence.start()], *text[fence.end() :]}:
        text = fence[1].strip()
    opening, closing = "[]" if text.startswith("[") else "{}"
    start, end = text.find(opening), text.rfind(closing) + 1
    if start < 0:
        raise StructureError("it holds no JSON")
    if end <= start:
        raise StructureError("its JSON value is cut off before its end")
    if _JSON_MARKS & {*text[:start], *text[end:]}:
        raise StructureError("it holds more than one JSON value, or one that is cut off")
    return text[start:end]


def _json_values(text: str) -> Iterator[Any]:
    """Yield each value of JSON, or of JSON Lines; raise ValueError if it is neither."""
    decoder = json.JSONDecoder(
        object_pairs_hook=_object_of,
        parse_constant=_raise_constant,
        strict=False,  # texts may have line breaks, which models do not always escape
    )
    position = 0
    while position < len(text):
        value, position = decoder.raw_decode(text, position)
        yield value
        while text[position : position + 1].isspace():
            position += 1


def _object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; a field that is null is missing, so that it gets its default."""
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a field occurs twice")
    return {name: value for name, value in pairs if value is not None}


def _raise_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _repaired(text: str, schema: type[BaseModel]) -> Any:
    """Return the value of a complete text after repair of commas, quotes and the like."""
    value = _parsed_leniently(text, schema, strict=True)
    if _content(json.dumps(value, ensure_ascii=False)) != _content(text):
        raise StructureError("it is not valid JSON")
    return value


def _value_before_cut(text: str, schema: type[BaseModel]) -> Any:
    """Return the value of a reply that was cut off, without its last item or field."""
    starts = [text.find(mark) for mark in "{[" if mark in text]
    text = text[min(starts, default=len(text)) :][:_MOST_REPAIRED]
    text = _BEGUN.sub("", text)
    value = _parsed_leniently(text, schema, strict=False)
    content, read_content = _content(text), _content(json.dumps(value, ensure_ascii=False))
    added = read_content[len(content) :]  # the closing brackets that were missing
    if not read_content.startswith(content) or added.strip("]}"):
        raise StructureError("it is not valid JSON")
    if isinstance(value, list):
        return _complete_items(value, added)
    if not isinstance(value, dict) or not value:
        raise StructureError("it holds no complete item")
    name, last = value.popitem()
    if isinstance(last, list):
        value[name] = _complete_items(last, added.removesuffix("}"))
    return value


def _complete_items(items: list[Any], added: str) -> list[Any]:
    """Return the items before a cut: brackets close an object, but not a text or a number."""
    is_complete = not added or (added == "]" and items and isinstance(items[-1], dict))
    return items if is_complete else items[:-1]


def _parsed_leniently(text: str, schema: type[BaseModel], strict: bool) -> Any:
    from json_repair import repair_json

    depth = sum(text.count(mark) for mark in "{[") - sum(text.count(mark) for mark in "]}")
    if len(text) > _MOST_REPAIRED or depth > _MOST_DEPTH:
        raise StructureError("it is not valid JSON")
    try:
        value = repair_json(text, return_objects=True, skip_json_loads=True, strict=strict)
    except (ValueError, RecursionError) as error:
        raise StructureError(f"it is not valid JSON: {_shortened(str(error))}") from None
    if set(_names_in(value)) - _field_names(schema):  # perhaps a text between the wrong quotes
        raise StructureError("it is not valid JSON")
    return value


def _names_in(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _names_in(each)


def _field_names(schema: type[BaseModel]) -> set[str]:
    described = schema.model_json_schema()
    parts = described, *described.get("$defs", {}).values()
    return {name for part in parts for name in part.get("properties", ())}


def _content(text: str) -> str:
    """Return what repair may not change: letters, digits and brackets."""
    text = _ESCAPE.sub(lambda escape: chr(int(escape[1], 16)) if escape[1] else " ", text)
    return "".join(_CONTENT.findall(text)).casefold()


def _validated(value: Any, schema: type[Schema], keep_few: bool = False) -> Read[Schema]:
    """Return the value as an object of the schema; `keep_few`: even if most items are invalid."""
    value = json.loads(well_formed(json.dumps(value, ensure_ascii=False)))
    value = _in_its_field(value, schema)
    slips: Counter[str] = Counter()
    messages: list[str] = []
    while True:
        try:
            content = schema.model_validate(value)
            break
        except ValidationError as error:
            failures = error.errors(include_url=False, include_input=False, include_context=False)
        messages = messages or [_message(failure) for failure in failures]
        invalid = {failure["loc"][:2]: failure for failure in reversed(failures)}
        if not all(len(place) == 2 and isinstance(value[place[0]], list) for place in invalid):
            raise _invalid(messages)
        slips.update(_slip(failure) for failure in invalid.values())
        value = {
            name: [item for i, item in enumerate(field) if (name, i) not in invalid]
            if isinstance(field, list)
            else field
            for name, field in value.items()
        }
    n_valid = sum(len(field) for _, field in content if isinstance(field, list))
    if slips.total() >= max(1, n_valid) and not keep_few:
        raise _invalid(messages)
    lines = (f"{n} of {slip}" if n > 1 else slip for slip, n in sorted(slips.items()))
    return Read(content, tuple(lines))


def _in_its_field(value: Any, schema: type[BaseModel]) -> Any:
    """Return the value with a bare list in the only required field, and a lone item in a list."""
    lists = {
        name: field
        for name, field in schema.model_fields.items()
        if get_origin(field.annotation) is list
    }
    required = [name for name, field in schema.model_fields.items() if field.is_required()]
    if isinstance(value, list) and len(required) == 1 and required[0] in lists:
        return {required[0]: value}
    if not isinstance(value, dict):
        raise StructureError("its JSON is an array, not an object")
    optional = lists.keys() - set(required)
    return {
        name: [field] if name in optional and not isinstance(field, list) else field
        for name, field in value.items()
    }


def _invalid(messages: list[str]) -> StructureError:
    more = len(messages) - _MAX_FAILURES
    shown = "; ".join(messages[:_MAX_FAILURES])
    return StructureError(shown + (f"; and {more} more" if more > 0 else ""))


def _message(failure: Any) -> str:
    return _shortened(f"{'.'.join(map(str, failure['loc']))}: {failure['msg']}")


def _slip(failure: Any) -> str:
    """Return why an item is invalid, without its value, so that equal slips can be counted."""
    where = ", ".join(map(str, failure["loc"][:1] + failure["loc"][2:3]))
    message = failure["msg"].removeprefix("Value error, ")
    # quoted values differ between items, except the alternatives of an enumeration
    message = message if failure["type"] == "literal_error" else _QUOTED.sub("", message)
    return f"{where}: {message[:100]}"


def _shortened(text: str) -> str:
    return text if len(text) <= _MAX_PROBLEM_CHARS else text[: _MAX_PROBLEM_CHARS - 1] + "…"
