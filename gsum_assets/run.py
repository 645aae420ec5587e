"""Drives the automation conditions in one process until nothing is due.

The daemon evaluates the same conditions; what this loop adds is that it does not wait between two
evaluations, and that it tries again what had been given up.
"""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import dagster as dg
from sqlalchemy.exc import IntegrityError

from gsum_assets.automation.attempts import TRY_AGAIN
from gsum_assets.automation.corpora import forget_tables
from gsum_assets.automation.due import due, without_readers_of
from gsum_assets.automation.staleness import Snapshot
from gsum_assets.corpus.folder import is_removed
from gsum_assets.definitions import METHODS, Pipeline
from gsum_assets.execute import EMBEDDING_MODEL, OnStart, RunResult, execute, observe_sources
from gsum_assets.processes import (
    REFRESHING,
    began_elsewhere,
    daemon_is_alive,
    failing_orphaned_runs,
    in_turn,
    others_at_work,
    runs_on,
    set_aside,
    waited_for,
)
from gsum_assets.tables import TABLES
from gsum_resources.dagster_private import AssetGraph
from gsum_resources.llm.ledger import export_calls
from gsum_resources.parquet_store import Partition
from gsum_resources.protocols import ModelUnavailableError

_WAIT_S = 2.0
_MOST_TRIES = 3
OnStep = Callable[[str, int, int], None]
"""Called with the asset of a step that begins, its number, and about how many there are."""
Left = Mapping[dg.AssetKey, Collection[Partition]]
"""Partitions that are due or rest on one that is, by asset."""


class RefreshError(ValueError):
    """Nothing can be made now, of this corpus or another; the message says why."""


