"""Scheduled retraining, since new documents do not make a trained model out of date."""

from collections.abc import Callable, Iterator, Sequence

import dagster as dg

from gsum_resources.dagster_io.dagster_private import UnresolvedAssetJobDefinition

TRAINED = (
    dg.AssetKey(["gor", "model"]),
    dg.AssetKey(["gor", "training_log"]),
    dg.AssetKey(["gae", "model"]),
    dg.AssetKey(["gae", "training_log"]),
    dg.AssetKey(["evidence", "model"]),
    dg.AssetKey(["evidence", "training_log"]),
)
"""Assets that a training writes; those named `model` are the models."""

MODEL_KEYS = tuple(key for key in TRAINED if key.path[-1] == "model")

_NAMES = {
    "gor": ("retrain_models", "retrain_weekly"),
    "gae": ("retrain_gae", "retrain_gae_weekly"),
    "evidence": ("retrain_evidence", "retrain_evidence_weekly"),
}
"""Job and schedule of each method; the assets of a job must have the same partitions."""


def retraining(
    model: dg.AssetKey, present: Callable[[], Sequence[str]], cron: str, timezone: str
) -> tuple[UnresolvedAssetJobDefinition, dg.ScheduleDefinition]:
    """Return the job that retrains one model, and the schedule that starts it for every model.

    On one processor the same graphs give bitwise equal weights; then nothing that depends on them
    is recomputed.

    Parameters
    ----------
    model : one of `MODEL_KEYS`.
    present : returns the partition keys of the existing models of the method.
    cron, timezone : time of the schedule.
    """
    job_name, schedule_name = _NAMES[model.path[0]]
    job = dg.define_asset_job(
        job_name,
        dg.AssetSelection.assets(*(key for key in TRAINED if key.path[0] == model.path[0])),
        description="Retrains the chosen models on all current documents; what depends on them "
        "is then recomputed.",
    )

    @dg.schedule(
        name=schedule_name,
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
