"""Scheduled retraining, since new documents do not make a trained model out of date."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import dagster as dg

from gsum_resources.dagster_private import UnresolvedAssetJobDefinition

RETRAIN_MODELS = "retrain_models"
RETRAIN_CORPUS_MODELS = "retrain_corpus_models"


TRAINED = (
    dg.AssetKey(["gor", "model"]),
    dg.AssetKey(["gor", "training_log"]),
    dg.AssetKey(["gae", "model"]),
    dg.AssetKey(["gae", "training_log"]),
)
"""Assets that a training writes; those named `model` are the models."""

MODEL_KEYS = tuple(key for key in TRAINED if key.path[-1] == "model")


class Retraining(NamedTuple):
    """A job that retrains one model, and the schedule that starts it for every model."""

    job: UnresolvedAssetJobDefinition
    schedule: dg.ScheduleDefinition


def retraining(
    job_name: str,
    schedule_name: str,
    trained: Sequence[dg.AssetKey],
    present: Callable[[dg.AssetKey], Sequence[str]],
    cron: str,
    timezone: str,
) -> Retraining:
    """Return the job that retrains one model, and the schedule that starts it for every model.

    On one processor the same corpus gives bitwise equal weights; then nothing that depends on them
    is recomputed.

    Parameters
    ----------
    trained : the assets that trainings write, of one kind of partitions, which a job must have.
    present : returns the partition keys in which a model exists.
    cron, timezone : time of the schedule.
    """
    job = dg.define_asset_job(
        job_name,
        dg.AssetSelection.assets(*trained),
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
        for model in (key for key in trained if key in MODEL_KEYS):
            family = [key for key in trained if key.path[0] == model.path[0]]
            for key in present(model):
                yield dg.RunRequest(
                    run_key=f"{context.scheduled_execution_time}/{model.path[0]}/{key}",
                    partition_key=key,
                    asset_selection=family,
                )

    return Retraining(job, retrain)
