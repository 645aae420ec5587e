"""Leaves out of a run what no table shows: pictures, checks, catalogue, threads."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from types import FunctionType, ModuleType

import dagster as dg
import pytest

from gsum_assets import definitions
from gsum_assets.definitions import Pipeline
from gsum_resources import parquet_store, warehouse_io

_PLOTS = tuple(
    f"gsum_assets.{name}.plots" for name in ("lightpal", "gor", "graphrag", "jerr", "gae")
)


@contextmanager
def tables_only() -> Iterator[None]:
    """No pictures, checks and catalogue while the context lasts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(definitions, "checks_of", lambda *_: [])
        patch.setattr(warehouse_io, "build_catalogue", lambda *_: None)
        patch.setattr(warehouse_io, "of_file", lambda *_: {})
        patch.setattr(warehouse_io, "of_all_corpora", lambda *_: {})
        patch.setattr(parquet_store, "ThreadPoolExecutor", _OneByOne)
        for module, name in list(_pictures()):
            patch.setattr(module, name, lambda *_, **__: b"")
        yield


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
                    and "bytes" in str(value.__annotations__.get("return"))
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
