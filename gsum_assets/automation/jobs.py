"""Jobs that can be started in the UI, and schedules."""

from collections.abc import Mapping
from typing import Any

import dagster as dg

from gsum_assets.automation.attempts import EVERY_CORPUS, TRY_AGAIN
from gsum_resources.dagster_io.dagster_private import (
    UnresolvedAssetJobDefinition,
    build_asset_job,
    get_asset_graph_for_job,
)
from gsum_resources.settings.schema import AutomationSettings

OBSERVE_SOURCES = "observe_sources"
REINDEX_EVERYTHING = "reindex_everything"
CHECK_EVERYTHING = "check_everything"
RECONCILE_CORPORA = "reconcile_corpora"
FORGET_CORPUS = "forget_corpus"
ACCEPT_MODELS = "accept_models"


class _ObservingJob(UnresolvedAssetJobDefinition):
    """An asset job over assets of different partitions.

    Dagster allows this only for its own unnamed job; it is safe here, since an observation takes
    no partition.
    """

    def resolve(
        self,
        asset_graph: Any,
        default_executor_def: dg.ExecutorDefinition | None = None,
        resource_defs: Mapping[str, dg.ResourceDefinition] | None = None,
    ) -> dg.JobDefinition:
        chosen = get_asset_graph_for_job(
            asset_graph, self.selection, allow_different_partitions_defs=True
        )
        return build_asset_job(
            self.name,
            chosen,
            allow_different_partitions_defs=True,
            resource_defs=resource_defs,
            description=self.description,
            tags=self.tags,
            executor_def=self.executor_def,
        )


def jobs(
    observed: dg.AssetSelection, checks: dg.AssetSelection, executor: dg.ExecutorDefinition
) -> list[UnresolvedAssetJobDefinition]:
    """Return the jobs that an operator may start.

    Parameters
    ----------
    observed : the sources and the models.
    checks : all checks of gsum's assets.
    executor : of observations; in one process, as a process for each source costs seconds.
    """
    return [
        _ObservingJob(
            OBSERVE_SOURCES,
            observed,
            executor_def=executor,
            description="Observes all corpora and models; what depends on a change is then "
            "recomputed by the sensor keep_current.",
        ),
        _ObservingJob(
            REINDEX_EVERYTHING,
            observed,
            executor_def=executor,
            description="Observes all corpora and models, and requests a retry of everything that "
            "failed or is incomplete.",
            tags={TRY_AGAIN: EVERY_CORPUS},
        ),
        dg.define_asset_job(
            CHECK_EVERYTHING,
            checks,
            executor_def=dg.in_process_executor,
            description="Runs every check of every table: schema, keys, lineage, completeness.",
        ),
    ]


def schedules(settings: AutomationSettings) -> list[dg.ScheduleDefinition]:
    """Return the schedules of observation and retries; they run unless switched off in the UI."""
    return [
        dg.ScheduleDefinition(
            name="observe_sources_hourly",
            job_name=OBSERVE_SOURCES,
            cron_schedule="30 * * * *",
            default_status=dg.DefaultScheduleStatus.RUNNING,
            description="Detects changes that watching the folders does not: a changed model, a "
            "file replaced by one of the same size and time.",
        ),
        dg.ScheduleDefinition(
            name="reconcile_corpora_hourly",
            job_name=RECONCILE_CORPORA,
            cron_schedule="50 * * * *",
            default_status=dg.DefaultScheduleStatus.RUNNING,
            description="Lets Dagster's record of materializations follow the warehouse.",
        ),
        dg.ScheduleDefinition(
            name="reindex_nightly",
            job_name=REINDEX_EVERYTHING,
            cron_schedule=settings.nightly,
            execution_timezone=settings.timezone,
            default_status=dg.DefaultScheduleStatus.RUNNING,
            description="Observes everything, and retries what failed. Set its time in gsum.toml, "
            "[automation].",
        ),
    ]
