"""Evaluation of the automation conditions in one process until nothing is due.

The daemon evaluates the same conditions; this loop does not wait between two evaluations, and
retries what was given up.
"""

import logging
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import dagster as dg
from sqlalchemy.exc import IntegrityError

from gsum_assets.automation.attempts import TRY_AGAIN
from gsum_assets.automation.due import due, without_readers_of
from gsum_assets.automation.processes import (
    FENCE,
    await_turn,
    began_elsewhere,
    daemon_is_alive,
    end_runs_of,
    lease_on,
    others_at_work,
    set_aside,
    waited_for,
)
from gsum_assets.automation.staleness import Snapshot
from gsum_assets.dagster_assets.partitions import with_buckets
from gsum_assets.definitions import METHODS, Pipeline
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.runner.execute import EMBEDDING_MODEL, OnStart, RunResult, observe_sources
from gsum_assets.runner.submit import Runs, runs_for
from gsum_resources.dagster_io.dagster_private import AssetGraph
from gsum_resources.llm.ledger import export_calls
from gsum_resources.protocols.models import ModelUnavailableError
from gsum_resources.state.database import lost_connection
from gsum_resources.state.leases import HeldLease, Leases
from gsum_resources.store.appended import unite_appended
from gsum_resources.store.parquet_store import Partition

_LOG = logging.getLogger(__name__)
_WAIT_S = 2.0
_MOST_TRIES = 3
_MOST_RESTARTS = 5  # of a database during a refresh
OnStep = Callable[[str, int, int], None]
"""Called with the asset of a step that begins, its number, and the estimated number of steps."""
Left = Mapping[dg.AssetKey, Collection[Partition]]
"""Partitions that are due or depend on one that is, by asset."""


class RefreshError(ValueError):
    """No corpus can be refreshed now; the message says why."""


@dataclass
class RunReport:
    """Results of a refresh.

    Attributes
    ----------
    not_materialized : assets that were left out because a model is unavailable.
    missing : number of requested partitions that are missing or out of date at the end, by asset.
    others, n_others : methods that a daemon continues with, and their number of partitions.
    """

    results: list[RunResult] = field(default_factory=list)
    not_materialized: set[str] = field(default_factory=set)
    missing: Mapping[str, int] = field(default_factory=dict)
    others: Sequence[str] = ()
    n_others: int = 0

    @property
    def errors(self) -> list[str]:
        """A message for each run that failed."""
        return [m.error for m in self.results if m.error]

    @property
    def gaps(self) -> list[str]:
        """A message for each table that lacks rows, since a model gave no valid reply."""
        return [gap for m in self.results for gap in m.gaps]

    @property
    def is_complete(self) -> bool:
        """Whether everything requested was computed."""
        return not (self.errors or self.gaps or self.not_materialized or self.missing)

    @property
    def n_partitions(self) -> int:
        """Materialized asset partitions."""
        return sum(len(m.assets) * len(m.partitions) for m in self.results if not m.error)


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
) -> RunReport:
    """Bring a corpus up to date; what failed or is incomplete is retried once.

    Refreshes of one corpus run one after the other, in the order in which they began. Meanwhile the
    daemon starts nothing of the corpus; its running runs continue, and its failed ones are retried.
    What `methods` need is computed first. What else was requested earlier follows, or is left to
    the daemon if one runs.

    Parameters
    ----------
    methods : methods to request besides those requested before. "default" stands for those that
        `corpus.toml` names, or else the defaults of each family; "all" for every method. None
        requests the defaults if nothing was requested for the corpus before, else nothing new.
    on_start, on_end : called before and after each run.
    on_wait : called with a description of the work of other processes that must end first.
    only : assets to materialize; the others, and what lacks one of them, are not changed, and the
        report does not list what is missing. None: all.
    check_models : whether to stop if a model is unavailable; if not, what needs it is left out.
    on_step : called when a step begins, see `OnStep`.
    on_lost : called with a message, in another thread, when another host has taken over because
        this process was paused for too long. Work that goes on would be paid twice.

    Raises
    ------
    CorpusError
        If the corpus cannot be read, or a method is unknown.
    RefreshError
        If something is due and a model is unavailable: a key is missing or refused, or a server
        does not answer; or if a database does not come back.
    LeaseLostError
        If another host has taken over.
    DaemonError
        If `dagster.yaml` names a run launcher, and no daemon runs.
    """
    earlier = pipeline.requests.of(corpus)
    if methods is None:
        methods = [] if earlier else ["default"]
    requested = METHODS.wanted(pipeline.home.corpora, corpus, methods)
    with lease_on(instance, Leases(pipeline.store), corpus, on_lost) as lease:
        refresh_ = _Refresh(
            pipeline, instance, lease, on_start, on_end, on_wait, only, check_models, on_step
        )
        pipeline.store.sweep()
        export_calls(pipeline.store, TABLES["llm_calls"])
        register(pipeline, instance, corpus)
        pipeline.requests.add(corpus, requested)
        refresh_.observe_again()
        if await_turn(lease, on_wait):
            # retry what the other run failed at, and notice what changed meanwhile
            refresh_.observe_again()
        refresh_.bring_up_to_date(frozenset(requested) if requested else None)
        unite_appended(pipeline.store, TABLES["embedding_calls"], corpus)
        pipeline.warehouse.complete_catalogue()
    return refresh_.report


