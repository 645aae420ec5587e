"""Values that miss their schema by a slip of form: mended where only one reading is possible.

A model that writes "8/10" for an integer or null for an empty text has said what it means. Nothing
is made up: a field that is absent and has no default stays absent, and so does what has several
readings ("between 6 and 8"). Items that remain invalid are left out of a list most of which is
valid, and reported.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from pydantic import BaseModel, RootModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

_NUMBER = re.compile(r"(?:(?<!\w)-)?\d+(?:\.\d+)?")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}\b)")
_SHARE = re.compile(r"(\d+(?:\.\d+)?)\s*(?:/|\bout of\b|\bof\b)\s*(\d+(?:\.\d+)?)")
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s*(?:%|\bpercent\b)")
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")
_BOOLEANS = {"true": True, "yes": True, "y": True, "1": True}
_BOOLEANS |= {"false": False, "no": False, "n": False, "0": False}
_QUOTED = re.compile(r"'[^']*' ?")


class _Bounds(NamedTuple):
    low: float = -math.inf
    high: float = math.inf


class _Slips(Counter[str]):
    """Kinds of items left out; `keep_few`: even where most of a list is left out."""

    keep_few = False


def coerced(value: Any, schema: type[BaseModel], keep_few: bool = False) -> tuple[Any, list[str]]:
    """Return the value with slips of form mended, and a line for each kind of item left out.

    Parameters
    ----------
    value : parsed JSON.
    schema : what the value should satisfy. The result may still not.
    keep_few : whether to keep the valid items of a list where they are the lesser part, too.
    """
    slips = _Slips()
    slips.keep_few = keep_few
    mended = _object(value, schema, slips)
    return mended, [f"{n} of {what}" if n > 1 else what for what, n in sorted(slips.items())]


def _object(value: Any, schema: type[BaseModel], slips: _Slips) -> Any:
    if issubclass(schema, RootModel):
        return _fitted(value, schema.model_fields["root"].annotation, _Bounds(), "", slips)
    if isinstance(value, list):
        value = _around_list(value, schema)
    if not isinstance(value, dict):
        return value
    fields = schema.model_fields
    mended = {}
    for name, given in _named(value, fields).items():
        field = fields[name]
        if given is None and not field.is_required():
            continue  # as good as absent: the default stands
        if any(getattr(mark, "strict", False) for mark in field.metadata):
            mended[name] = given
            continue
        mended[name] = _fitted(given, field.annotation, _bounds(field.metadata), name, slips)
    return mended


def _around_list(value: list, schema: type[BaseModel]) -> Any:
    """A bare list as the one required field of an object, if that is a list."""
    required = [(name, field) for name, field in schema.model_fields.items() if field.is_required()]
    if len(required) == 1 and get_origin(required[0][1].annotation) is list:
        return {required[0][0]: value}
    return value


def _named(value: dict, fields: dict[str, FieldInfo]) -> dict[str, Any]:
    """The known fields, by exact name or else without regard to case, blanks and punctuation."""
    named = {name: given for name, given in value.items() if name in fields}
    by_key = {_key(name): name for name in fields if name not in named}
    for name, given in value.items():
        if name not in named and (meant := by_key.pop(_key(str(name)), None)):
            named[meant] = given
    return named


def _key(text: str) -> str:
    return "".join(c for c in text.casefold() if c.isalnum())


def _bounds(metadata: Sequence[Any]) -> _Bounds:
    marks = [m for mark in metadata for m in getattr(mark, "metadata", None) or [mark]]
    low = [getattr(mark, "ge", None) for mark in marks]
    high = [getattr(mark, "le", None) for mark in marks]
    return _Bounds(
        max([x for x in low if x is not None], default=-math.inf),
        min([x for x in high if x is not None], default=math.inf),
    )


def _fitted(value: Any, kind: Any, bounds: _Bounds, name: str, slips: _Slips) -> Any:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _fitted(value, arguments[0], _bounds(arguments[1:]), name, slips)
    if origin in (Union, UnionType):
        if value is None and NoneType in arguments:
            return None
        meant = [one for one in arguments if one is not NoneType]
        return _fitted(value, meant[0], bounds, name, slips) if len(meant) == 1 else value
    if origin is Literal:
        return _choice(value, arguments)
    if origin is list:
        return _list(value, arguments[0], name, slips)
    if not isinstance(kind, type):
        return value
    if issubclass(kind, BaseModel):
        return _object(value, kind, slips)
    if isinstance(value, list) and len(value) == 1 and value[0] is not None:
        value = value[0]
    if kind is str:
        return _text(value)
    if kind is bool:
        return _boolean(value)
    if kind in (int, float):
        return _number(value, kind, bounds)
    return value


def _text(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return " ".join(value)
    if isinstance(value, dict) and len(value) == 1:
        (only,) = value.values()
        return only if isinstance(only, str) else value
    return value


def _boolean(value: Any) -> Any:
    return _BOOLEANS.get(str(value).strip(" .!").lower(), value)


def _choice(value: Any, allowed: Sequence[Any]) -> Any:
    found = [one for one in allowed if _key(str(one)) == _key(str(value))]
    return found[0] if len(found) == 1 and value is not None else value


def _number(value: Any, kind: type, bounds: _Bounds) -> Any:
    if isinstance(value, str):
        value = _number_in(value, bounds.high)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return value
    value = min(max(value, bounds.low), bounds.high)
    return math.floor(value + 0.5) if kind is int else value


def _number_in(text: str, most: float) -> float | str:
    """The one number that a text holds; a share of the most, where the scale is another."""
    text = _THOUSANDS.sub("", text)
    for pattern in (_SHARE, _PERCENT):
        if (found := pattern.search(text)) and len(pattern.findall(text)) == 1:
            rest = text[: found.start()] + text[found.end() :]
            if _NUMBER.search(rest):
                return text
            part, whole = float(found[1]), float(found[2]) if pattern is _SHARE else 100.0
            has_scale = math.isfinite(most) and whole not in (0.0, most)
            return part / whole * most if has_scale else part
    numbers = _NUMBER.findall(text)
    return float(numbers[0]) if len(numbers) == 1 else text


def _list(value: Any, item: Any, name: str, slips: _Slips) -> Any:
    """The valid items, if they are more than half; else all, for an error that names the rest.

    All valid ones where few are to be kept.
    """
    if value is None:
        return None
    if not isinstance(value, list):
        value = _items_in(value, item)
    found = [_fitted(one, item, _Bounds(), name, slips) for one in value if one is not None]
    failures = [_problem(one, item, name) for one in found]
    valid = [one for one, problem in zip(found, failures, strict=True) if not problem]
    if 2 * len(valid) <= len(found) and not slips.keep_few:
        return found
    slips.update(problem for problem in failures if problem)
    return valid


def _items_in(value: Any, item: Any) -> list:
    """The items of what should have been a list: the lines or the numbers of a text, or one."""
    if not isinstance(value, str):
        return [value]
    if item is int:
        return [float(number) for number in _NUMBER.findall(value)] or [value]
    if not value.strip():
        return []
    if item is str or get_args(item)[:1] == (str,):
        return [_BULLET.sub("", line).strip() for line in value.splitlines() if line.strip()]
    return [value]


def _problem(value: Any, item: Any, name: str) -> str:
    """Why an item is not valid, without its value, so that like slips are counted together."""
    try:
        _adapter(item).validate_python(value)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_context=False)[0]
        where = ", ".join([name, *(str(place) for place in problem["loc"][:1])])
        said = problem["msg"].removeprefix("Value error, ")
        return f"{where}: {_QUOTED.sub('', said)[:100]}"
    return ""


@cache
def _adapter(item: Any) -> TypeAdapter:
    return TypeAdapter(item)