@dataclass
class RunReport:
    """What a drive did.

    Attributes
    ----------
    not_made : the assets that were left out because a model is unavailable.
    missing : what was requested of this run and is missing or out of date in the end: partitions
        by asset.
    others, n_others : variants that a daemon goes on with, and how many partitions these are.
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
        """Whether all that was asked for is there."""
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
) -> RunReport:
    """Bring a corpus up to date; what failed or is incomplete is tried once more.

    Drives of one corpus take turns, in the order in which they began. Meanwhile the daemon starts
    nothing of the corpus; what it has begun goes on beside, and what it failed at is tried once.
    What `methods` need comes first. What else was requested earlier comes after it, or is left to
    a daemon that lives.

    Parameters
    ----------
    methods : variants to ask for besides those asked for before. "default" stands for those that
        `corpus.toml` names, or else the defaults of each family; "all" for every one. None asks
        for the defaults of a corpus that nobody asked for yet, and for nothing new of another.
    on_start, on_made : called before and after each run.
    on_wait : called with what other processes must end first, as a person would call it.
    only : assets to make; the others, and what lacks one of them, stay as they are, and the report
        does not say what is missing. None: all.
    check_models : make nothing where a model cannot be had; else what does without it is made.
    on_step : called when a step begins, with its asset, its number and about how many there are.

    Raises
    ------
    CorpusError
        If the corpus cannot be read, or a method is unknown.
    DriveError
        If something is due and a model cannot be had: a key is missing or refused, or a server
        does not answer.
    """
    earlier = pipeline.requests.of(corpus)
    if methods is None:
        methods = [] if earlier else ["default"]
    asked = METHODS.wanted(pipeline.home.corpora, corpus, methods)
    refresh_ = _Refresh(
        pipeline, instance, corpus, on_start, on_end, on_wait, only, check_models, on_step
    )
    with failing_orphaned_runs(instance):
        pipeline.store.sweep()
        export_calls(pipeline.store, TABLES["llm_calls"])
        register(pipeline, instance, corpus)
        pipeline.requests.add(corpus, asked)
        tags = {TRY_AGAIN: corpus, REFRESHING: corpus}
        run_id = observe_sources(pipeline, instance, corpus, tags)
        with in_turn(instance, corpus, run_id, refresh_.wait) as waited:
            if waited:  # what the other left undone is tried again, what changed meanwhile seen
                refresh_.observe_again()
            refresh_.bring_up_to_date(frozenset(asked) if asked else None)
    return refresh_.report


@dataclass
class _Refresh:
    """A `gsum run` whose turn it is, and its report."""

    pipeline: Pipeline
    instance: dg.DagsterInstance
    corpus: str
    on_start: OnStart
    on_end: Callable[[RunResult], None]
    on_wait: Callable[[str], None]
    only: Collection[dg.AssetKey] | None
    check_models: bool
    on_step: OnStep
    report: RunReport = field(default_factory=RunReport)
    _n_steps: int = 0
    _about: int = 0

    def bring_up_to_date(self, first: frozenset[str] | None) -> None:
        """Make what these variants need, then what else was requested, unless a daemon does.

        Parameters
        ----------
        first : variants; None: all that were requested, in no order.
        """
        requested = self.pipeline.requests.of(self.corpus) or frozenset()
        if first is not None and requested - first:
            beside = daemon_is_alive(self.instance)
            left = self._make(first, unite=beside)  # else these are made once, in the end
            if beside and daemon_is_alive(self.instance):
                self.report.missing = _counted(left)
                self._leave(requested - first)
                return
        self.report.missing = _counted(self._make(None, unite=True))

    def _leave(self, variants: frozenset[str]) -> None:
        """Note what of these variants is left to a daemon."""
        left = self._snapshot(variants, unite=False).left(self.corpus).values()
        named = {partition.method for partitions in left for partition in partitions}
        self.report.others = sorted(method for method in named if method)
        self.report.n_others = sum(map(len, left))

    def _snapshot(self, scope: frozenset[str] | None, unite: bool = True) -> Snapshot:
        snapshot = self.pipeline.new_snapshot(self.instance)
        nodes = {key: node for key, node in snapshot.nodes.items() if unite or not node.unites}
        return replace(snapshot, nodes=nodes, scope=scope)

    def _make(self, scope: frozenset[str] | None, unite: bool) -> Left:
        """Make what is due in a scope until nothing is; what cannot be made.

        The end is decided by the warehouse alone: runs of others, that a moment ago were not there
        or have ended, say nothing about what they made.

        Parameters
        ----------
        unite : also make what unites methods.
        """
        graph = self.pipeline.definitions.resolve_asset_graph()
        tries = 0
        others_ended = False
        while True:
            set_aside(self.instance, graph, self.corpus)
            # before the look: what rests on a run that ends meanwhile is due by then
            others = others_at_work(self.instance, graph, self.corpus)
            snapshot = self._snapshot(scope, unite)
            self._about = self._n_steps + self._count(graph, snapshot)
            n_made = len(self.report.results)
            for made in self._round(graph, snapshot):
                self.report.results.append(made)
                self.on_end(made)
            if len(self.report.results) > n_made:
                continue
            left = {} if self.only is not None else snapshot.left(self.corpus)
            if not left and not (others and self.only is not None):
                return left
            if others:
                self.wait(others)
                time.sleep(_WAIT_S)
                others_ended = True
            elif others_ended:  # what they did in vain is tried again here, and told
                self.observe_again()
                others_ended = False
            elif tries < _MOST_TRIES and not self.report.errors:
                tries += 1  # a run that began and ended between two looks
                time.sleep(_WAIT_S)
                self.observe_again()
            else:
                return left

    def observe_again(self) -> None:
        """Observe the sources now; what failed before is tried once more."""
        observe_sources(self.pipeline, self.instance, self.corpus, {TRY_AGAIN: self.corpus})

    def wait(self, work: Sequence[str]) -> None:
        """Say what is waited for."""
        self.on_wait(waited_for(self.instance, work))

    def _step(self, asset: str) -> None:
        self._n_steps += 1
        self.on_step(asset, self._n_steps, max(self._n_steps, self._about))

    def _count(self, graph: AssetGraph, snapshot: Snapshot) -> int:
        """The steps that what is left takes; those of methods once for each."""
        left = snapshot.left(self.corpus)
        steps = {
            (min(graph.get(key).execution_set_asset_keys), partition.method)
            for key, partitions in left.items()
            for partition in partitions
            if self.only is None or key in self.only
        }
        return len(steps)

    def _round(self, graph: AssetGraph, snapshot: Snapshot) -> Iterator[RunResult]:
        """Make what is due now, until another process may have taken up some of it."""
        looked, started = time.time(), False
        for request in due(graph, self.instance, self.corpus, snapshot):
            keys = _possible(graph, request, self.report, self.only)
            if not keys:
                continue
            if started and began_elsewhere(self.instance, self.corpus, looked):
                return
            if self.check_models and not self.report.results:
                _check_models(self.pipeline)
            yield execute(
                self.pipeline,
                self.instance,
                self.corpus,
                request,
                keys,
                self.on_start,
                self._step,
            )
            started = True


def _counted(left: Left) -> dict[str, int]:
    """Partitions by asset."""
    return {key.to_user_string(): len(partitions) for key, partitions in left.items()}


def register(pipeline: Pipeline, instance: dg.DagsterInstance, corpus: str) -> None:
    """Make the corpus a partition, unless it is one; forget those whose folder is gone.

    One that a run is still at work on is forgotten later.
    """
    for gone in set(instance.get_dynamic_partitions("corpora")):
        if is_removed(pipeline.home.corpora / gone) and not runs_on(instance, gone):
            forget_corpus(pipeline, instance, gone)
    if not instance.has_dynamic_partition("corpora", corpus):
        with suppress(IntegrityError):  # another process has added it in this moment
            instance.add_dynamic_partitions("corpora", [corpus])


def forget_corpus(pipeline: Pipeline, instance: dg.DagsterInstance, corpus: str) -> None:
    """Remove a corpus's files, requests and partitions."""
    forget_tables(pipeline.warehouse, pipeline.requests, corpus)
    instance.delete_dynamic_partition("corpora", corpus)


def _possible(
    graph: AssetGraph,
    request: dg.RunRequest,
    report: RunReport,
    only: Collection[dg.AssetKey] | None,
) -> Sequence[dg.AssetKey]:
    """What of a request can be made: once a model is unavailable, what does not need it."""
    unwanted = () if only is None else set(request.asset_selection or ()) - set(only)
    wanted = without_readers_of(unwanted, graph, request)
    unavailable = {made.unavailable for made in report.results if made.unavailable}
    unavailable.discard(EMBEDDING_MODEL)  # methods that need no vectors read it, too, and go on
    if not unavailable:
        return wanted
    kept = without_readers_of({*unavailable, *unwanted}, graph, request)
    report.not_materialized |= {key.to_user_string() for key in wanted if key not in kept}
    return kept


def _check_models(pipeline: Pipeline) -> None:
    """Tell a wrong key before any work."""
    try:
        pipeline.models.check()
    except ModelUnavailableError as error:
        raise RefreshError(str(error)) from error
