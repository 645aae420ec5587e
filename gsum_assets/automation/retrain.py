"""Training again on a schedule: new documents use a model as it is, so somebody must renew it."""

from collections.abc import Callable, Iterator, Sequence

import dagster as dg

from gsum_resources.dagster_private import UnresolvedAssetJobDefinition

RETRAIN_MODELS = "retrain_models"


TRAINED = (dg.AssetKey(["gor", "model"]), dg.AssetKey(["gor", "training_log"]))
"""What a training makes; the first is the model."""


def retraining(
    trained: dg.AssetSelection, present: Callable[[], Sequence[str]], cron: str, timezone: str
) -> tuple[UnresolvedAssetJobDefinition, dg.ScheduleDefinition]:
    """The job that trains one model again, and the schedule that starts it for every model.

    On one processor the same graphs give the same weights to the last bit: then nothing that
    depends on them is made again.

    Parameters
    ----------
    trained : the assets that a training makes.
    present : partition keys of the models that there are.
    cron, timezone : when.
    """
    job = dg.define_asset_job(
        RETRAIN_MODELS,
        trained,
        description="Trains the chosen models again, on all documents that there are now; what "
        "rests on them follows.",
    )

    @dg.schedule(
        name="retrain_weekly",
        job=job,
        cron_schedule=cron,
        execution_timezone=timezone,
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description="Trains every model again, one run a model, since new documents use it as it "
        "is. Set its time in gsum.toml, [automation].",
    )
    def retrain(context: dg.ScheduleEvaluationContext) -> Iterator[dg.RunRequest]:
        for key in present():
            yield dg.RunRequest(
                run_key=f"{context.scheduled_execution_time}/{key}", partition_key=key
            )

    return job, retrain
