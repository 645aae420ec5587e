"""A refresh of a corpus: requested from a daemon and followed, or computed in this process."""

import logging
import time
from collections.abc import Callable, Collection
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace

import dagster as dg
from sqlalchemy.exc import IntegrityError

from gsum_assets.automation.attempts import TRY_AGAIN
from gsum_assets.automation.daemon import (
    HEARTBEAT_S,
    KEEP_CURRENT,
    daemon_is_alive,
    evaluations_by_daemon,
    other_launcher,
)
from gsum_assets.automation.processes import FENCE, await_turn, end_runs_of, lease_on
from gsum_assets.automation.staleness import Snapshot
from gsum_assets.dagster_assets.partitions import with_buckets
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.registry.families import METHODS
from gsum_assets.runner.execute import OnStart, RunResult, observe_sources
from gsum_assets.runner.follow import DaemonStoppedError, follow
from gsum_assets.runner.loop import Loop
from gsum_assets.runner.pipeline import Pipeline
from gsum_assets.runner.report import OnStep, RefreshError, RunReport, Watch
from gsum_resources.dagster_io.instance import CONFIG_FILE
from gsum_resources.llm.ledger import export_calls
from gsum_resources.state.database import lost_connection
from gsum_resources.state.leases import HeldLease, Leases, held
from gsum_resources.store.appended import unite_appended

_LOG = logging.getLogger(__name__)
_WAIT_S = 2.0
_MOST_RESTARTS = 5  # of a database during a refresh


class DaemonError(ValueError):
    """Runs have to be started by a daemon, and none runs; the message says how to start it."""


def refresh(
    pipeline: Pipeline,
    instance: dg.DagsterInstance,
    corpus: str,
    methods: Collection[str] | None = None,
    on_start: OnStart = lambda *_: None,
    on_end: Callable[[RunResult], None] = lambda _: None,
    on_wait: Callable[[str], None] = lambda _: None,
    only: Collection[dg.AssetKey] | None = None,
    check_models: bool = True,
    on_step: OnStep = lambda *_: None,
    on_lost: Callable[[str], None] = lambda _: None,
    on_daemon: Callable[[bool], None] = lambda _: None,
    over_budget: bool = False,
) -> RunReport:
    """Bring a corpus up to date; what failed or is incomplete is retried once.

    A daemon that evaluates the conditions of this home computes everything, first what `methods`
    need; its runs are followed until that is current or was given up. Without a daemon, or once it
    has stopped, this process computes: first what `methods` need, then what else was requested.
    Such refreshes of one corpus take turns, in the order in which they began.

    Parameters
    ----------
    methods : methods to request besides those requested before. "default" stands for those that
        `corpus.toml` names, or else the defaults of each family; "all" for every method. None
        requests the defaults if nothing was requested for the corpus before, else nothing new.
    on_start, on_end : called before and after each run.
    on_wait : called with a description of what must happen first in other processes.
    only : assets to materialize, in this process; the others count as current. None: all.
    check_models : whether this process stops if a model is unavailable; if not, what needs it is
        left out.
    on_step : called when a step begins, see `OnStep`.
    on_lost : called with a message, in another thread, when another host has taken over because
        this process was paused for too long. Work that goes on would be paid twice.
    on_daemon : called with True when a daemon computes, and with False once it has stopped.
    over_budget : whether the corpus may exceed `[budget]` until this returns.

    Raises
    ------
    CorpusError
        If the corpus cannot be read, or a method is unknown.
    RefreshError
        If something is due and a model is unavailable: a key is missing or refused, or a server
        does not answer; if a database does not come back; or if a daemon requests nothing.
    LeaseLostError
        If another host has taken over.
    DaemonError
        If `dagster.yaml` names a run launcher, and no daemon runs.
    """
    if methods is None:
        methods = [] if pipeline.requests.of(corpus) else ["default"]
    requested = METHODS.wanted(pipeline.home.corpora, corpus, methods)
    graph = pipeline.definitions.resolve_asset_graph()
    watch = Watch(graph, on_start, on_end, on_wait, on_step)
    refresh_ = _Refresh(pipeline, instance, corpus, frozenset(requested), watch, only)
    is_followed = only is None and _daemon_computes(instance, on_wait)
    if not is_followed:
        _require_own_launcher(instance)
    pipeline.store.sweep()
    export_calls(pipeline.store, TABLES["llm_calls"])
    register(pipeline, instance, corpus)
    pipeline.requests.add(corpus, requested)
    with pipeline.models.budget.exceeding(corpus) if over_budget else nullcontext():
        if is_followed:
            on_daemon(True)
            is_followed = refresh_.follow()
            if not is_followed:
                on_daemon(False)
        if not is_followed:
            refresh_.compute(check_models, on_lost)
    if refresh_.report.results:  # otherwise nothing was appended
        unite_appended(pipeline.store, TABLES["embedding_calls"], corpus)
    pipeline.warehouse.complete_catalogue()
    return refresh_.report


