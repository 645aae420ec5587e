"""Models and settings as resources that the configuration of a run may replace, for that run alone.

What a run writes with another model or setting says so in its footer, so that the next refresh
computes it again. Tables in which rows of two models would be side by side are refused.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import dagster as dg
from pydantic import BaseModel, Field, create_model

from gsum_assets.pipeline.columns import DOCUMENT_LEVEL
from gsum_assets.pipeline.corpus_settings import SETTINGS_FILE, checked_section
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.registry.declared import STEPS, Declared, work_of
from gsum_resources.dagster_io.models_io import ModelsIO
from gsum_resources.dagster_io.overrides import OverrideError, Overrides
from gsum_resources.dagster_io.resources import MODELS, SETTINGS
from gsum_resources.dagster_io.settings_io import SettingsIO
from gsum_resources.dagster_io.settings_resources import (
    RESOURCE_OF,
    described,
    model_resources,
    models_of_run,
)
from gsum_resources.models.by_work import Models
from gsum_resources.settings.schema import SETTINGS_FILE as MODELS_FILE
from gsum_resources.store.input_key import InputKey
from gsum_resources.store.lineage import Reads

_OF_INDEX = ("embedding_model", "passage_scorer")
_BY_DOCUMENTS = {declared.name for declared in STEPS if declared.level == DOCUMENT_LEVEL}


def objection(asset: str, key: InputKey) -> str | None:
    """Return why a run may not write an asset with another version of a model or setting."""
    if key.kind == "model" and key.name in _OF_INDEX:
        return (
            f"{asset}: passages and questions need the same {key.name}, so that one run cannot "
            f"replace it; set it in {MODELS_FILE}"
        )
    if asset in _BY_DOCUMENTS:
        file = MODELS_FILE if key.kind == "model" else SETTINGS_FILE
        return (
            f"{asset}: {key} differs in this run, and other buckets of the corpus would keep rows "
            f"of the usual one; set it in {file}"
        )
    return None


def refuse_uniting(declared: Declared, models: ModelsIO, settings: SettingsIO) -> None:
    """Raise `OverrideError` if a step would unite results of this run with those of others."""
    replaced = [name for name in models.replaced if name != "judge_model"]
    if declared.step.unites and (replaced or settings.is_replaced):
        names = ", ".join([*replaced, *([SETTINGS_FILE] if settings.is_replaced else [])])
        raise OverrideError(
            f"{declared.name} unites the results of all methods, which other runs compute; leave "
            f"it out of a run with other values of {names}"
        )


def run_resources(
    models: Models,
    section: Callable[..., Any],
    tables: Mapping[str, type[BaseModel]],
    reads: Reads,
) -> dict[str, Any]:
    """Return the resources of models and settings.

    Parameters
    ----------
    section : see `Workspace.section`.
    tables : schema of the tables of `corpus.toml` that a run may replace, by name.
    reads : what the steps read.
    """
    overrides = Overrides(reads, objection)

    @dg.io_manager(
        required_resource_keys=set(RESOURCE_OF.values()),
        description="The models of a run, with memo, ledger and budget: each is configured by a "
        "resource of its own, " + ", ".join(RESOURCE_OF.values()) + ".",
    )
    def gsum_models(context: dg.InitResourceContext) -> ModelsIO:
        of_run = models_of_run(models, context.resources)
        return ModelsIO(of_run, reads, TABLES["embedding_calls"], work_of, models, overrides)

    def of_corpus(given: Mapping[str, Mapping[str, Any]]) -> SettingsIO:
        for name, values in given.items():
            checked_section(tables[name], name, values, f"run configuration of {SETTINGS}")
        read = partial(section, replaced=given) if given else section
        return SettingsIO(read, reads, section, overrides)

    return {
        **model_resources(models.settings),
        MODELS: gsum_models,
        SETTINGS: _settings_resource(tables, of_corpus),
    }


def _settings_resource(
    tables: Mapping[str, type[BaseModel]],
    opened: Callable[[Mapping[str, Mapping[str, Any]]], SettingsIO],
) -> dg.ConfigurableIOManagerFactory:
    class OfCorpora(dg.ConfigurableIOManagerFactory):
        def create_io_manager(self, context: dg.InitResourceContext) -> SettingsIO:
            return opened({name: keys for name in tables if (keys := getattr(self, name))})

    fields: Any = {
        name: (dict[str, Any], Field(default={}, description=_keys(schema)))
        for name, schema in tables.items()
    }
    made = create_model("CorpusSettings", __base__=OfCorpora, __module__=__name__, **fields)
    made.__doc__ = (
        f"Tables of {SETTINGS_FILE}. The values are those of each corpus; keys given here replace "
        "them in this run alone, and what it writes is out of date afterwards."
    )
    return made()


def _keys(schema: type[BaseModel]) -> str:
    """Return the keys of a table with their meanings, in Markdown."""
    summary = " ".join((schema.__doc__ or "").split())
    return "\n".join([summary, *(f"- `{key}`: {text}" for key, text in _meanings("", schema))])


def _meanings(path: str, schema: type[BaseModel]) -> Iterator[tuple[str, str]]:
    for key, (meaning, default) in described(schema).items():
        if isinstance(default, BaseModel):
            yield from _meanings(f"{path}{key}.", type(default))
        else:
            yield f"{path}{key}", meaning
