"""What is good in a reply that could not be read as a whole, and what of it was left out.

A model that was asked again and still replies badly has often made one slip among twenty good
items, or was cut off after the nineteenth: the rest is kept. The reply itself is never memoized as
a valid one. A value that was cut off is never kept, and none is made up: an object without one of
its required fields is not kept either.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, TypeVar, get_origin

from pydantic import BaseModel, ValidationError

from gsum_resources.llm.coerce import coerced
from gsum_resources.llm.stored_reply import well_formed
from gsum_resources.llm.structure import blanks_of, without_blanks, without_reasoning
from gsum_resources.protocols import Completion, Reply

Schema = TypeVar("Schema", bound=BaseModel)

# of a reply that is searched: mending takes quadratic time where nothing is ever closed
_MOST_CHARS, _MOST_DEPTH = 40_000, 8
_TOKENS = re.compile(r'\\.|["{}\[\],:]', re.DOTALL)


def usable(reply: Reply, schema: type[Schema]) -> tuple[Schema | None, str]:
    """What of a reply can be used, and what is wrong with it; "" where nothing is.

    Parameters
    ----------
    schema : that the request had.

    Returns
    -------
    None where nothing can be used.
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
    """Return the valid items of a reply that as a whole is not, and a line for each kind of slip.

    Parameters
    ----------
    text : what the model said; JSON with slips, cut off, among prose, or none at all.

    Returns
    -------
    None where a required field is missing, or every list is empty.
    """
    slips: list[str] = []
    for value in _candidates(text, schema):
        mended, slips = coerced(without_blanks(value, blanks_of(schema)), schema, keep_few=True)
        if not isinstance(mended, dict):
            continue
        lists = _lists(schema)
        mended |= {name: mended.get(name) or [] for name in lists}
        try:
            found = schema.model_validate(mended)
        except ValidationError:
            continue
        if not lists or any(getattr(found, name) for name in lists):
            return found, slips
    return None, slips


def _lists(schema: type[BaseModel]) -> list[str]:
    fields = schema.model_fields.items()
    return [name for name, field in fields if get_origin(field.annotation) is list]


def _candidates(text: str, schema: type[BaseModel]) -> list[Any]:
    """Return the values that a reply may mean, most likely first."""
    from json_repair import loads

    said = without_reasoning(text)[:_MOST_CHARS]
    start = min((said.find(mark) for mark in "{[" if mark in said), default=-1)
    if start < 0:
        return []
    try:
        value: Any = loads(_whole(_shallow(said[start:])))
    except (ValueError, RecursionError):
        return []
    value = json.loads(well_formed(json.dumps(value, ensure_ascii=False)))
    if not isinstance(value, list):
        return [value]
    # several values among prose, or the items of the first list alone
    among = [one for one in value if isinstance(one, dict)]
    known = set(schema.model_fields)
    return [*(one for one in among if set(one) & known), *_as_first_list(among, schema)]


def _as_first_list(items: Sequence[dict], schema: type[BaseModel]) -> list[dict]:
    first = _lists(schema)[:1]
    return [{first[0]: list(items)}] if first and items else []


def _shallow(text: str) -> str:
    """Return the text as far as its brackets are nested no deeper than a reply's could be."""
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
    """Return the text up to the last value that is surely complete; all of it where it was not cut
    off.

    Of an item that is an object all counts as one: what would have followed in it is not known.
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
                if not open_marks:  # what follows is another value, or prose
                    complete = match.end()
            is_value = mark == ":" or (mark in "[," and open_marks[-1:] == ["["])
            is_end = mark in "}],"
        if is_end and open_marks in (["{"], ["["], ["{", "["]):
            last = match.start() if mark == "," else match.end()
    if not open_marks:
        return text
    return text[: max(last, complete)]