@dataclass
class _Refresh:
    """A refresh and its report.

    Attributes
    ----------
    first : methods to begin with; none: all that were requested, in any order.
    """

    pipeline: Pipeline
    instance: dg.DagsterInstance
    corpus: str
    first: frozenset[str]
    watch: Watch
    only: Collection[dg.AssetKey] | None
    report: RunReport = field(default_factory=RunReport)

    def follow(self) -> bool:
        """Follow a daemon until it has computed what was requested; return False if it stops."""
        # never empty: the corpus's own tables, which all methods need
        scope = frozenset(self.first or self._requested()) | {""}
        try:
            with held(Leases(self.pipeline.store), self.corpus, lambda: None, first=scope) as lease:
                self._observe(lease)
                # asking for the corpus accepts its models
                self.pipeline.model_changes.accept(self._snapshot(scope), self.corpus)
                self._through_restarts(lambda: self._follow(scope))
        except DaemonStoppedError:
            self._forgive()
            return False
        snapshot = self._snapshot(scope)
        left = snapshot.left(self.corpus)
        self.report.note_left(left, snapshot)
        if not left:
            self._forgive()
        if others := self._others():
            self._leave(others)
        return True

    def _forgive(self) -> None:
        """Leave failures out of the report that later runs have made good, or will."""
        self.report.results = [result for result in self.report.results if not result.error]

    def _follow(self, scope: frozenset[str]) -> None:
        runs = follow(
            self.pipeline, self.instance, self.corpus, lambda: self._snapshot(scope), self.watch
        )
        for result in runs:
            self.report.results.append(result)
            self.watch.on_end(result)

    def compute(self, check_models: bool, on_lost: Callable[[str], None]) -> None:
        """Compute in this process what is due, once it has the turn; see `refresh`."""
        _require_own_launcher(self.instance)
        leases = Leases(self.pipeline.store)
        with lease_on(self.instance, leases, self.corpus, on_lost) as lease:
            await_turn(lease, self.watch.on_wait)
            self._observe(lease)
            loop = Loop(self.pipeline, self.instance, lease, self.report, self.watch, check_models)
            self._through_restarts(lambda: self._compute(loop), lease)

    def _compute(self, loop: Loop) -> None:
        if self._others():  # what unites methods is written once, at the end
            loop.materialize(lambda: self._snapshot(self.first, unite=False))
        left = loop.materialize(lambda: self._snapshot(frozenset()))
        self.report.note_left(left, self._snapshot(frozenset()))

    def _through_restarts(self, work: Callable[[], None], lease: HeldLease | None = None) -> None:
        """Work, again after each restart of a database, which continues with what is left.

        Raises
        ------
        RefreshError
            If a database does not come back.
        """
        for n_restarts in range(_MOST_RESTARTS + 1):
            try:
                if n_restarts and lease:
                    lease.renew()  # waits for the state database
                    end_runs_of(self.instance, lease.fence)
                return work()
            except Exception as error:
                reason = lost_connection(error)
                if reason is None:
                    raise
                if n_restarts == _MOST_RESTARTS:
                    raise RefreshError(
                        f"a database does not answer: {reason}; start it, and run `gsum run "
                        f"{self.corpus}` again: it continues"
                    ) from error
            self.watch.on_wait("the database, which does not answer")
            time.sleep(_WAIT_S)

    def _observe(self, lease: HeldLease) -> None:
        """Observe the sources now; what failed before is retried."""
        tags = {TRY_AGAIN: self.corpus, FENCE: lease.fence}
        observe_sources(self.pipeline, self.instance, self.corpus, tags)

    def _requested(self) -> frozenset[str]:
        return self.pipeline.requests.of(self.corpus) or frozenset()

    def _others(self) -> frozenset[str]:
        """Return the methods that were requested earlier, if some are named now."""
        return self._requested() - self.first if self.first else frozenset()

    def _leave(self, methods: frozenset[str]) -> None:
        """Report the work on these methods that is left to a daemon."""
        left = self._snapshot(methods, unite=False).left(self.corpus).values()
        named = {partition.method for partitions in left for partition in partitions}
        self.report.others = sorted(method for method in named if method)
        self.report.n_others = sum(map(len, left))

    def _snapshot(self, scope: frozenset[str], unite: bool = True) -> Snapshot:
        """Return what is due now for some methods, or for all that were requested.

        Parameters
        ----------
        unite : whether assets that unite methods are considered, too.
        """
        snapshot = self.pipeline.new_snapshot(self.instance)
        nodes = {
            key: node
            for key, node in snapshot.nodes.items()
            if (unite or not node.unites) and (self.only is None or key in self.only)
        }
        return replace(snapshot, nodes=nodes, scope={self.corpus: scope} if scope else {})