@dataclass
class _Refresh:
    """A refresh whose turn it is, and its report."""

    pipeline: Pipeline
    instance: dg.DagsterInstance
    lease: HeldLease
    on_start: OnStart
    on_end: Callable[[RunResult], None]
    on_wait: Callable[[str], None]
    only: Collection[dg.AssetKey] | None
    check_models: bool
    on_step: OnStep
    report: RunReport = field(default_factory=RunReport)
    _n_steps: int = 0
    _about: int = 0

    def __post_init__(self) -> None:
        self.corpus = self.lease.corpus
        self._runs = self._new_runs()

    def _new_runs(self) -> Runs:
        return runs_for(self.pipeline, self.instance, self.lease, self.on_start, self._step)

    def bring_up_to_date(self, first: frozenset[str] | None) -> None:
        """Materialize what these methods need, then what else was requested, unless a daemon does.

        A restart of PostgreSQL is waited for, and the work continues with what is left.

        Parameters
        ----------
        first : methods to begin with; None: all that were requested, in any order.

        Raises
        ------
        RefreshError
            If a database does not come back.
        """
        for n_restarts in range(_MOST_RESTARTS + 1):
            try:
                if n_restarts:
                    self.lease.renew()  # waits for the state database
                    end_runs_of(self.instance, self.lease.fence)
                    self._runs = self._new_runs()
                return self._bring_up_to_date(first)
            except Exception as error:
                reason = lost_connection(error)
                if reason is None:
                    raise
                if n_restarts == _MOST_RESTARTS:
                    raise RefreshError(
                        f"a database does not answer: {reason}; start it, and run `gsum run "
                        f"{self.corpus}` again: it continues"
                    ) from error
            self.on_wait("the database, which does not answer")
            time.sleep(_WAIT_S)

    def _bring_up_to_date(self, first: frozenset[str] | None) -> None:
        requested = self.pipeline.requests.of(self.corpus) or frozenset()
        if first is not None and requested - first:
            beside = daemon_is_alive(self.instance)
            # without a daemon, what unites methods is written once, at the end
            left = self._materialize(first, unite=beside)
            if beside and daemon_is_alive(self.instance):
                self.report.missing = _counted(left)
                self._leave(requested - first)
                return
        self.report.missing = _counted(self._materialize(None, unite=True))

    def _leave(self, methods: frozenset[str]) -> None:
        """Report the work on these methods that is left to a daemon."""
        left = self._snapshot(methods, unite=False).left(self.corpus).values()
        named = {partition.method for partitions in left for partition in partitions}
        self.report.others = sorted(method for method in named if method)
        self.report.n_others = sum(map(len, left))

    def _snapshot(self, scope: frozenset[str] | None, unite: bool = True) -> Snapshot:
        snapshot = self.pipeline.new_snapshot(self.instance)
        nodes = {key: node for key, node in snapshot.nodes.items() if unite or not node.unites}
        return replace(snapshot, nodes=nodes, scope=scope)

    def _materialize(self, scope: frozenset[str] | None, unite: bool) -> Left:
        """Materialize what is due in a scope until nothing is; return what could not be.

        Only the warehouse decides when this is finished: runs of other processes that just began or
        ended say nothing about what they wrote.

        Parameters
        ----------
        unite : whether to materialize assets that unite methods, too.
        """
        graph = self.pipeline.definitions.resolve_asset_graph()
        tries = 0
        others_ended = False
        while True:
            set_aside(self.instance, graph, self.lease)
            # before the snapshot, so that what depends on a run that ends meanwhile is due in it
            others = others_at_work(self.instance, graph, self.lease)
            snapshot = self._snapshot(scope, unite)
            self._about = self._n_steps + self._count(graph, snapshot)
            n_results = len(self.report.results)
            for result in self._round(graph, snapshot):
                self.report.results.append(result)
                self.on_end(result)
            if len(self.report.results) > n_results:
                continue
            left = {} if self.only is not None else snapshot.left(self.corpus)
            if not left and not (others and self.only is not None):
                return left
            if others:
                self.on_wait(waited_for(self.instance, others))
                time.sleep(_WAIT_S)
                others_ended = True
            elif others_ended:  # what failed there is retried here, and reported
                self.observe_again()
                others_ended = False
            elif tries < _MOST_TRIES and not self.report.errors:
                tries += 1  # perhaps a run began and ended between two snapshots
                time.sleep(_WAIT_S)
                self.observe_again()
            else:
                return left

    def observe_again(self) -> None:
        """Observe the sources now; what failed before is retried."""
        tags = {TRY_AGAIN: self.corpus, FENCE: self.lease.fence}
        observe_sources(self.pipeline, self.instance, self.corpus, tags)

    def _step(self, asset: str) -> None:
        self.lease.check()
        self._n_steps += 1
        self.on_step(asset, self._n_steps, max(self._n_steps, self._about))

    def _count(self, graph: AssetGraph, snapshot: Snapshot) -> int:
        """Return the number of steps left.

        A step counts once for each method, a step over documents once for each run.
        """
        steps: dict[tuple[dg.AssetKey, str | None], set[str | None]] = {}
        for key, partitions in snapshot.left(self.corpus).items():
            if self.only is None or key in self.only:
                step = min(graph.get(key).execution_set_asset_keys)
                for partition in partitions:
                    steps.setdefault((step, partition.method), set()).add(partition.bucket)
        n = 0
        for (step, _), buckets in steps.items():
            policy = graph.get(step).backfill_policy
            n += -(-len(buckets) // ((policy and policy.max_partitions_per_run) or 1))
        return n

    def _round(self, graph: AssetGraph, snapshot: Snapshot) -> Iterator[RunResult]:
        """Materialize what is due now, until another process may have begun some of it.

        The fence is checked before each run and each step, so that a process that was paused pays
        for nothing that another one is paying for. A late write needs no check: it is atomic, and
        equal to that of the other process.
        """
        since, started = time.time(), False
        for request in due(graph, self.instance, self.corpus, snapshot, self.only):
            keys = _possible(graph, request, self.report)
            if not keys:
                continue
            if started and began_elsewhere(self.instance, self.lease, since):
                break
            if self.check_models and not self.report.results:
                try:
                    self.pipeline.models.check()
                except ModelUnavailableError as error:
                    raise RefreshError(str(error)) from error
            self.lease.check()
            yield from self._runs.start(request, keys)
            started = True
        yield from self._runs.ended()


def _counted(left: Left) -> dict[str, int]:
    """Return the number of partitions by asset."""
    return {key.to_user_string(): len(partitions) for key, partitions in left.items()}


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


def _possible(
    graph: AssetGraph, request: dg.RunRequest, report: RunReport
) -> Sequence[dg.AssetKey]:
    """Return the assets of a request that can be materialized with the available models."""
    wanted = without_readers_of((), graph, request)
    unavailable = {result.unavailable for result in report.results if result.unavailable}
    unavailable.discard(EMBEDDING_MODEL)  # also an input of methods that need no vectors
    if not unavailable:
        return wanted
    possible = without_readers_of(unavailable, graph, request)
    report.not_materialized |= {key.to_user_string() for key in wanted if key not in possible}
    return possible
