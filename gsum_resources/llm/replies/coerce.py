"""Coercion of values that violate their schema by slips of form, if only one reading is possible.

A model that writes "8/10" for an integer or null for an empty text has stated its value. No value
is invented: a field that is missing and has no default stays missing, and so does one with several
readings ("between 6 and 8"). Items that remain invalid are left out of their list, and reported, if
most items of the reply are valid.
"""

import json
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
_MOST_WRAPPERS = 4
_QUOTED = re.compile(r"'[^']*' ?")


class _Bounds(NamedTuple):
    low: float = -math.inf
    high: float = math.inf


class _Slips(Counter[str]):
    """Counts of omitted items by kind.

    Attributes
    ----------
    keep_few : whether to omit items even if most of the reply, or of a list in an item, is invalid.
    depth : number of objects and lists around the present value.
    n_valid : number of valid items in the reply's own lists.
    unfiltered : these lists with their invalid items, by field.
    """

    def __init__(self, keep_few: bool) -> None:
        super().__init__()
        self.keep_few = keep_few
        self.depth = self.n_valid = self.n_omitted = 0
        self.unfiltered: dict[str, list] = {}


def coerced(value: Any, schema: type[BaseModel], keep_few: bool = False) -> tuple[Any, list[str]]:
    """Return the value with slips of form corrected, and a line for each kind of omitted item.

    Invalid items are omitted if more than half of the items in the reply's lists are valid. If not,
    they stay, so that the error names them.

    Parameters
    ----------
    schema : schema that the value should satisfy; the result may still violate it.
    keep_few : whether to omit invalid items even if valid ones are the minority.
    """
    slips = _Slips(keep_few)
    content = None if issubclass(schema, RootModel) else _object_within(value, schema)
    corrected = _object(value if content is None else content, schema, slips)
    if slips.n_omitted >= max(1, slips.n_valid) and not keep_few:
        slips.clear()
        whole = slips.unfiltered
        corrected = corrected | whole if isinstance(corrected, dict) else whole.get("", corrected)
    return corrected, [f"{n} of {what}" if n > 1 else what for what, n in sorted(slips.items())]


def _object_within(value: Any, schema: type[BaseModel], depth: int = 0) -> Any:
    """Return the only object, or list, of a schema within lists, objects and texts, or None."""
    fields = schema.model_fields
    required = {name for name, field in fields.items() if field.is_required()} or set(fields)
    if isinstance(value, dict) and required & set(_named(value, fields)):
        return value
    content = _only_content(value) if depth < _MOST_WRAPPERS else None
    inner = None if content is None else _object_within(content, schema, depth + 1)
    if isinstance(inner, dict) or (inner is not None and not isinstance(value, list)):
        return inner
    is_only_list = isinstance(value, list) and _around_list(value, schema) is not value
    return value if is_only_list else None


def _only_content(value: Any) -> Any:
    """Return the only item of a list, the only object or list in an object, or a text's JSON."""
    if isinstance(value, list):
        return value[0] if len(value) == 1 else None
    if isinstance(value, dict):
        contents = [
            inner
            for inner in value.values()
            if isinstance(inner, dict | list) or str(inner).lstrip()[:1] in ("{", "[")
        ]
        return contents[0] if len(contents) == 1 else None
    try:
        return json.loads(value) if isinstance(value, str) else None
    except (ValueError, RecursionError):
        return None


def _object(value: Any, schema: type[BaseModel], slips: _Slips) -> Any:
    if issubclass(schema, RootModel):
        return _fitted(value, schema.model_fields["root"].annotation, _Bounds(), "", slips)
    if isinstance(value, list):
        value = _around_list(value, schema)
    if not isinstance(value, dict):
        return value
    fields = schema.model_fields
    corrected = {}
    for name, given in _named(value, fields).items():
        field = fields[name]
        if given is None and not field.is_required():
            continue  # equivalent to a missing field: use the default
        is_strict = any(getattr(mark, "strict", False) for mark in field.metadata)
        bounds = _bounds(field.metadata)
        fitted = given if is_strict else _fitted(given, field.annotation, bounds, name, slips)
        corrected[name] = fitted
    return corrected


def _around_list(value: list, schema: type[BaseModel]) -> Any:
    """Return a list as the value of an object's only required field, if that is a list."""
    required = [(name, field) for name, field in schema.model_fields.items() if field.is_required()]
    if len(required) == 1 and get_origin(required[0][1].annotation) is list:
        return {required[0][0]: value}
    return value


