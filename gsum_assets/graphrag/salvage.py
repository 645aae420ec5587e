"""What is good in a malformed extraction, and what of it was left out.

A model that was asked again and still replies badly has often made one slip among twenty good
items: the rest is kept. The reply itself is never memoized, so the next run asks again.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from gsum_resources.llm.stored_reply import well_formed
from gsum_resources.llm.structure import without_reasoning

# of a reply that is looked through: mending takes quadratic time where nothing is ever closed
_MOST_CHARS, _MOST_DEPTH = 40_000, 8
_BRACKETS_AND_STRINGS = re.compile(r'\\.|["{}\[\]]', re.DOTALL)
_LISTS = ("entities", "relationships", "claims")


def salvage(text: str, schema: type[BaseModel]) -> tuple[BaseModel | None, list[str]]:
    """The valid items of a reply that as a whole is not, and a line for each kind of slip.

    Parameters
    ----------
    text : what the model said; JSON with slips, cut off, among prose, or none at all.
    schema : that of an extraction.

    Returns
    -------
    None where nothing can be used.
    """
    content = _loaded(text)
    slips: Counter[str] = Counter()
    kept: dict[str, Any] = {
        name: _valid(content.get(name), _item(schema, name), name, slips)
        for name in _LISTS
        if name in schema.model_fields
    }
    lines = [f"{n} of {what}" if n > 1 else what for what, n in sorted(slips.items())]
    if not any(kept.values()):
        return None, lines
    return schema.model_construct(**kept), lines


def _loaded(text: str) -> Mapping[str, Any]:
    from json_repair import loads

    said = without_reasoning(text)[:_MOST_CHARS]
    start = min((said.find(mark) for mark in "{[" if mark in said), default=-1)
    if start < 0:
        return {}
    try:
        value: Any = loads(_shallow(said[start:]))
    except (ValueError, RecursionError):
        return {}
    value = json.loads(well_formed(json.dumps(value, ensure_ascii=False)))
    if isinstance(value, list):  # several values among prose: the first that holds a list of ours
        among = [one for one in value if isinstance(one, dict)]
        named = {"entities": [one for one in among if "name" in one]}  # the list of entities alone
        value = next((one for one in among if set(one) & set(_LISTS)), named)
    return value if isinstance(value, dict) else {}


def _shallow(text: str) -> str:
    """The text as far as its brackets are nested no deeper than an extraction's could be."""
    depth, in_string = 0, False
    for match in _BRACKETS_AND_STRINGS.finditer(text):
        if match[0] == '"':
            in_string = not in_string
        elif not in_string and len(match[0]) == 1:
            depth += 1 if match[0] in "{[" else -1
            if depth > _MOST_DEPTH:
                return text[: match.start()]
    return text


def _item(schema: type[BaseModel], name: str) -> type[BaseModel]:
    (item,) = get_args(schema.model_fields[name].annotation)
    return item


def _valid(
    items: Any, item: type[BaseModel], name: str, slips: Counter[str]
) -> Sequence[BaseModel]:
    if items is None:
        return []
    if not isinstance(items, list):
        slips[f"{name}: not a list"] += 1
        return []
    found = []
    for value in items:
        try:
            found.append(item.model_validate(value))
        except ValidationError as error:
            problem = error.errors(include_url=False)[0]
            field = str(problem["loc"][0]) if problem["loc"] else "item"
            slips[f"{name}, {field}: {_kind(problem)}"] += 1
    return found


def _kind(problem: Mapping[str, Any]) -> str:
    """What is wrong, without the value, so that like slips are counted together."""
    message = str(problem["msg"]).removeprefix("Value error, ")
    for sign, kind in (
        ("holds no letter", "a name without letter or digit"),
        ("characters; the most", "a name that is too long"),
        ("related to itself", "related to itself"),
    ):
        if sign in message:
            return kind
    return message[:100]
