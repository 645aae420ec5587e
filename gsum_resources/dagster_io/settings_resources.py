"""Tables of `gsum.toml` as Dagster resources: the UI documents each key, a run may replace some.

Every resource is made from the schema of its table: names, types, sentences and defaults are
written there alone. Its values are those of the home, so that the launchpad shows what applies.
"""

import json
from collections.abc import Mapping
from typing import Any

import dagster as dg
from pydantic import BaseModel, Field, create_model

from gsum_resources.models.by_work import WORK, Models
from gsum_resources.settings.schema import (
    EmbeddingSettings,
    JudgeSettings,
    LlmSettings,
    ScorerSettings,
    Settings,
    WorkSettings,
    checked_settings,
)

_TABLES: dict[str, type[BaseModel]] = {  # schema by name of the model
    "language_model": LlmSettings,
    "judge_model": JudgeSettings,
    "embedding_model": EmbeddingSettings,
    "passage_scorer": ScorerSettings,
    **{work: WorkSettings.schema_of(work) for work in WORK},
}
RESOURCE_OF: Mapping[str, str] = {  # as the table: [models.answers] is gsum_models_answers
    name: "gsum_" + schema.table.replace(".", "_")  # type: ignore[attr-defined]
    for name, schema in _TABLES.items()
}
"""Key of the resource of each model."""


def model_resources(settings: Settings) -> dict[str, dg.ConfigurableResource]:
    """Return a resource for each model, configured as in the home.

    A kind of work without a model of its own has the values of `[llm]`.
    """
    return {
        key: _resource(_TABLES[name], _values(settings, name)) for name, key in RESOURCE_OF.items()
    }


def models_of_run(models: Models, resources: Any) -> Models:
    """Return the models of a run: those of the home, unless its configuration replaces some.

    Parameters
    ----------
    resources : the resources of the run, by attribute.

    Raises
    ------
    SettingsError
        If the values of a table contradict one another.
    """
    values = {
        name: getattr(resources, key).model_dump(include=set(_TABLES[name].model_fields))
        for name, key in RESOURCE_OF.items()
    }
    replaced = {n: v for n, v in values.items() if v != _values(models.settings, n)}
    if not replaced:
        return models
    tables: dict[str, Any] = models.settings.model_dump(exclude_unset=True)
    for name, table in replaced.items():
        *above, last = _TABLES[name].table.split(".")  # type: ignore[attr-defined]
        inner = tables.setdefault(above[0], {}) if above else tables
        inner[last] = table
    chosen = checked_settings(
        tables, f"run configuration of {', '.join(RESOURCE_OF[name] for name in replaced)}"
    )
    others = {name: model for name, model in models.overrides.items() if name not in replaced}
    return Models(chosen, models.store, models.ledger_table, others, models.quick)


def described(schema: type[BaseModel]) -> dict[str, tuple[str, Any]]:
    """Return what each key of a table means, in a sentence with its default, and that default."""
    fields = schema.model_fields.items()
    defaults = {name: info.get_default(call_default_factory=True) for name, info in fields}
    return {
        name: (f"{info.description}. Default: {_as_toml(defaults[name])}", defaults[name])
        for name, info in fields
    }


def _as_toml(value: Any) -> str:
    return "unset" if value is None else json.dumps(value, default=str, ensure_ascii=False)


def _resource(schema: type[BaseModel], values: Mapping[str, Any]) -> dg.ConfigurableResource:
    """Return a resource with the keys of a table, whose defaults are the values of the home.

    A run that replaces a key then keeps the others. The UI shows which values are not the schema's.
    """
    meanings = described(schema)
    fields: Any = {
        key: (
            schema.model_fields[key].annotation,
            Field(default=value, description=meanings[key][0]),
        )
        for key, value in values.items()
    }
    made = create_model(
        schema.__name__, __base__=dg.ConfigurableResource, __module__=__name__, **fields
    )
    made.__doc__ = (
        f"{schema.__doc__} The values are those of this home. A run may replace some, for itself "
        "alone; what it writes with another model is out of date afterwards."
    )
    return made(**{key: value for key, value in values.items() if value != meanings[key][1]})


def _values(settings: Settings, name: str) -> dict[str, Any]:
    """Return the keys of a model's table; of a kind of work without one, those of [llm]."""
    *above, last = _TABLES[name].table.split(".")  # type: ignore[attr-defined]
    table = getattr(settings.models if above else settings, last) or settings.llm
    return table.model_dump()