def _named(value: dict, fields: dict[str, FieldInfo]) -> dict[str, Any]:
    """Return the known fields, by exact name or ignoring case, blanks and punctuation."""
    named = {name: given for name, given in value.items() if name in fields}
    by_key = {_key(name): name for name in fields if name not in named}
    for name, given in value.items():
        if name not in named and (field_name := by_key.pop(_key(str(name)), None)):
            named[field_name] = given
    return named


def _key(text: str) -> str:
    return "".join(c for c in text.casefold() if c.isalnum())


def _bounds(metadata: Sequence[Any]) -> _Bounds:
    marks = [m for mark in metadata for m in getattr(mark, "metadata", None) or [mark]]
    low = [mark.ge for mark in marks if getattr(mark, "ge", None) is not None]
    high = [mark.le for mark in marks if getattr(mark, "le", None) is not None]
    return _Bounds(max(low, default=-math.inf), min(high, default=math.inf))


def _fitted(value: Any, kind: Any, bounds: _Bounds, name: str, slips: _Slips) -> Any:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _fitted(value, arguments[0], _bounds(arguments[1:]), name, slips)
    if origin in (Union, UnionType):
        if value is None and NoneType in arguments:
            return None
        kinds = [argument for argument in arguments if argument is not NoneType]
        return _fitted(value, kinds[0], bounds, name, slips) if len(kinds) == 1 else value
    if origin is Literal:
        matches = [choice for choice in arguments if _key(str(choice)) == _key(str(value))]
        return matches[0] if len(matches) == 1 and value is not None else value
    if origin is list:
        return _list(value, arguments[0], name, slips)
    if not isinstance(kind, type):
        return value
    if issubclass(kind, BaseModel):
        slips.depth += 1
        corrected = _object(value, kind, slips)
        slips.depth -= 1
        return corrected
    if isinstance(value, list) and len(value) == 1 and value[0] is not None:
        value = value[0]
    if kind is str:
        return _text(value)
    if kind is bool:
        return value.strip(" .!") if isinstance(value, str) else value
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
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return " ".join(value)
    if isinstance(value, dict) and len(value) == 1:
        (only,) = value.values()
        return only if isinstance(only, str) else value
    return value


def _number(value: Any, kind: type, bounds: _Bounds) -> Any:
    if isinstance(value, str):
        value = _number_in(value, bounds.high)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return value
    value = min(max(value, bounds.low), bounds.high)
    return math.floor(value + 0.5) if kind is int else value


def _number_in(text: str, most: float) -> float | str:
    """Return the only number in a text; a fraction is converted to the scale of `most`."""
    text = _THOUSANDS.sub("", text)
    for pattern in (_SHARE, _PERCENT):
        if (match := pattern.search(text)) and len(pattern.findall(text)) == 1:
            if _NUMBER.search(text[: match.start()] + text[match.end() :]):
                return text
            share, whole = float(match[1]), float(match[2]) if pattern is _SHARE else 100.0
            has_scale = math.isfinite(most) and whole not in (0.0, most)
            return share / whole * most if has_scale else share
    numbers = _NUMBER.findall(text)
    return float(numbers[0]) if len(numbers) == 1 else text


def _list(value: Any, item: Any, name: str, slips: _Slips) -> Any:
    """Return the valid items of a list.

    All items are returned, so that the error names the invalid ones, where most of a list within an
    item are invalid and `keep_few` is not set.
    """
    if value is None:
        return None
    if not isinstance(value, list):
        value = _items_in(value, item)
    slips.depth += 1
    items = [_fitted(each, item, _Bounds(), name, slips) for each in value if each is not None]
    slips.depth -= 1
    failures = [_problem(each, item, name) for each in items]
    valid = [each for each, problem in zip(items, failures, strict=True) if not problem]
    if not slips.depth:
        slips.n_valid += len(valid)
        slips.n_omitted += len(items) - len(valid)
        slips.unfiltered[name] = items
    elif 2 * len(valid) <= len(items) and not slips.keep_few:
        return items
    slips.update(problem for problem in failures if problem)
    return valid


def _items_in(value: Any, item: Any) -> list:
    """Return the items of a value that should be a list: lines or numbers of a text, or itself."""
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
    """Return why an item is invalid, without its value, so that equal slips can be counted."""
    try:
        _adapter(item).validate_python(value)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_context=False)[0]
        where = ", ".join([name, *(str(key) for key in problem["loc"][:1])])
        message = problem["msg"].removeprefix("Value error, ")
        # quoted values differ between items, except the alternatives of an enumeration
        message = message if problem["type"] == "literal_error" else _QUOTED.sub("", message)
        return f"{where}: {message[:100]}"
    return ""


@cache
def _adapter(item: Any) -> TypeAdapter:
    return TypeAdapter(item)
