"""Scheduled retraining, since new documents do not make a trained model out of date."""

from collections.abc import Callable, Iterator, Sequence

import dagster as dg

from gsum_resources.dagster_private import UnresolvedAssetJobDefinition

TRAINED = (
    *(dg.AssetKey(["gor", "model"]), dg.AssetKey(["gor", "training_log"])),
    *(dg.AssetKey(["evidence", "model"]), dg.AssetKey(["evidence", "training_log"])),
)
"""Assets that a training writes, for each method the model first."""

MODELS = tuple(key for key in TRAINED if key.path[-1] == "model")


def retraining(
    model: dg.AssetKey, present: Callable[[], Sequence[str]], cron: str, timezone: str
) -> tuple[UnresolvedAssetJobDefinition, dg.ScheduleDefinition]:
    """Return the job that retrains one model, and the schedule that starts it for every model.

    Each method has a job of its own, since the assets of a job have the same partitions. Those of
    `gor`, the first method with a model, are named without it.

    On one processor the same graphs give bitwise equal weights; then nothing that depends on them
    is recomputed.

    Parameters
    ----------
    model : one of `MODELS`.
    present : returns the partition keys of the existing models of the method.
    cron, timezone : time of the schedule.
    """
    method = model.path[0]
    is_first = model == MODELS[0]
    job = dg.define_asset_job(
        "retrain_models" if is_first else f"retrain_{method}",
        dg.AssetSelection.assets(*(key for key in TRAINED if key.path[0] == method)),
        description="Retrains the chosen models on all current documents; what depends on them "
        "is then recomputed.",
    )

    @dg.schedule(
        name="retrain_weekly" if is_first else f"retrain_{method}_weekly",
        job=job,
        cron_schedule=cron,
        execution_timezone=timezone,
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description="Retrains every model, one run for each, since new documents use existing "
        "models unchanged. Set its time in gsum.toml, [automation].",
    )
    def retrain(context: dg.ScheduleEvaluationContext) -> Iterator[dg.RunRequest]:
        for key in present():
            yield dg.RunRequest(
                run_key=f"{context.scheduled_execution_time}/{key}", partition_key=key
            )

    return job, retrain
