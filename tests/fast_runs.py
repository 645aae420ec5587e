"""Spares runs in tests work that Dagster repeats for each of them, and that no test reads."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache

import dagster as dg
import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory
from dagster._core.execution.context.data_version_cache import DataVersionCache
from dagster._core.storage.event_log import SqliteEventLogStorage

from gsum_assets.dagster_assets.run_resource import INDEX_JOB
from gsum_assets.runner.run import Pipeline
from gsum_resources.store import parquet_store

_UNREAD = frozenset(
    {
        dg.DagsterEventType.LOADED_INPUT,
        dg.DagsterEventType.STEP_INPUT,
        dg.DagsterEventType.STEP_OUTPUT,
        dg.DagsterEventType.HANDLED_OUTPUT,
    }
)


@contextmanager
def without_records() -> Iterator[None]:
    """Leave out of Dagster's records what only its UI shows, while the context lasts.

    These are the graph of each run's job (all share that of an empty job), the versions that
    Dagster gives to the inputs of a step (gsum reads its own, from the files), and the events on
    inputs and outputs (what a step materialized is recorded). Files are read without threads.
    """
    index = _empty.get_job_index()
    store_event = SqliteEventLogStorage.store_event

    def no_versions(self: DataVersionCache, keys: Sequence[dg.AssetKey]) -> None:
        self.input_asset_version_info.update(dict.fromkeys(keys))

    def store_if_read(self: SqliteEventLogStorage, event: dg.EventLogEntry) -> None:
        if event.dagster_event is None or event.dagster_event.event_type not in _UNREAD:
            store_event(self, event)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dg.JobDefinition, "get_job_index", lambda _: index)
        patch.setattr(DataVersionCache, "_fetch_input_asset_version_info", no_versions)
        patch.setattr(SqliteEventLogStorage, "store_event", store_if_read)
        patch.setattr(parquet_store, "ThreadPoolExecutor", _OneByOne)
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


def keep_plans(pipeline: Pipeline) -> Pipeline:
    """Let Dagster plan the same choice of assets once, and not for every run."""
    job = pipeline.definitions.resolve_job_def(INDEX_JOB)
    if "as_ephemeral_job" in vars(job):
        return pipeline
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
