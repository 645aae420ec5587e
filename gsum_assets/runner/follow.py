"""A `gsum run` beside a daemon, which computes what was requested; its runs are followed here.

Nothing is computed in this process, and nothing that the daemon has begun is changed, except that
queued runs which the named methods need go to the front of Dagster's queue.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import dagster as dg

from gsum_assets.automation.daemon import (
    HEARTBEAT_S,
    KEEP_CURRENT,
    Evaluations,
    backfills_on,
    evaluations_by_daemon,
)
from gsum_assets.automation.processes import SENSOR, runs_on
from gsum_assets.automation.staleness import Snapshot
from gsum_assets.pipeline.finding import count
from gsum_assets.runner.execute import RunResult, result_of, targets
from gsum_assets.runner.pipeline import Pipeline
from gsum_assets.runner.report import Left, RefreshError, Watch, counted
from gsum_resources.state.leases import Leases
from gsum_resources.store.parquet_store import Partition

_POLL_S = 2.0
_MOST_IDLE = 3  # evaluations without a request, while something is due,
_IDLE_S = 60.0  # and seconds
_DAEMON = "the daemon, which computes this"
_PRIORITY = "dagster/priority"
_RETRIED = "dagster/will_retry"  # the daemon starts a run again whose worker died
_RETRY = "dagster/auto_retry_run_id"


class DaemonStoppedError(Exception):
    """The daemon whose runs are followed has stopped."""


def follow(
    pipeline: Pipeline,
    instance: dg.DagsterInstance,
    corpus: str,
    new_snapshot: Callable[[], Snapshot],
    watch: Watch,
) -> Iterator[RunResult]:
    """Yield the results of runs on a corpus, until all in scope is current or was given up.

    Raises
    ------
    DaemonStoppedError
        If the daemon stops.
    RefreshError
        If the daemon does not evaluate the conditions, or does not request what is due.
    """
    runs = _Runs(pipeline, instance, corpus, watch, time.time())
    began = last = time.time()
    snapshot, is_new, n_idle, busy = new_snapshot(), True, 0, began
    while True:
        evaluations = evaluations_by_daemon(instance)
        if evaluations is None:
            raise DaemonStoppedError
        results = runs.ended(snapshot)
        yield from results
        is_evaluated, last = evaluations.last > last, max(evaluations.last, last)
        if results or is_evaluated or is_new:
            snapshot, is_new = new_snapshot(), False
            watch.expect(snapshot, corpus)
            if not runs.under_way and is_settled(snapshot, corpus):
                return
        waits_for = _waits_for(pipeline, instance, corpus, runs)
        if results or waits_for:
            n_idle, busy = 0, time.time()
        else:
            n_idle += is_evaluated
            _require_evaluations(evaluations, began)
            if n_idle >= _MOST_IDLE and time.time() - busy >= _IDLE_S:
                raise _not_requested(snapshot.left(corpus), corpus)
        if not runs.have_begun:
            every = f"{_DAEMON}: it requests runs every {evaluations.interval_s:.0f} s"
            watch.on_wait(waits_for or every)
        _pause()


def is_settled(snapshot: Snapshot, corpus: str) -> bool:
    """Return whether everything in scope is current, was given up or depends on what was."""
    left = snapshot.left(corpus).items()
    return all(partitions <= snapshot.stuck(key, corpus) for key, partitions in left)


def _waits_for(
    pipeline: Pipeline, instance: dg.DagsterInstance, corpus: str, runs: "_Runs"
) -> str | None:
    """Describe what is under way on the corpus; None if nothing is."""
    unfinished = runs_on(instance, corpus)
    is_requested = any(SENSOR in run.tags for run in unfinished)
    computing = Leases(pipeline.store).computing(corpus)
    if computing and not is_requested:  # it began before the daemon
        return f"another gsum run of it, on {computing[0].holder.host}"
    if runs.under_way:
        n = len(runs.under_way)
        return f"{_DAEMON}: {count(n, 'run')} in its queue or about to begin"
    graph = pipeline.definitions.resolve_asset_graph()
    if unfinished or backfills_on(instance, graph, corpus):
        return f"{_DAEMON}: a backfill or other work on the corpus is under way"
    return None


def _require_evaluations(evaluations: Evaluations, began: float) -> None:
    """Raise `RefreshError` if a daemon has not evaluated the conditions for long."""
    if time.time() - max(evaluations.last, began) > HEARTBEAT_S + 2 * evaluations.interval_s:
        raise RefreshError(
            f"the daemon is alive, but does not evaluate the sensor {KEEP_CURRENT}; see in its "
            "output why it does not load gsum_assets.definitions, or stop it: then `gsum run` "
            "computes by itself"
        )


def _not_requested(left: Left, corpus: str) -> RefreshError:
    """Return the error of a daemon that has nothing to do, and does not request what is left."""
    n, first = sum(counted(left).values()), next(iter(counted(left)))
    return RefreshError(
        f"the daemon requests nothing, though {count(n, 'partition')} of corpus '{corpus}' are due "
        f"by the settings of this command (first: {first}); it reads gsum.toml and the environment "
        "when it starts: start `gsum ui` again"
    )


def _pause() -> None:
    time.sleep(_POLL_S)


@dataclass
class _FollowedRun:
    """A run that has not ended.

    Attributes
    ----------
    cursor : after the steps that were reported; None before the first.
    """

    keys: Sequence[dg.AssetKey]
    assets: Sequence[str]
    partitions: Sequence[Partition]
    cursor: str | None = None


@dataclass
class _Runs:
    """Runs on a corpus that write something in scope.

    Attributes
    ----------
    since : of runs that end later, the results are reported; Unix time.
    under_way : by run id.
    """

    pipeline: Pipeline
    instance: dg.DagsterInstance
    corpus: str
    watch: Watch
    since: float
    under_way: dict[str, _FollowedRun] = field(default_factory=dict)
    _known: set[str] = field(default_factory=set)
    _shown: str = ""

    @property
    def have_begun(self) -> bool:
        """Whether a step of a run has begun."""
        return any(run.cursor for run in self.under_way.values())

    def ended(self, snapshot: Snapshot) -> list[RunResult]:
        """Report the steps that began, and return the results of runs that ended."""
        self._find(snapshot)
        results = []
        for run_id, followed in list(self.under_way.items()):
            self._report_steps(run_id, followed)
            record = self.instance.get_run_record_by_id(run_id)
            run = record and record.dagster_run
            if run and not run.is_finished:
                continue
            is_retried = run and run.is_failure and run.tags.get(_RETRIED) == "true"
            if is_retried and run and _RETRY not in run.tags:
                continue  # until the daemon has queued it again
            del self.under_way[run_id]
            if record and not is_retried:
                results.append(self._result(record, followed))
        return results

    def _find(self, snapshot: Snapshot) -> None:
        """Follow runs that are new, and let those in the queue that were named go first."""
        changed = dg.RunsFilter(updated_after=datetime.fromtimestamp(self.since, UTC))
        unfinished = runs_on(self.instance, self.corpus)
        now = time.time()
        for run in (*unfinished, *runs_on(self.instance, self.corpus, changed)):
            if run.run_id in self._known:
                continue
            self._known.add(run.run_id)
            keys = sorted(key for key in run.asset_selection or () if key in snapshot.nodes)
            if not keys:  # it observes, or checks
                continue
            assets, partitions = targets(self.pipeline, self.instance, keys, run.tags)
            if any(snapshot.is_in_scope(key, p) for key in keys for p in partitions):
                self.under_way[run.run_id] = _FollowedRun(keys, assets, partitions)
                if snapshot.scope and run.status == dg.DagsterRunStatus.QUEUED:
                    self.instance.add_run_tags(run.run_id, {_PRIORITY: "1"})
        self.since = now - 2 * _POLL_S

    def _report_steps(self, run_id: str, followed: _FollowedRun) -> None:
        began = self.instance.get_records_for_run(
            run_id, cursor=followed.cursor, of_type=dg.DagsterEventType.STEP_START
        )
        if began.records:
            followed.cursor = began.cursor
        for record in began.records:
            if self._shown != run_id:
                self._shown = run_id
                self.watch.on_start(followed.assets, followed.partitions)
            if step := record.event_log_entry.step_key:
                self.watch.step(step.replace("__", "/"))

    def _result(self, record: dg.RunRecord, followed: _FollowedRun) -> RunResult:
        run_id = record.dagster_run.run_id
        logged = (entry.dagster_event for entry in self.instance.all_logs(run_id))
        return result_of(
            self.pipeline,
            self.instance,
            run_id,
            [event for event in logged if event],
            followed.keys,
            followed.partitions,
            (record.end_time or 0.0) - (record.start_time or record.end_time or 0.0),
        )
