"""The refresh of a corpus: the job `index`, by a daemon or in this process."""

import time
import uuid
from collections.abc import Callable, Collection, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import dagster as dg
from sqlalchemy.exc import DBAPIError, IntegrityError

from gsum_assets.answering.workspace import Workspace, open_workspace
from gsum_assets.corpus import observe
from gsum_assets.corpus.settings_file import keep_methods
from gsum_assets.dagster_assets.jobs import SOURCES, keys_of
from gsum_assets.dagster_assets.partitions import COMMAND, CORPORA, GSUM, command_of
from gsum_assets.dagster_assets.record import fail_dead_runs, this_process
from gsum_assets.dagster_assets.run_resource import INDEX_JOB
from gsum_assets.definitions import definitions_of
from gsum_assets.forgetting.deletions import Deletions
from gsum_assets.forgetting.missing import look_for_missing, missing_since, note_missing
from gsum_assets.pipeline.result import count
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.refresh.forget import forget_corpus
from gsum_assets.refresh.staleness import Staleness, possible, staleness_of, with_methods
from gsum_assets.refresh.step import complete_catalogue, has_catalogue
from gsum_assets.registry.declared import STEPS, Declared
from gsum_assets.registry.families import METHODS
from gsum_assets.runner import daemon
from gsum_assets.runner.report import Events, NoEvents, Reader, RefreshError, RunReport
from gsum_resources.dagster_io.instance import runs_of_location
from gsum_resources.llm.ledger import export_calls
from gsum_resources.models.by_work import Models
from gsum_resources.protocols.models import ModelUnavailableError
from gsum_resources.settings.home import Home
from gsum_resources.state.database import lost_connection
from gsum_resources.state.locks import locked
from gsum_resources.store.appended import unite_appended
from gsum_resources.store.parquet_store import ParquetStore

_QUIET = {"console": {"config": {"log_level": "CRITICAL"}}}


@dataclass(frozen=True)
class Pipeline:
    """A home with its definitions, as the commands use it.

    Attribute `is_presented`: whether runs add what no table shows: plots, the catalogue.
    """

    workspace: Workspace
    is_presented: bool = True

    @property
    def home(self) -> Home:
        """The folders."""
        return self.workspace.home

    @property
    def store(self) -> ParquetStore:
        """The tables."""
        return self.workspace.store

    @cached_property
    def definitions(self) -> dg.Definitions:
        """Assets and jobs."""
        return definitions_of(self.workspace, self.is_presented)


def pipeline_for(
    home: Home,
    models: Models | None = None,
    presented: bool = True,
    store: ParquetStore | None = None,
) -> Pipeline:
    """Open a home with its own models, or with those given; see `Pipeline`."""
    return Pipeline(open_workspace(home, models, store=store), presented)


def refresh(
    pipeline: Pipeline,
    instance: dg.DagsterInstance,
    corpus: str,
    methods: Collection[str] | None = None,
    events: Events | None = None,
    retrain: Collection[str] = (),
    check_models: bool = True,
    over_budget: bool = False,
) -> RunReport:
    """Bring a corpus up to date by one run; what failed before is tried again.

    A daemon of this home executes the run, and its events are followed; without one this process
    does. If a step fails, a second run computes what does not depend on it.

    Parameters
    ----------
    methods : methods to keep up to date besides those of before, see `with_methods`.
    retrain : methods or families whose networks are trained again, "all": of every one.
    check_models : whether to stop the first run of a corpus if a model is unavailable; if not, and
        in later runs, what needs it fails.
    over_budget : whether the corpus may exceed `[budget]` until this returns.

    Raises
    ------
    CorpusError
        If the corpus cannot be read, or a method is unknown.
    RefreshError
        If something is stale and a model is unavailable, or a database does not answer, or runs
        have to be started by a daemon, and none is alive.
    """
    METHODS.wanted(pipeline.home.corpora, corpus)  # raises before anything is written
    events = events or NoEvents()
    if methods and (line := kept_methods(pipeline.workspace, corpus, methods)):
        events.says(f"{corpus}: {line}")
    work = _Refresh(pipeline, instance, corpus, events, tuple(retrain), check_models)
    with pipeline.workspace.models.budget.exceeding(corpus) if over_budget else nullcontext():
        try:
            report = work.refresh()
        except Exception as error:
            if reason := lost_connection(error):
                raise RefreshError(
                    f"a database does not answer: {reason}; start the server, and repeat the "
                    "command: it continues"
                ) from error
            raise
    if report.steps:  # otherwise nothing was appended
        unite_appended(pipeline.store, TABLES["embedding_calls"], corpus)
    if pipeline.is_presented and (report.steps or not has_catalogue(pipeline.workspace)):
        complete_catalogue(pipeline.workspace)
    return report


