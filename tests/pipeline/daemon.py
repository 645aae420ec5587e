"""Evaluates sensor and schedules as the daemon does, and runs what they request, one by one."""

import io
from collections.abc import Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass
from datetime import UTC, datetime

import dagster as dg

from gsum_assets.dagster_assets.run_resource import INDEX_JOB
from gsum_assets.runner.run import Pipeline

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
SENSOR = "watch_corpora"


@dataclass
class Daemon:
    """A daemon in this process; the cursor is what it keeps between two ticks."""

    cursor: str | None = None

    def look(self, pipeline: Pipeline, instance: dg.DagsterInstance) -> dg.SensorResult:
        """Evaluate the sensor, and return what it requests."""
        definitions = pipeline.definitions
        with (
            redirect_stderr(io.StringIO()),  # where a sensor logs
            dg.build_sensor_context(
                instance, cursor=self.cursor, repository_def=definitions.get_repository_def()
            ) as context,
        ):
            result = definitions.resolve_sensor_def(SENSOR)(context)
        if isinstance(result, dg.SkipReason):
            return dg.SensorResult(skip_reason=result, cursor=self.cursor)
        assert isinstance(result, dg.SensorResult)
        return result

    def tick(self, pipeline: Pipeline, instance: dg.DagsterInstance) -> dg.SensorResult:
        """Evaluate the sensor, and keep its cursor and the partitions that it adds."""
        result = self.look(pipeline, instance)
        self.cursor = result.cursor
        for change in result.dynamic_partitions_requests or ():
            assert isinstance(change, dg.AddDynamicPartitionsRequest)
            instance.add_dynamic_partitions(change.partitions_def_name, list(change.partition_keys))
        return result

    def work(
        self, pipeline: Pipeline, instance: dg.DagsterInstance
    ) -> list[dg.ExecuteInProcessResult]:
        """Tick once, and execute the runs that are requested."""
        requests = self.tick(pipeline, instance).run_requests or ()
        return [execute(pipeline, instance, request) for request in requests]


def scheduled(
    pipeline: Pipeline, instance: dg.DagsterInstance, schedule: str
) -> Sequence[dg.RunRequest]:
    """Return the runs that a tick of a schedule requests."""
    definitions = pipeline.definitions
    with (
        redirect_stderr(io.StringIO()),
        dg.build_schedule_context(
            instance, datetime.now(UTC), repository_def=definitions.get_repository_def()
        ) as context,
    ):
        found = definitions.resolve_schedule_def(schedule).evaluate_tick(context)
    return found.run_requests or ()


def execute(
    pipeline: Pipeline, instance: dg.DagsterInstance, request: dg.RunRequest
) -> dg.ExecuteInProcessResult:
    """Execute a requested run in this process, as a worker of the daemon does."""
    selected = {"asset_selection": list(s)} if (s := request.asset_selection) else {}
    job = pipeline.definitions.resolve_job_def(request.job_name or INDEX_JOB)
    return job.execute_in_process(
        instance=instance,
        partition_key=request.partition_key,
        tags=dict(request.tags),
        run_config={**request.run_config, **QUIET},
        raise_on_error=False,
        **selected,
    )
