"""The Definitions object of a home."""

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any

import dagster as dg

from gsum_assets.answering.workspace import Workspace, open_workspace
from gsum_assets.dagster_assets.build import asset_of
from gsum_assets.dagster_assets.jobs import (
    SOURCES,
    asset_jobs,
    forget_job,
    keys_of,
    schedules,
    upkeep_job,
)
from gsum_assets.dagster_assets.partitions import GSUM
from gsum_assets.dagster_assets.run_resource import run_resource
from gsum_assets.dagster_assets.sources import external_assets, sources_asset
from gsum_assets.dagster_assets.watch import watch_corpora
from gsum_assets.registry.declared import ORDERED
from gsum_assets.registry.families import METHODS
from gsum_resources.dagster_io.instance import refuse_temporary_instance
from gsum_resources.settings.home import Home
from gsum_resources.settings.schema import AutomationSettings


def definitions_of(
    workspace: Workspace,
    is_presented: bool = True,
    upstream: Sequence[dg.AssetKey] = (),
    families: Collection[str] | None = None,
    cron_of: Mapping[str, str] = MappingProxyType({}),
) -> dg.Definitions:
    """Return the assets, jobs, sensor and schedules of a home.

    Parameters
    ----------
    is_presented : whether runs add what no table shows: plots, the catalogue.
    upstream : assets of others that write the folders, on which `source_documents` depends.
    families : of methods whose assets are included; None: all.
    cron_of : cron lines of the corpora that the schedule `nightly` leaves out.
    """
    settings = workspace.home.settings()
    chosen = METHODS.families if families is None else families
    methods = [method for family in chosen for method in METHODS.families[family]]
    defined = [declared for declared in ORDERED if declared.is_needed(methods)]
    assets = {*SOURCES, *keys_of(defined)}
    executor = _executor(settings.automation)
    jobs = [*asset_jobs(executor, defined), forget_job, upkeep_job]
    return dg.Definitions(
        assets=[
            *external_assets,
            sources_asset(upstream),
            *(asset_of(declared, assets) for declared in defined),
        ],
        jobs=jobs,
        sensors=[watch_corpora(workspace, jobs, defined)],
        schedules=schedules(workspace, defined, cron_of),
        resources={GSUM: run_resource(workspace, is_presented)},
    )


def _executor(settings: AutomationSettings) -> dg.ExecutorDefinition:
    """Return Dagster's executor for so many steps side by side."""
    if settings.steps_at_once == 1:
        return dg.in_process_executor
    return dg.multiprocess_executor.configured({"max_concurrent": settings.steps_at_once})


defs: dg.Definitions
"""The definitions of the home that the environment names, made when they are first read."""


@cache
def _of_environment() -> dg.Definitions:
    home = Home.from_environment()
    refuse_temporary_instance(home)
    of_selections = dg.Definitions(executor=_executor(home.settings().automation))
    return dg.Definitions.merge(definitions_of(open_workspace(home)), of_selections)


def __getattr__(name: str) -> Any:
    if name != "defs":
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return _of_environment()


def __dir__() -> list[str]:
    return sorted({*globals(), "defs"})  # Dagster looks for Definitions among these names