def kept_methods(workspace: Workspace, corpus: str, names: Collection[str]) -> str:
    """Keep further methods up to date; return the line written to `corpus.toml`, "" if none was.

    Raise `CorpusError` if the corpus cannot be read or written, or a method is unknown.
    """
    root, kept = workspace.home.corpora, with_methods(workspace, corpus, names)
    if set(kept) == set(METHODS.wanted(root, corpus)):
        return ""
    return keep_methods(root / corpus, kept)


@dataclass
class _Refresh:
    pipeline: Pipeline
    instance: dg.DagsterInstance
    corpus: str
    events: Events
    retrain: Sequence[str]
    check_models: bool

    @property
    def workspace(self) -> Workspace:
        return self.pipeline.workspace

    def refresh(self) -> RunReport:
        report = RunReport()
        is_followed = daemon.is_alive(self.instance)
        self._register()
        if is_followed:
            self.events.followed(True)
            with suppress(daemon.DaemonStoppedError):
                self._work(report, self._submitted)
                return report
            self.events.followed(False)
            report = RunReport()
        daemon.require_own_launcher(self.instance)
        holder = f"{this_process()}{uuid.uuid4()}"
        with locked(self.pipeline.store, self.corpus, holder, self.events.waits):
            fail_dead_runs(self.instance, self.pipeline.store)
            self.pipeline.store.sweep()
            self._work(report, partial(self._executed, holder))
        return report

    def _work(self, report: RunReport, execute: Callable[..., None]) -> None:
        """Execute the steps that are due; those that do not depend on a failed one once more."""
        export_calls(self.pipeline.store, TABLES["llm_calls"])
        Deletions(self.pipeline.store).observe(self.corpus)
        observe.sources(self.pipeline.store, self.pipeline.home.corpora, self.corpus)
        due = self._staleness().due(self.retrain)
        if due and self.check_models:
            try:
                self.workspace.models.check()
            except ModelUnavailableError as error:
                if not self.pipeline.store.partitions(TABLES["documents"], self.corpus):
                    raise RefreshError(str(error)) from error
                # what needs no model is written, such as the tables without a deleted document
                self.events.says(f"{self.corpus}: {error}")
        if due:
            execute(due, report, self.retrain)
        if report.failed:
            staleness = self._staleness()
            partly = [step.name for step in report.steps if step.error and step.written]
            current = staleness.current_results()
            if left := possible(staleness.due(), report.failed, partly, current):
                execute(left, report)
        self._note_left(report, due)

    def _staleness(self) -> Staleness:
        return staleness_of(self.workspace, self.corpus)

    def _executed(
        self,
        holder: str,
        due: Sequence[Declared],
        report: RunReport,
        retrain: Sequence[str] = (),
    ) -> None:
        """Execute the job in this process, which holds the lock of the corpus."""
        run_id = str(uuid.uuid4())
        self.events.begins(due)
        self.instance.add_event_listener(run_id, Reader(report, self.events).read)
        with runs_of_location(self.instance, INDEX_JOB):
            result = self.pipeline.definitions.resolve_job_def(INDEX_JOB).execute_in_process(
                run_config={"loggers": _QUIET, **_config(retrain)},
                instance=self.instance,
                partition_key=self.corpus,
                raise_on_error=False,
                asset_selection=[*SOURCES, *keys_of(due)],
                run_id=run_id,
                tags={COMMAND: holder},
            )
        if not result.success and not report.errors:
            report.stopped = f"run {run_id} failed outside its steps; see it in the Dagster UI"

    def _submitted(
        self, due: Sequence[Declared], report: RunReport, retrain: Sequence[str] = ()
    ) -> None:
        self.events.begins(due)
        keys = [*SOURCES, *keys_of(due)]
        submitted = daemon.submit(self.pipeline.home, self.corpus, keys, _config(retrain))
        try:
            daemon.follow(self.instance, submitted, Reader(report, self.events))
        except daemon.DaemonStoppedError:
            if run := self.instance.get_run_by_id(submitted):
                self.instance.report_run_canceled(run, "no daemon is running to start this")
            raise
        run = self.instance.get_run_by_id(submitted)
        if run is not None and not run.is_success and not report.errors:
            state = run.status.value.lower()
            report.stopped = f"run {submitted} is {state}; see it in the Dagster UI"

    def _register(self) -> None:
        """Add the corpus and the pools, and forget corpora whose folder is missing for long."""
        forget_missing(self.pipeline, self.instance)
        if not self.instance.has_dynamic_partition(CORPORA, self.corpus):
            with suppress(IntegrityError):  # another process has added it in this moment
                self.instance.add_dynamic_partitions(CORPORA, [self.corpus])
        storage = self.instance.event_log_storage
        pools = {declared.step.pool for declared in STEPS if declared.step.pool}
        for pool in pools - storage.get_concurrency_keys():
            with suppress(DBAPIError):  # two processes at once: in PostgreSQL one of them fails
                storage.initialize_concurrency_limit_to_default(pool)

    def _note_left(self, report: RunReport, due: Sequence[Declared]) -> None:
        """Note which rows are missing, and which steps are stale at the end."""
        staleness = self._staleness()
        warnings = {step.name: step.warnings for step in report.steps}
        incomplete = set()
        for declared in due:
            table = declared.table(declared.step.table)
            footers = staleness.lineage.provenances(table.name, self.corpus)
            own = [footers[file] for file in staleness.files(declared) if file in footers]
            if n := sum(footer.failed for footer in own):
                incomplete.add(declared.name)
                first = next(iter(warnings.get(declared.name, ())), "")
                report.gaps.append(
                    f"{declared.name}: rows are missing: a model gave {count(n, 'request')} no "
                    f"valid reply{f' (first: {first})' if first else ''}; run it again to repeat "
                    "these requests"
                )
            if n := sum(footer.filtered for footer in own):
                report.known_gaps.append(
                    f"{declared.name}: rows are missing for good: a content filter rejected "
                    f"{count(n, 'request')}; change filter_version of the model in gsum.toml to "
                    "send them again"
                )
        if due and (report.failed or report.stopped):
            report.missing = [d.name for d in staleness.due() if d.name not in incomplete]


