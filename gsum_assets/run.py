"""Drives the automation conditions in one process until nothing is due.

The daemon evaluates the same conditions; what this loop adds is that it does not wait between two
evaluations, and that it tries again what had been given up.
"""

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import dagster as dg
from dagster._core.definitions.assets.graph.asset_graph import AssetGraph

from gsum_assets.automation.attempts import TRY_AGAIN
from gsum_assets.automation.corpora import forget_tables
from gsum_assets.automation.due import due, without_readers_of
from gsum_assets.corpus.folder import is_removed
from gsum_assets.definitions import METHODS, Pipeline
from gsum_assets.execute import EMBEDDING_MODEL, Made, OnStart, execute, look_at_sources
from gsum_assets.processes import (
    DRIVING,
    began_elsewhere,
    burying_dead_runs,
    in_turn,
    others_at_work,
    runs_on,
)
from gsum_assets.tables import TABLES
from gsum_resources.llm.ledger import fold_orphans
from gsum_resources.protocols import ModelUnavailableError

_WAIT_S = 2.0


class DriveError(ValueError):
    """Nothing can be made now, of this corpus or another; the message says why."""


@dataclass
class RunReport:
    """What a drive did.

    `not_made` names the assets that were left out because a model is unavailable.
    """

    made: list[Made] = field(default_factory=list)
    not_made: set[str] = field(default_factory=set)

    @property
    def errors(self) -> list[str]:
        """A message for each run that failed."""
        return [m.error for m in self.made if m.error]

    @property
    def gaps(self) -> list[str]:
        """A message for each table that lacks rows, since a model gave no valid reply."""
        return [gap for m in self.made for gap in m.gaps]

    @property
    def is_complete(self) -> bool:
        """Whether all that was asked for is there."""
        return not self.errors and not self.gaps and not self.not_made

    @property
    def n_partitions(self) -> int:
        """Materialized asset partitions."""
        return sum(len(m.assets) * len(m.partitions) for m in self.made if not m.error)


def drive(
    pipeline: Pipeline,
    instance: dg.DagsterInstance,
    corpus: str,
    methods: Collection[str] | None = None,
    on_start: OnStart = lambda *_: None,
    on_made: Callable[[Made], None] = lambda _: None,
    on_wait: Callable[[Sequence[str]], None] = lambda _: None,
    only: Collection[dg.AssetKey] | None = None,
    check_models: bool = True,
) -> RunReport:
    """Bring a corpus up to date; what failed or is incomplete is tried once more.

    Drives of one corpus take turns, in the order in which they began; the daemon's runs go on
    beside them, and a drive leaves to these what they have begun, and tries once what they failed
    at.

    Parameters
    ----------
    methods : variants to ask for besides those asked for before. "default" stands for those that
        `corpus.toml` names, or else the defaults of each family; "all" for every one. None asks
        for the defaults of a corpus that nobody asked for yet, and for nothing new of another.
    on_start, on_made : called before and after each run.
    on_wait : called while runs or drives of other processes, given by id, must end first.
    only : assets to make; the others, and what lacks one of them, stay as they are. None: all.
    check_models : make nothing where a model cannot be had; else what does without it is made.

    Raises
    ------
    CorpusError
        If the corpus cannot be read, or a method is unknown.
    DriveError
        If something is due and a model cannot be had: a key is missing or refused, or a server
        does not answer.
    """
    if methods is None:
        methods = [] if pipeline.requests.of(corpus) else ["default"]
    asked = METHODS.wanted(pipeline.home.corpora, corpus, methods)
    report = RunReport()
    with burying_dead_runs(instance):
        pipeline.store.sweep()
        fold_orphans(pipeline.store, TABLES["llm_calls"])
        register(pipeline, instance, corpus)
        pipeline.requests.add(corpus, asked)
        tags = {TRY_AGAIN: corpus}
        run_id = look_at_sources(pipeline, instance, corpus, {**tags, DRIVING: corpus})
        graph = pipeline.definitions.resolve_asset_graph()
        with in_turn(instance, corpus, run_id, on_wait) as waited:
            if waited:  # what the other left undone is tried again, what changed meanwhile seen
                look_at_sources(pipeline, instance, corpus, tags)
            make = partial(execute, pipeline, instance, corpus, on_start=on_start)
            others_ended = False
            while True:
                # before the look: what rests on a run that ends meanwhile is due by then
                others = others_at_work(instance, graph, corpus)
                n_made = len(report.made)
                for made in _round(pipeline, instance, corpus, make, report, only, check_models):
                    report.made.append(made)
                    on_made(made)
                if len(report.made) > n_made:
                    continue
                if others:
                    on_wait(others)
                    time.sleep(_WAIT_S)
                    others_ended = True
                elif others_ended:  # what they did in vain is tried again here, and told
                    look_at_sources(pipeline, instance, corpus, tags)
                    others_ended = False
                else:
                    return report


def _round(
    pipeline: Pipeline,
    instance: dg.DagsterInstance,
    corpus: str,
    make: Callable[[dg.RunRequest, Sequence[dg.AssetKey]], Made],
    report: RunReport,
    only: Collection[dg.AssetKey] | None,
    check_models: bool,
) -> Iterator[Made]:
    """Make what is due now, until another process may have taken up some of it."""
    graph = pipeline.definitions.resolve_asset_graph()
    looked, started = time.time(), False
    for request in due(graph, instance, corpus, pipeline.new_look(instance)):
        keys = _possible(graph, request, report, only)
        if not keys:
            continue
        if started and began_elsewhere(instance, corpus, looked):
            return
        if check_models and not report.made:
            _check_models(pipeline)
        yield make(request, keys)
        started = True


def known_methods() -> list[str]:
    """All variants of all families."""
    return list(METHODS.known)


def default_methods() -> list[str]:
    """The variants that a new corpus starts."""
    return list(METHODS.default)


def register(pipeline: Pipeline, instance: dg.DagsterInstance, corpus: str) -> None:
    """Make the corpus a partition, unless it is one; forget those whose folder is gone.

    One that a run is still at work on is forgotten later.
    """
    for gone in set(instance.get_dynamic_partitions("corpora")):
        if is_removed(pipeline.home.corpora / gone) and not runs_on(instance, gone):
            forget_corpus(pipeline, instance, gone)
    if not instance.has_dynamic_partition("corpora", corpus):
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
    unavailable = {made.unavailable for made in report.made if made.unavailable}
    unavailable.discard(EMBEDDING_MODEL)  # methods that need no vectors read it, too, and go on
    if not unavailable:
        return wanted
    kept = without_readers_of({*unavailable, *unwanted}, graph, request)
    report.not_made |= {key.to_user_string() for key in wanted if key not in kept}
    return kept


def _check_models(pipeline: Pipeline) -> None:
    """Tell a wrong key before any work."""
    try:
        pipeline.models.check()
    except ModelUnavailableError as error:
        raise DriveError(str(error)) from error
