"""Model replies: the answer without its reasoning, and its content as an object of the schema.

Only the schema determines the content of a reply. Prose around the JSON, fences, and instructions
in documents or replies have no effect. `reasoning.py` separates the answer, `json_text.py` finds
the JSON and repairs small slips of syntax, `coerce.py` corrects slips of form. No value is
invented, and none that was cut off is kept.

A reply that stays invalid after re-asks has often one slip among twenty valid items, or was cut off
after the nineteenth: `salvage` keeps the other items. It is never memoized as a valid one.
"""

import json
from collections.abc import Sequence
from typing import Any, Generic, NamedTuple, TypeVar, get_origin

from pydantic import BaseModel, ValidationError

from gsum_resources.llm.directions import blanks_of
from gsum_resources.llm.replies.coerce import coerced
from gsum_resources.llm.replies.json_text import (
    StructureError,
    bare_value,
    complete_value,
    shortened,
    values_among_prose,
    whole_value,
)
from gsum_resources.llm.stored_reply import well_formed
from gsum_resources.protocols.models import Completion, Reply

Schema = TypeVar("Schema", bound=BaseModel)

READING_VERSION = "4"  # raise it when more replies become readable

_MAX_FAILURES = 3  # in one error: models correct none of fifty reported failures
_JSON_NAMES = {dict: "object", list: "array", str: "string", bool: "boolean", type(None): "null"}


class Read(NamedTuple, Generic[Schema]):
    """Parsed content of a reply, and a line for each kind of item that was left out of a list."""

    value: Schema
    slips: tuple[str, ...] = ()


def usable(reply: Reply, schema: type[Schema]) -> tuple[Schema | None, str]:
    """Return the usable content of a reply, and a message about its errors, "" if there are none.

    Returns
    -------
    None as content if nothing is usable.
    """
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


def read(text: str, schema: type[Schema], truncated: bool) -> Read[Schema]:
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


def salvage(text: str, schema: type[Schema]) -> tuple[Schema | None, list[str]]:
    """Return the valid items of an invalid reply, and a line for each kind of slip.

    Parameters
    ----------
    text : the model's reply: JSON with slips, cut off, in prose, or none.

    Returns
    -------
    None as content if a required field is missing, or every list is empty.
    """
    slips: list[str] = []
    fields = schema.model_fields.items()
    lists = [name for name, field in fields if get_origin(field.annotation) is list]
    for value in _candidates(text, schema, lists):
        corrected, slips = coerced(_without_blanks(value, blanks_of(schema)), schema, keep_few=True)
        if not isinstance(corrected, dict):
            continue
        corrected |= {name: corrected.get(name) or [] for name in lists}
        try:
            content = schema.model_validate(corrected)
        except ValidationError:
            continue
        if not lists or any(getattr(content, name) for name in lists):
            return content, slips
    return None, slips


def has_form(text: str, schema: type[BaseModel]) -> bool:
    """Return whether a reply is bare JSON with all required fields, as if enforced by a server."""
    try:
        value = bare_value(text)
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


def _read_beside_echoes(text: str, schema: type[Schema], echoes: Sequence[str]) -> Read[Schema]:
    """Return the content without items that repeat the form; raise StructureError if none."""
    problem = StructureError(f"it repeats {echoes[0]} instead of filling it in")
    try:
        content = _validated(_without_blanks(whole_value(text), echoes), schema)
    except ValueError:
        raise problem from None
    if not any(value for value in content.value.model_dump().values() if isinstance(value, list)):
        raise problem
    return Read(content.value, (*content.slips, "items that repeat the form of the reply"))


def _without_blanks(value: Any, blanks: Sequence[str]) -> Any:
    """Return the value without list items and fields that repeat quoted words of the form."""

    def is_blank(content: Any) -> bool:
        if isinstance(content, dict):
            return any(is_blank(field) for field in content.values())
        return isinstance(content, str) and f'"{content}"' in blanks

    if isinstance(value, dict):
        return {
            key: _without_blanks(field, blanks)
            for key, field in value.items()
            if not isinstance(field, str) or not is_blank(field)
        }
    if isinstance(value, list):
        return [_without_blanks(item, blanks) for item in value if not is_blank(item)]
    return value


def _read_among_prose(text: str, schema: type[Schema]) -> Read[Schema]:
    """Return the only value in prose that satisfies the schema, corrected if necessary.

    A list in brackets may be a citation such as "[1]", so that only lists of objects are corrected.
    """
    values, failures = values_among_prose(text)
    exact: list[Read[Schema]] = []
    corrected: list[Read[Schema]] = []
    for size, value in values:
        try:
            exact.append(Read(schema.model_validate(value)))
        except ValidationError:
            try:
                content = _validated(value, schema)
            except StructureError as problem:
                failures.append((size, str(problem)))
            else:
                if _holds_object(value):
                    corrected.append(content)
                else:
                    failures.append((size, f"its JSON is of type {_kind(value)}"))
    different: list[Read[Schema]] = []
    for content in exact or corrected:
        different += [content] if content not in different else []
    if len(different) > 1:
        raise StructureError(f"it holds {len(different)} different JSON values; send only one")
    if different:
        return different[0]
    # the longest span is most likely the reply
    raise StructureError(max(failures)[1] if failures else "it holds no JSON")


def _holds_object(value: Any) -> bool:
    """Return whether a value is an object, or a list whose first item holds one."""
    if isinstance(value, list):
        return bool(value) and _holds_object(value[0])
    return isinstance(value, dict) or str(value).lstrip().startswith("{")


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
        message = shortened(failures[0]["msg"])
        raise StructureError(f"its JSON is of type {_kind(value)}: {message}")
    messages = [
        shortened(f"{'.'.join(str(key) for key in problem['loc'])}: {problem['msg']}")
        for problem in failures[:_MAX_FAILURES]
    ]
    more = len(failures) - len(messages)
    raise StructureError("; ".join(messages) + (f"; and {more} more" if more else ""))


def _kind(value: Any) -> str:
    return _JSON_NAMES.get(type(value), "number")


def _candidates(text: str, schema: type[BaseModel], lists: Sequence[str]) -> list[Any]:
    """Return the possible values of an invalid reply, most likely first.

    A list may hold several values among prose, or the items of the schema's first list alone.
    """
    try:
        try:
            value = whole_value(text)
        except ValueError:
            value = complete_value(text)
        value = json.loads(well_formed(json.dumps(value, ensure_ascii=False)))
    except (ValueError, RecursionError):
        return []
    objects = [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
    known = set(schema.model_fields)
    candidates = [value, *(item for item in objects if set(item) & known)]
    return [*candidates, {lists[0]: objects}] if lists and objects else candidates
