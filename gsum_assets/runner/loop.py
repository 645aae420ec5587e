"""Evaluation of the automation conditions in this process until nothing is due, without a daemon.

One process at a time computes a corpus: the one whose lease has the turn.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import dagster as dg

from gsum_assets.automation.due import due, without_readers_of
from gsum_assets.automation.processes import CORPUS, FENCE, SENSOR, described, others_at_work
from gsum_assets.automation.staleness import Snapshot
from gsum_assets.runner.execute import (
    EMBEDDING_MODEL,
    RunResult,
    execute,
    partition_tags,
    targets,
)
from gsum_assets.runner.followers import followers
from gsum_assets.runner.pipeline import Pipeline
from gsum_assets.runner.report import Left, RefreshError, RunReport, Watch
from gsum_resources.dagster_io.dagster_private import AssetGraph
from gsum_resources.dagster_io.launcher import CONTINUES
from gsum_resources.protocols.models import ModelUnavailableError
from gsum_resources.state.leases import HeldLease

_WAIT_S = 2.0


@dataclass
class Loop:
    """A refresh whose turn it is.

    Attributes
    ----------
    report : where results are noted.
    check_models : see `refresh`.
    within : run of the daemon in whose process this happens. Then nothing is waited for: the daemon
        does later what cannot be done now.
    """

    pipeline: Pipeline
    instance: dg.DagsterInstance
    lease: HeldLease
    report: RunReport
    watch: Watch
    check_models: bool
    within: dg.DagsterRun | None = None

    def materialize(self, new_snapshot: Callable[[], Snapshot]) -> Left:
        """Materialize what is due until nothing is; return what could not be.

        Only the warehouse decides when this is finished.
        """
        corpus = self.lease.corpus
        graph = self.pipeline.definitions.resolve_asset_graph()
        while True:
            # before the snapshot, so that what depends on a run that ends meanwhile is due in it
            others = others_at_work(self.instance, graph, self.lease)
            snapshot = new_snapshot()
            self.watch.expect(snapshot, corpus)
            n_results = len(self.report.results)
            for result in self._round(graph, snapshot):
                self.report.results.append(result)
                self.watch.on_end(result)
            if len(self.report.results) > n_results:
                continue
            left = snapshot.left(corpus)
            if not left or not others or self.within:
                return left
            self.watch.on_wait(described(others))
            time.sleep(_WAIT_S)

    def _round(self, graph: AssetGraph, snapshot: Snapshot) -> Iterator[RunResult]:
        """Materialize what is due now.

        The fence is checked before each run and each step, so that a process that was paused pays
        for nothing that another one is paying for. A late write needs no check: it is atomic, and
        equal to that of the other process.
        """
        tags = {CORPUS: self.lease.corpus, FENCE: self.lease.fence}
        if self.within:
            # not started again by the daemon, also after a cancellation: the conditions decide
            tags |= {CONTINUES: self.within.run_id, "dagster/max_retries": "0"}
            tags[SENSOR] = self.within.tags[SENSOR]  # else the UI shows "manually launched"
        for request in due(graph, self.instance, self.lease.corpus, snapshot):
            keys = _possible(graph, request, self.report)
            if not keys:
                continue
            chosen = partition_tags(self.pipeline, self.instance, request, keys)
            _, partitions = targets(self.pipeline, self.instance, keys, chosen)
            later = followers(graph, snapshot, keys, partitions)
            if unavailable := _unavailable(self.report):
                chain = dg.RunRequest(asset_selection=[*keys, *later])
                readable = without_readers_of(unavailable, graph, chain)
                later = [key for key in later if key in readable]
            if self.check_models and not self.report.results:
                try:
                    self.pipeline.models.check()
                except ModelUnavailableError as error:
                    raise RefreshError(str(error)) from error
            self._check()
            yield execute(
                self.pipeline,
                self.instance,
                tags | chosen,
                keys,
                later,
                self.watch.on_start,
                self._step,
                self.watch.on_wait,
            )

    def _step(self, asset: str) -> None:
        self._check()
        self.watch.step(asset)

    def _check(self) -> None:
        """Raise an error if another process has taken over, or the daemon's run was cancelled.

        A cancellation ends the run within that run, which alone receives the signal.
        """
        self.lease.check()
        if self.within:
            run = self.instance.get_run_by_id(self.within.run_id)
            if run is None or run.status == dg.DagsterRunStatus.CANCELING:
                raise KeyboardInterrupt


def _possible(
    graph: AssetGraph, request: dg.RunRequest, report: RunReport
) -> Sequence[dg.AssetKey]:
    """Return the assets of a request that can be materialized with the available models."""
    wanted = without_readers_of((), graph, request)
    if not (unavailable := _unavailable(report)):
        return wanted
    possible = without_readers_of(unavailable, graph, request)
    report.not_materialized |= {key.to_user_string() for key in wanted if key not in possible}
    return possible


def _unavailable(report: RunReport) -> set[dg.AssetKey]:
    """Return the models that were unavailable and that their readers cannot do without."""
    unavailable = {result.unavailable for result in report.results if result.unavailable}
    return unavailable - {EMBEDDING_MODEL}  # also an input of methods that need no vectors