def _daemon_computes(instance: dg.DagsterInstance, on_wait: Callable[[str], None]) -> bool:
    """Return whether a daemon owns the work; one that alone can start runs may still be loading."""
    deadline = time.monotonic() + HEARTBEAT_S
    while evaluations_by_daemon(instance) is None:
        is_loading = other_launcher(instance) and daemon_is_alive(instance)
        if not is_loading or time.monotonic() > deadline:
            return False
        on_wait(f"the daemon, which has not evaluated the sensor {KEEP_CURRENT} yet")
        time.sleep(_WAIT_S)
    return True


def _require_own_launcher(instance: dg.DagsterInstance) -> None:
    """Raise `DaemonError` if runs of this process would be taken for dead, and started again.

    Run monitoring asks the launcher of `dagster.yaml` for the worker of each run that has started.
    A launcher such as `RayRunLauncher` or `K8sRunLauncher` finds none for a run of this process.
    """
    if launcher := other_launcher(instance):
        raise DaemonError(
            f"{CONFIG_FILE} names the run launcher {launcher}, whose runs the daemon starts, and "
            f"no daemon is running that evaluates the sensor {KEEP_CURRENT}; start it with `gsum "
            "ui` or `dagster-daemon run` on this home, or remove `run_launcher` from "
            f"{CONFIG_FILE} to run here"
        )


def register(pipeline: Pipeline, instance: dg.DagsterInstance, corpus: str) -> None:
    """Add the corpus as a partition unless it is one, and forget corpora that are overdue.

    The folder of such a corpus is missing for longer than `[automation] forget_after_h`, counted
    from when a run first noted it, and no run on it is unfinished.
    """
    now = time.time()
    pipeline.reconciler.note_missing(instance, now)
    for overdue in pipeline.reconciler.overdue(instance, now):
        pipeline.reconciler.forget(instance, overdue)
        _LOG.warning("forgot corpus '%s', whose folder is missing", overdue)
    pipeline.buckets.reread()
    pipeline.buckets.fix(corpus, pipeline.home.corpora / corpus)
    if not instance.has_dynamic_partition("corpora", corpus):
        with suppress(IntegrityError):  # another process has added it in this moment
            instance.add_dynamic_partitions("corpora", [corpus])
    known = instance.get_dynamic_partitions("corpora")
    with_buckets(instance, map(pipeline.buckets.of, known))
