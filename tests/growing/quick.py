"""Leaves out of a run what no table shows: pictures, checks, catalogue, logs, plans made twice."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import FunctionType, ModuleType

import dagster as dg
import pytest

from gsum_assets import definitions
from gsum_assets.definitions import Pipeline
from gsum_resources import warehouse_io

_PLOTS = ("gsum_assets.plots.", "gsum_assets.lightpal.plots", "gsum_assets.gor.plots")
_PLOTS += ("gsum_assets.graphrag.plots", "gsum_assets.jerr.plots", "gsum_assets.gae.plots")


@contextmanager
def without_what_no_table_shows() -> Iterator[None]:
    """No pictures, checks, catalogue and logs on the console while the context lasts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(definitions, "checks_of", lambda *_: [])
        patch.setattr(warehouse_io, "build_catalogue", lambda *_: None)
        for module, name in list(_pictures()):
            patch.setattr(module, name, lambda *_, **__: b"")
        patch.setattr(logging.getLogger("dagster"), "disabled", True)
        yield


def _pictures() -> Iterator[tuple[ModuleType, str]]:
    """Where a function that draws is known under a name."""
    for module in list(sys.modules.values()):
        if module.__name__.startswith("gsum_assets."):
            for name, value in vars(module).items():
                if (
                    isinstance(value, FunctionType)
                    and value.__module__.startswith(_PLOTS)
                    and value.__annotations__.get("return") is bytes
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
