"""Scheduled retraining, since new documents do not make a trained model out of date."""

from collections.abc import Callable, Iterator, Sequence

import dagster as dg

from gsum_assets.registry.declared import Declared
from gsum_resources.dagster_io.dagster_private import UnresolvedAssetJobDefinition


def retraining(
    declared: Declared, present: Callable[[], Sequence[str]], cron: str, timezone: str
) -> tuple[UnresolvedAssetJobDefinition, dg.ScheduleDefinition]:
    """Return the job that retrains one model, and the schedule that starts it for every model.

    On one processor the same graphs give bitwise equal weights; then nothing that depends on them
    is recomputed.

    Parameters
    ----------
    declared : a step with `retraining`.
    present : returns the partition keys of the existing models of the method.
    cron, timezone : time of the schedule.
    """
    names = declared.step.retraining
    assert names, f"{declared.name} trains nothing"
    job = dg.define_asset_job(
        names.job,
        dg.AssetSelection.assets(*(declared.path(table) for table in declared.step.writes)),
        description="Retrains the chosen models on all current documents; what depends on them "
        "is then recomputed.",
    )

    @dg.schedule(
        name=names.schedule,
        job=job,
        cron_schedule=cron,
        execution_timezone=timezone,
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description="Retrains every model, one run for each, since new documents use existing "
        "models unchanged. Set its time in gsum.toml, [automation].",
    )
    def retrain(
        context: dg.ScheduleEvaluationContext,
    ) -> Iterator[dg.RunRequest | dg.SkipReason]:
        keys = present()
        if not keys:
            yield dg.SkipReason(f"no corpus has a network of {declared.group} to train again")
        for key in keys:
            yield dg.RunRequest(
                run_key=f"{context.scheduled_execution_time}/{key}", partition_key=key
            )

    return job, retrain
