"""Decisions of the daemon, evaluated in the test's own process."""

import logging
import time

import dagster as dg
from dagster._core.definitions.asset_daemon_cursor import AssetDaemonCursor
from dagster._core.definitions.declarative_automation.automation_condition_evaluator import (
    AutomationConditionEvaluator,
)
from dagster._core.definitions.sensor_definition import SensorExecutionData
from dagster._core.remote_origin import (
    ManagedGrpcPythonEnvCodeLocationOrigin,
    RemoteInstigatorOrigin,
    RemoteRepositoryOrigin,
)
from dagster._core.scheduler.instigation import (
    InstigatorState,
    InstigatorStatus,
    InstigatorType,
    SensorInstigatorData,
)
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin
from dagster._daemon.types import DaemonHeartbeat

from gsum_assets.automation.daemon import KEEP_CURRENT
from gsum_assets.automation.jobs import REINDEX_EVERYTHING
from gsum_assets.definitions import Pipeline
from gsum_resources.dagster_io.warehouse_io import partition_of
from gsum_resources.store.parquet_store import Partition

AssetPartition = tuple[str, Partition]
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


def beat(instance: dg.DagsterInstance, seconds_ago: float = 0.0) -> None:
    """Record a heartbeat of a daemon."""
    sent = time.time() - seconds_ago
    instance.add_daemon_heartbeat(DaemonHeartbeat(sent, "QUEUED_RUN_COORDINATOR", "id", []))


def serve(
    instance: dg.DagsterInstance, evaluated: float = 0.0, is_switched_off: bool = False
) -> None:
    """Record what a daemon records that serves gsum_assets.definitions.

    Parameters
    ----------
    evaluated : when it last evaluated the conditions, Unix time.
    """
    beat(instance)
    target = LoadableTargetOrigin(module_name="gsum_assets.definitions")
    location = ManagedGrpcPythonEnvCodeLocationOrigin(target, "gsum")
    sensor = RemoteInstigatorOrigin(
        RemoteRepositoryOrigin(location, "__repository__"), KEEP_CURRENT
    )
    data = SensorInstigatorData(min_interval=15, last_tick_start_timestamp=evaluated)
    status = InstigatorStatus.STOPPED if is_switched_off else InstigatorStatus.DECLARED_IN_CODE
    state = InstigatorState(sensor, InstigatorType.SENSOR, status, data)
    if instance.all_instigator_state():
        instance.update_instigator_state(state)
    else:
        instance.add_instigator_state(state)


def requested(pipeline: Pipeline, instance: dg.DagsterInstance) -> set[AssetPartition]:
    """Return the assets that the daemon would start now.

    As `dg.evaluate_automation_conditions` returns it, without the cursor: see `automation.due`.
    """
    graph = pipeline.definitions.resolve_asset_graph()
    evaluator = AutomationConditionEvaluator(
        asset_graph=graph,
        instance=instance,
        entity_keys={k for k in graph.get_all_asset_keys() if graph.get(k).automation_condition},
        evaluation_id=0,
        cursor=AssetDaemonCursor.empty(),
        emit_backfills=False,
        logger=logging.getLogger(__name__),
    )
    results, _ = evaluator.evaluate()
    return {
        (found.key.to_user_string(), partition_of(key))
        for found in results
        for key in found.true_subset.expensively_compute_partition_keys()
    }


def start(
    pipeline: Pipeline, instance: dg.DagsterInstance, wanted: AssetPartition
) -> dg.ExecuteInProcessResult:
    """Make an asset of a method, and those that come with it, as the daemon does: untagged."""
    asset, partition = wanted
    graph = pipeline.definitions.resolve_asset_graph()
    together = graph.get(dg.AssetKey.from_user_string(asset)).execution_set_asset_keys
    keys = {"corpus": partition.corpus, "method": partition.method or ""}
    return pipeline.definitions.resolve_implicit_global_asset_job_def().execute_in_process(
        instance=instance,
        asset_selection=list(together),
        partition_key=dg.MultiPartitionKey(keys),
        raise_on_error=False,
    )


def carry_out(
    result: dg.SensorResult | SensorExecutionData, pipeline: Pipeline, instance: dg.DagsterInstance
) -> list[dg.ExecuteInProcessResult]:
    """Do what a sensor's result requests, as the daemon does: first the partitions, then the runs.

    Runs without a job name are left out, those of the conditions.
    """
    for change in result.dynamic_partitions_requests or ():
        assert isinstance(change, dg.AddDynamicPartitionsRequest)
        instance.add_dynamic_partitions(change.partitions_def_name, list(change.partition_keys))
    return [
        pipeline.definitions.resolve_job_def(request.job_name).execute_in_process(
            instance=instance, tags=dict(request.tags), run_config=QUIET
        )
        for request in result.run_requests or ()
        if request.job_name
    ]


def reindex(
    pipeline: Pipeline, instance: dg.DagsterInstance, tags: dict[str, str] | None = None
) -> None:
    """Run the job that re-indexes everything, as a person starts it."""
    job = pipeline.definitions.resolve_job_def(REINDEX_EVERYTHING)
    assert job.execute_in_process(instance=instance, tags=tags or {}).success
