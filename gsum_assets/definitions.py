"""The Definitions object of a home."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import dagster as dg

from gsum_assets.answering.workspace import Workspace, open_workspace
from gsum_assets.dagster_assets.build import asset_of
from gsum_assets.dagster_assets.jobs import asset_jobs, forget_job, schedules, upkeep_job
from gsum_assets.dagster_assets.partitions import GSUM
from gsum_assets.dagster_assets.run_resource import run_resource
from gsum_assets.dagster_assets.sources import external_assets, sources_asset
from gsum_assets.dagster_assets.watch import watch_corpora
from gsum_assets.registry.declared import STEPS
from gsum_resources.dagster_io.instance import refuse_temporary_instance
from gsum_resources.settings.home import Home


def definitions_of(
    workspace: Workspace,
    is_presented: bool = True,
    owners: Sequence[str] = (),
    upstream: Sequence[dg.AssetKey] = (),
    executor: dg.ExecutorDefinition | None = None,
) -> dg.Definitions:
    """Return the assets, jobs, sensor and schedules of a home.

    Parameters
    ----------
    is_presented : whether runs add what no table shows: plots, previews, the catalogue.
    owners : of the assets, besides those of `[dagster]` in `gsum.toml`.
    upstream : assets of others that write the folders, on which `documents` depends in the lineage.
    executor : of the jobs over assets; None: as `[automation] steps_at_once` says.
    """
    settings = workspace.home.settings()
    facts = settings.dagster.model_copy(
        update={"owners": list(dict.fromkeys([*settings.dagster.owners, *owners]))}
    )
    executor = executor or _executor(settings.automation.steps_at_once)
    jobs = [*asset_jobs(executor), forget_job, upkeep_job]
    return dg.Definitions(
        assets=[
            *external_assets,
            sources_asset(),
            *(asset_of(declared, facts, upstream) for declared in STEPS),
        ],
        jobs=jobs,
        sensors=[watch_corpora(workspace, jobs)],
        schedules=schedules(workspace),
        executor=executor,
        resources={GSUM: run_resource(workspace, is_presented)},
    )


def _executor(steps_at_once: int) -> dg.ExecutorDefinition:
    """Return Dagster's executor for some steps side by side."""
    if steps_at_once == 1:
        return dg.in_process_executor
    return dg.multiprocess_executor.configured({"max_concurrent": steps_at_once})


defs: dg.Definitions
"""The definitions of the home that the environment names, made when they are first read."""


@cache
def _of_environment() -> dg.Definitions:
    home = Home.from_environment()
    refuse_temporary_instance(home)
    return definitions_of(open_workspace(home))


def __getattr__(name: str) -> Any:
    if name != "defs":
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return _of_environment()


def __dir__() -> list[str]:
    return sorted({*globals(), "defs"})  # Dagster looks for Definitions among these names
