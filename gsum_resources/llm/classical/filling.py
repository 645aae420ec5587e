"""Any pydantic model filled by the names of its fields, from what the classical tasks know."""

import types
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from gsum_resources.llm.classical.relevance import grade

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
    """A share in 0..1 that becomes a grade within the bounds of its field."""


class UnfillableSchemaError(ValueError):
    """The schema asks for something that no classical task can give."""


def fill(schema: type[BaseModel], lookup: Lookup) -> BaseModel:
    """Return an instance of `schema`, validated.

    Parameters
    ----------
    schema : the wanted model; nested models and lists of models are filled likewise.
    lookup : from a field's name to a value, or None where the name is unknown.

    Raises
    ------
    UnfillableSchemaError
        A required field has no known name or a type that its value cannot take.
    """
    content = {}
    for name, info in schema.model_fields.items():
        value = lookup(name)
        if value is None:
            if info.is_required():
                raise UnfillableSchemaError(f"field '{name}' of schema '{schema.__name__}'")
            continue
        content[name] = _adapt(value, info.annotation, info, f"{schema.__name__}.{name}")
    # By name even where a field has an alias: the names are what was looked up.
    return schema.model_validate(content, by_name=True, by_alias=False)


def _adapt(value: Any, annotation: Any, info: FieldInfo | None, where: str) -> Any:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _adapt(value, arguments[0], info, where)
    if origin in (Union, types.UnionType):
        return _adapt(value, next(a for a in arguments if a is not type(None)), info, where)
    if origin in (list, tuple, set, frozenset):
        if not isinstance(value, list):
            value = [value]
        return [_adapt(item, arguments[0] if arguments else str, None, where) for item in value]
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        if not isinstance(value, Mapping):
            raise UnfillableSchemaError(f"field '{where}' of type {annotation.__name__}")
        return fill(annotation, _item_lookup(value))
    if annotation is str:
        return _allowed(_as_text(value), info)
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
        for known, others in _SYNONYMS.items():
            if name in others and known in item:
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


def _allowed(text: str, info: FieldInfo | None) -> str:
    """Return the text, or the last of the texts that the field's JSON schema allows if it is none."""
    extra = info.json_schema_extra if info else None
    allowed = extra.get("enum") if isinstance(extra, dict) else None
    return str(allowed[-1]) if isinstance(allowed, list) and text not in allowed else text


def _bounds(info: FieldInfo | None) -> tuple[int, int]:
    """Bounds of a numeric field by its constraints; 1..10 where it states none."""
    lowest, highest = 1, 10
    for constraint in info.metadata if info else ():
        lowest = int(getattr(constraint, "ge", lowest))
        highest = int(getattr(constraint, "le", highest))
        lowest = int(getattr(constraint, "gt", lowest - 1)) + 1
        highest = int(getattr(constraint, "lt", highest + 1)) - 1
    return lowest, highest
