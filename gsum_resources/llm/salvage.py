"""Usable items of a reply that is invalid as a whole, and the slips that were left out.

A model whose reply is still invalid after re-asks has often made one slip among twenty valid items,
or was cut off after the nineteenth: the other items are kept. The reply is never memoized as a
valid one. A value that was cut off is never kept, and none is invented: an object without a
required field is left out.
"""

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, TypeVar, get_origin

from pydantic import BaseModel, ValidationError

from gsum_resources.llm.coerce import coerced
from gsum_resources.llm.stored_reply import well_formed
from gsum_resources.llm.structure import blanks_of, whole_value, without_blanks
from gsum_resources.protocols.models import Completion, Reply

Schema = TypeVar("Schema", bound=BaseModel)

# limits of the search: repair takes quadratic time if brackets are never closed
_MOST_CHARS, _MOST_DEPTH = 40_000, 8
_TOKENS = re.compile(r'\\.|["{}\[\],:]', re.DOTALL)


def usable(reply: Reply, schema: type[Schema]) -> tuple[Schema | None, str]:
    """Return the usable content of a reply, and a message about its errors, "" if there are none.

    Parameters
    ----------
    schema : schema of the request.

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
    found, slips = salvage(reply.text, schema)
    lost = "left out: " + "; ".join(slips) if slips else "what can be read is kept"
    lost = "nothing of it could be used" if found is None else lost
    return found, f"{reply.message} ({lost})"


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
    for value in _candidates(text, schema):
        corrected, slips = coerced(without_blanks(value, blanks_of(schema)), schema, keep_few=True)
        if not isinstance(corrected, dict):
            continue
        lists = _lists(schema)
        corrected |= {name: corrected.get(name) or [] for name in lists}
        try:
            found = schema.model_validate(corrected)
        except ValidationError:
            continue
        if not lists or any(getattr(found, name) for name in lists):
            return found, slips
    return None, slips


def _lists(schema: type[BaseModel]) -> list[str]:
    fields = schema.model_fields.items()
    return [name for name, field in fields if get_origin(field.annotation) is list]


def _candidates(text: str, schema: type[BaseModel]) -> list[Any]:
    """Return the possible values of a reply, most likely first."""
    from json_repair import loads

    with suppress(ValueError):
        return [value := _well_formed(whole_value(text)), *_values_of(value, schema)]
    said = text[:_MOST_CHARS]
    start = min((said.find(mark) for mark in "{[" if mark in said), default=-1)
    if start < 0:
        return []
    try:
        value: Any = loads(_whole(_shallow(said[start:])))
    except (ValueError, RecursionError):
        return []
    value = _well_formed(value)
    return [value, *_values_of(value, schema)]


def _well_formed(value: Any) -> Any:
    return json.loads(well_formed(json.dumps(value, ensure_ascii=False)))


def _values_of(value: Any, schema: type[BaseModel]) -> list[Any]:
    """Return the values in a list: several among prose, or the items of the first list alone."""
    if not isinstance(value, list):
        return []
    objects = [item for item in value if isinstance(item, dict)]
    known = set(schema.model_fields)
    return [*(item for item in objects if set(item) & known), *_as_first_list(objects, schema)]


def _as_first_list(items: Sequence[dict], schema: type[BaseModel]) -> list[dict]:
    first = _lists(schema)[:1]
    return [{first[0]: list(items)}] if first and items else []


def _shallow(text: str) -> str:
    """Return the text up to a bracket nested deeper than in any valid reply."""
    depth, in_string = 0, False
    for match in _TOKENS.finditer(text):
        if match[0] == '"':
            in_string = not in_string
        elif not in_string and match[0] in set("{}[]"):
            depth += 1 if match[0] in "{[" else -1
            if depth > _MOST_DEPTH:
                return text[: match.start()]
    return text


def _whole(text: str) -> str:
    """Return the text up to the last value that is certainly complete, or all of it.

    An object in a list is complete only as a whole, since its further fields are unknown.
    """
    open_marks: list[str] = []
    in_string, is_value, last, complete = False, True, 0, 0
    for match in _TOKENS.finditer(text):
        mark = match[0]
        if mark == '"' and open_marks:  # quotes in prose open no string
            in_string = not in_string
            is_end = not in_string and is_value
        elif in_string or mark not in set("{}[],:"):
            continue
        else:
            if mark in "{[":
                open_marks.append(mark)
            elif mark in "}]" and open_marks:
                open_marks.pop()
                if not open_marks:  # another value or prose follows
                    complete = match.end()
            is_value = mark == ":" or (mark in "[," and open_marks[-1:] == ["["])
            is_end = mark in "}],"
        if is_end and open_marks in (["{"], ["["], ["{", "["]):
            last = match.start() if mark == "," else match.end()
    if not open_marks:
        return text
    return text[: max(last, complete)]
