"""Evaluates the sensors as the daemon does, and runs what they request, one run after the other."""

import io
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass, field

import dagster as dg
from dagster._core.definitions.automation_tick_evaluation_context import (
    build_run_requests_with_backfill_policies,
)
from dagster._core.definitions.partitions.context import partition_loading_context
from dagster._core.definitions.sensor_definition import SensorExecutionData

from gsum_assets.automation.due import _independent
from gsum_assets.automation.jobs import REINDEX_EVERYTHING
from gsum_assets.definitions import Pipeline
from tests.pipeline.daemon import QUIET, carry_out

_MOST_TICKS = 60  # a chain of assets needs no more


@dataclass
class Daemon:
    """State of the daemon between two ticks: the cursor of each sensor."""

    cursors: dict[str, str | None] = field(default_factory=dict)

    def work(self, pipeline: Pipeline, instance: dg.DagsterInstance, try_again: bool) -> int:
        """Tick until nothing is requested any more; how many runs it took.

        Parameters
        ----------
        try_again : as the nightly schedule does, before.

        Raises
        ------
        AssertionError
            If a run fails, or there is no end.
        """
        if try_again:
            job = pipeline.definitions.resolve_job_def(REINDEX_EVERYTHING)
            assert job.execute_in_process(instance=instance, run_config=QUIET).success
        watched = self._tick(pipeline, instance, "watch_corpora")
        for run in carry_out(watched, pipeline, instance):
            assert run.success
        return sum(1 for _ in self._runs(pipeline, instance))

    def _runs(self, pipeline: Pipeline, instance: dg.DagsterInstance) -> Iterator[str]:
        for _ in range(_MOST_TICKS):
            results = self.evaluate(pipeline, instance)
            if not results:
                return
            for result in results:
                assert result.success
                yield result.run_id
        raise AssertionError(f"after {_MOST_TICKS} ticks the daemon still requests runs")

    def evaluate(
        self, pipeline: Pipeline, instance: dg.DagsterInstance
    ) -> list[dg.ExecuteInProcessResult]:
        """Evaluate the conditions once, and execute the runs that are requested."""
        job = pipeline.definitions.resolve_implicit_global_asset_job_def()
        requests = self._tick(pipeline, instance, "keep_current").run_requests or ()
        return [
            job.execute_in_process(
                instance=instance,
                asset_selection=list(request.asset_selection or ()),
                partition_key=request.partition_key,
                tags=dict(request.tags),
                run_config=QUIET,
                raise_on_error=False,
            )
            for request in _each_run(requests, pipeline, instance)
        ]

    def _tick(
        self, pipeline: Pipeline, instance: dg.DagsterInstance, name: str
    ) -> SensorExecutionData:
        context = dg.build_sensor_context(
            instance=instance, cursor=self.cursors.get(name), definitions=pipeline.definitions
        )
        with redirect_stderr(io.StringIO()):  # where a sensor logs
            result = pipeline.definitions.resolve_sensor_def(name).evaluate_tick(context)
        self.cursors[name] = result.cursor
        return result


def _each_run(
    requests: Sequence[dg.RunRequest], pipeline: Pipeline, instance: dg.DagsterInstance
) -> Iterator[dg.RunRequest]:
    """The runs of requests, also of those that Dagster splits in its backfill daemon."""
    graph = pipeline.definitions.resolve_asset_graph()
    for request in requests:
        if request.asset_graph_subset is None:
            yield request
            continue
        assets_of = defaultdict(set)
        for one in request.asset_graph_subset.iterate_asset_partitions():
            assets_of[graph.get(one.asset_key).partitions_def, one.partition_key].add(one.asset_key)
        for wanted in _independent(assets_of, graph.toposorted_asset_keys):
            with partition_loading_context(dynamic_partitions_store=instance):
                yield from build_run_requests_with_backfill_policies(wanted, graph, instance)
