"""Instances of pydantic models, filled by field names from the results of the classical tasks."""

import types
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from gsum_resources.text.ranking import grade

Lookup = Callable[[str], Any]

_SYNONYMS = {
    "name": ("entity", "label", "title", "entity_name"),
    "type": ("kind", "category", "entity_type"),
    "description": ("details", "evidence", "explanation", "summary", "text"),
    "source": ("head", "subject", "from_entity", "source_entity"),
    "target": ("tail", "object", "to_entity", "target_entity"),
    "relation": ("predicate", "relationship", "keyword"),
    "strength": ("weight", "score", "relationship_strength"),
    "statement": ("fact", "text", "claim", "summary", "finding", "atomic_fact"),
    "elements": ("keywords", "key_elements", "core_elements", "entities"),
}


class Share(float):
    """A share in 0..1, converted to a grade within the bounds of its field."""


class UnfillableSchemaError(ValueError):
    """A schema with a field that no classical task can fill."""


def fill(schema: type[BaseModel], lookup: Lookup) -> BaseModel:
    """Return a validated instance of `schema`; nested models are filled recursively.

    `lookup` returns the value of a field name, or None if the name is unknown.

    Raises `UnfillableSchemaError` if a required field has an unknown name, or a type that its value
    does not fit.
    """
    content = {}
    for name, info in schema.model_fields.items():
        value = lookup(name)
        if value is None:
            if info.is_required():
                raise UnfillableSchemaError(f"field '{name}' of schema '{schema.__name__}'")
            continue
        content[name] = _adapt(value, info.annotation, info, f"{schema.__name__}.{name}")
    # By name even if a field has an alias: `lookup` uses names.
    return schema.model_validate(content, by_name=True, by_alias=False)


def _adapt(value: Any, annotation: Any, info: FieldInfo | None, where: str) -> Any:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _adapt(value, arguments[0], info, where)
    if origin in (Union, types.UnionType):
        return _adapt(value, next(a for a in arguments if a is not type(None)), info, where)
    if origin is Literal:
        text = _as_text(value).strip().lower()
        return next((choice for choice in arguments if str(choice).lower() == text), arguments[-1])
    if origin in (list, tuple, set, frozenset):
        if not isinstance(value, list):
            value = [value]
        return [_adapt(item, arguments[0] if arguments else str, None, where) for item in value]
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        if not isinstance(value, Mapping):
            raise UnfillableSchemaError(f"field '{where}' of type {annotation.__name__}")
        return fill(annotation, _item_lookup(value))
    if annotation is str:
        text, extra = _as_text(value), info.json_schema_extra if info else None
        choices = extra.get("enum") if isinstance(extra, dict) else None
        return str(choices[-1]) if isinstance(choices, list) and text not in choices else text
    if annotation in (int, float) and isinstance(value, Share):
        lowest, highest = _bounds(info)
        return grade(value, lowest, highest)
    if annotation in (int, float) and isinstance(value, int | float):
        return annotation(value)
    if annotation is Any:
        return value
    raise UnfillableSchemaError(f"field '{where}' of type {annotation}")


def _item_lookup(item: Mapping[str, Any]) -> Lookup:
    def lookup(name: str) -> Any:
        if name in item:
            return item[name]
        for known, synonyms in _SYNONYMS.items():
            if name in synonyms and known in item:
                return item[known]
        return None

    return lookup


def _as_text(value: Any) -> str:
    if isinstance(value, Mapping):
        return str(next(value[key] for key in ("statement", "name", "description") if key in value))
    if isinstance(value, list):
        return ", ".join(_as_text(item) for item in value)
    if isinstance(value, Share):
        return str(grade(value, 1, 10))
    return str(value)


def _bounds(info: FieldInfo | None) -> tuple[int, int]:
    """Return the bounds of a numeric field from its constraints, by default 1..10."""
    lowest, highest = 1, 10
    for constraint in info.metadata if info else ():
        lowest = int(getattr(constraint, "ge", lowest))
        highest = int(getattr(constraint, "le", highest))
        lowest = int(getattr(constraint, "gt", lowest - 1)) + 1
        highest = int(getattr(constraint, "lt", highest + 1)) - 1
    return lowest, highest