def _config(retrain: Sequence[str]) -> dict[str, Any]:
    return {"resources": {GSUM: {"config": {"retrain": list(retrain)}}}} if retrain else {}


def forget_missing(pipeline: Pipeline, instance: dg.DagsterInstance) -> list[str]:
    """Forget corpora whose folder is missing for long; return a line for each other one."""
    known, noted = instance.get_dynamic_partitions(CORPORA), missing_since(pipeline.store)
    grace_h = pipeline.home.settings().automation.forget_after_h
    found = look_for_missing(pipeline.home.corpora, known, noted, time.time(), grace_h)
    left = {c: since for c, since in found.since.items() if c not in found.overdue}
    if left != noted:
        note_missing(pipeline.store, left)
    for corpus in found.overdue:
        with locked(pipeline.store, corpus, str(uuid.uuid4())):
            forget_corpus(pipeline.workspace, corpus)
        instance.delete_dynamic_partition(CORPORA, corpus)
    return [*found.notes, *(f"{c}: forgotten, since its folder is missing" for c in found.overdue)]


def cancel_own_runs(instance: dg.DagsterInstance) -> None:
    """Mark the unfinished runs that this process executes as canceled."""
    status = dg.DagsterRunStatus
    unfinished = [status.NOT_STARTED, status.STARTING, status.STARTED]
    for run in instance.get_runs(dg.RunsFilter(statuses=unfinished)):
        if (command_of(run) or "").startswith(this_process()):
            instance.report_run_canceled(run, "`gsum run` was interrupted")
            if instance.event_log_storage.supports_global_concurrency_limits:
                instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)
