"""Leaves out of a run what no table shows: pictures, checks, catalogue, threads, records."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from types import FunctionType, ModuleType

import dagster as dg
import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory
from dagster._core.execution.context.data_version_cache import DataVersionCache

from gsum_assets import definitions
from gsum_assets.definitions import Pipeline
from gsum_resources.dagster_io import warehouse_io
from gsum_resources.dagster_io.event_log import EventLog
from gsum_resources.store import parquet_store

_PLOTS = tuple(
    f"gsum_assets.{name}.plots" for name in ("lightpal", "gor", "graphrag", "jerr", "gae")
)

_UNREAD = frozenset(
    {
        dg.DagsterEventType.LOADED_INPUT,
        dg.DagsterEventType.STEP_INPUT,
        dg.DagsterEventType.STEP_OUTPUT,
        dg.DagsterEventType.HANDLED_OUTPUT,
    }
)


@contextmanager
def tables_only() -> Iterator[None]:
    """No pictures, checks and catalogue while the context lasts.

    Nor events on the inputs and outputs of a step: what it materialized is recorded.
    """
    store_event = EventLog.store_event

    def store_if_read(self: EventLog, event: dg.EventLogEntry) -> None:
        if event.dagster_event is None or event.dagster_event.event_type not in _UNREAD:
            store_event(self, event)

    with without_records(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(EventLog, "store_event", store_if_read)
        patch.setattr(definitions, "checks_of", lambda *_: [])
        patch.setattr(warehouse_io, "build_catalogue", lambda *_: None)
        patch.setattr(warehouse_io, "of_file", lambda *_: {})
        patch.setattr(warehouse_io, "of_all_corpora", lambda *_: {})
        patch.setattr(parquet_store, "ThreadPoolExecutor", _OneByOne)
        for module, name in list(_pictures()):
            patch.setattr(module, name, lambda *_, **__: b"")
        yield


@contextmanager
def without_records() -> Iterator[None]:
    """Leave out of Dagster's records what only its UI shows, while the context lasts.

    That are the graph of each run's job (all share that of an empty job) and the versions that
    Dagster gives to the inputs of a step; gsum reads its own, from the files.
    """
    index = _empty.get_job_index()

    def no_versions(self: DataVersionCache, keys: Sequence[dg.AssetKey]) -> None:
        self.input_asset_version_info.update(dict.fromkeys(keys))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dg.JobDefinition, "get_job_index", lambda _: index)
        patch.setattr(DataVersionCache, "_fetch_input_asset_version_info", no_versions)
        yield


@dg.job
def _empty() -> None:
    pass


class _OneByOne:
    """Reads files one after the other: for small ones, threads cost more than they save."""

    def __init__(self, _: int) -> None:
        self.map = map

    def __enter__(self) -> "_OneByOne":
        return self

    def __exit__(self, *_: object) -> None:
        pass


def _pictures() -> Iterator[tuple[ModuleType, str]]:
    """Where a function that draws is known under a name."""
    for name in _PLOTS:  # some are imported only when an asset draws
        import_module(name)
    for module in list(sys.modules.values()):
        if module.__name__.startswith("gsum_assets."):
            for name, value in vars(module).items():
                if (
                    isinstance(value, FunctionType)
                    and value.__module__.startswith((*_PLOTS, "gsum_assets.plots."))
                    and (
                        hasattr(value, "__wrapped__")
                        or value.__annotations__.get("return") is bytes
                    )
                ):
                    yield module, name


def keep_plans(pipeline: Pipeline) -> Pipeline:
    """Let Dagster plan the same choice of assets once, and not for every run."""
    job = pipeline.definitions.resolve_implicit_global_asset_job_def()
    plan = type(job).as_ephemeral_job

    @cache
    def planned(keys: tuple[dg.AssetKey, ...]) -> dg.JobDefinition:
        return plan(job, {}, {}, None, list(keys))

    job.as_ephemeral_job = lambda **how: planned(tuple(how["asset_selection"]))  # type: ignore[method-assign]
    return pipeline


def read_migrations_once() -> None:
    """Let Dagster read the list of its databases' migrations once, and not for every instance."""
    read = ScriptDirectory.from_config
    known: dict[tuple[str | None, ...], ScriptDirectory] = {}

    def from_config(config: Config) -> ScriptDirectory:
        name = config.config_file_name, config.get_main_option("script_location")
        if name not in known:
            known[name] = read(config)
        return known[name]

    ScriptDirectory.from_config = from_config  # type: ignore[method-assign]
