"""Jobs and schedules: a corpus brought up to date, retrained, forgotten, and daily upkeep."""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

import dagster as dg

from gsum_assets.answering.workspace import Workspace
from gsum_assets.corpus.folder import is_removed
from gsum_assets.dagster_assets.partitions import CORPORA, GSUM, corpora
from gsum_assets.dagster_assets.record import drop_old_runs, fail_dead_runs, report_warehouse
from gsum_assets.dagster_assets.run_resource import INDEX_JOB, HomeOfRun
from gsum_assets.pipeline.corpus_settings import CorpusError
from gsum_assets.refresh.forget import forget_corpus, forget_deleted
from gsum_assets.refresh.staleness import needs_run, staleness_of
from gsum_assets.registry.declared import Declared
from gsum_assets.registry.families import METHODS
from gsum_resources.dagster_io.failure import explained

RETRAIN, FORGET, UPKEEP = "retrain", "forget", "upkeep"
SOURCES = tuple(dg.AssetKey(n) for n in ("source_documents", "source_queries", "source_graph"))


def keys_of(steps: Iterable[Declared]) -> list[dg.AssetKey]:
    """Return the assets of some steps."""
    return [dg.AssetKey(d.path(name)) for d in steps for name in d.step.writes]


def needed_steps(workspace: Workspace, corpus: str, defined: Sequence[Declared]) -> list[Declared]:
    """Return the steps that a corpus needs; raise `CorpusError` if it cannot be read."""
    staleness = staleness_of(workspace, corpus)
    return [
        declared
        for declared in defined
        if declared.is_needed(staleness.methods)
        and (staleness.expects_questions or not declared.for_questions)
    ]


def index_request(
    workspace: Workspace, corpus: str, defined: Sequence[Declared], run_key: str | None = None
) -> dg.RunRequest:
    """Return the request of a run by some ordered steps; raise `CorpusError`, see above."""
    keys = [*SOURCES, *keys_of(needed_steps(workspace, corpus, defined))]
    return dg.RunRequest(run_key, job_name=INDEX_JOB, partition_key=corpus, asset_selection=keys)


def asset_jobs(executor: dg.ExecutorDefinition, defined: Sequence[Declared]) -> list:
    """Return the jobs over the assets of some ordered steps, each for one corpus."""
    jobs = [
        dg.define_asset_job(
            INDEX_JOB,
            dg.AssetSelection.assets(*SOURCES, *keys_of(defined)),
            executor_def=executor,
            description="Brings a corpus up to date: computes what is missing or out of date of "
            "the methods that it keeps. Choose the partition, the corpus.",
        )
    ]
    if retrained := _retrained(defined):
        jobs.append(
            dg.define_asset_job(
                RETRAIN,
                dg.AssetSelection.assets(*keys_of(retrained)),
                config={"resources": {GSUM: {"config": {"retrain": ["all"]}}}},
                executor_def=executor,
                description="Trains the networks of a corpus again on its documents of today, "
                "which new documents alone do not, and computes what depends on them.",
            )
        )
    return jobs


@dg.op(out=dg.Out(dg.Nothing), required_resource_keys={GSUM})
@explained()
def remove_tables(context: dg.OpExecutionContext) -> None:
    """Remove everything that was computed for the corpus of the run, whose folder is gone."""
    home: HomeOfRun = context.resources.gsum
    folder = home.workspace.home.corpora / context.partition_key
    if not folder.parent.is_dir() or not is_removed(folder):
        raise CorpusError(
            f"corpus '{context.partition_key}': its folder {folder} exists, or the folder of all "
            "corpora does not; delete the folder of the corpus first"
        )
    forget_corpus(home.workspace, context.partition_key)
    context.instance.delete_dynamic_partition(CORPORA, context.partition_key)
    context.log.info(f"forgot corpus '{context.partition_key}', whose folder is missing")


@dg.job(
    name=FORGET,
    partitions_def=corpora,
    executor_def=dg.in_process_executor,
    description="Removes the tables and the partition of a corpus whose folder was deleted. The "
    "sensor requests it after `[automation] forget_after_h` of gsum.toml.",
)
def forget_job() -> None:
    """Forget a corpus."""
    remove_tables()


@dg.op(out=dg.Out(dg.Nothing), required_resource_keys={GSUM})
@explained()
def agree(context: dg.OpExecutionContext) -> None:
    """Let Dagster's record and the state agree with the warehouse."""
    home: HomeOfRun = context.resources.gsum
    workspace = home.workspace
    days = workspace.home.settings().automation.keep_runs_days
    lines = [
        fail_dead_runs(context.instance, workspace.store),
        drop_old_runs(context.instance, time.time() - days * 86400.0),
        report_warehouse(context.instance, workspace.store),
        str(forget_deleted(workspace) or ""),
    ]
    for line in filter(None, lines):
        context.log.info(line)


@dg.job(
    name=UPKEEP,
    executor_def=dg.in_process_executor,
    description="Fails runs whose process has ended, removes runs older than `[automation] "
    "keep_runs_days`, reports tables that another instance of Dagster wrote, and removes replies "
    "of models about deleted documents.",
)
def upkeep_job() -> None:
    """Keep the record in order."""
    agree()


def schedules(
    workspace: Workspace, defined: Sequence[Declared], cron_of: Mapping[str, str]
) -> list[dg.ScheduleDefinition]:
    """Return the schedules over some ordered steps; they run unless switched off in the UI.

    `cron_of` has the cron lines of the corpora that are not indexed with the others.
    """
    settings = workspace.home.settings().automation
    index = partial(_index_requests, workspace, defined)
    schedule = partial(
        dg.ScheduleDefinition,
        execution_timezone=settings.timezone,
        default_status=dg.DefaultScheduleStatus.RUNNING,
    )
    nightly = [
        schedule(
            name="nightly",
            job_name=INDEX_JOB,
            cron_schedule=settings.nightly,
            execution_fn=partial(index, lambda corpus: corpus not in cron_of),
            description="Brings every corpus up to date. Set its time in gsum.toml, [automation].",
        ),
        *(
            schedule(
                name=f"nightly_{re.sub(r'[^A-Za-z0-9_]', '_', corpus)}",
                job_name=INDEX_JOB,
                cron_schedule=cron,
                execution_fn=partial(index, corpus.__eq__),
                description=f"Brings the corpus {corpus} up to date, in place of `nightly`.",
            )
            for corpus, cron in cron_of.items()
        ),
    ]
    upkeep = schedule(
        name="hourly_upkeep",
        job_name=UPKEEP,
        cron_schedule="50 * * * *",
        description="Keeps the record in order.",
    )
    if not _retrained(defined):
        return [*nightly, upkeep]
    training = schedule(
        name="weekly_training",
        job_name=RETRAIN,
        cron_schedule=settings.retrain,
        execution_fn=partial(_training_requests, workspace, defined),
        description="Trains networks again. Set its time in gsum.toml, [automation].",
    )
    return [*nightly, training, upkeep]


def _index_requests(
    workspace: Workspace,
    defined: Sequence[Declared],
    is_chosen: Callable[[str], bool],
    context: dg.ScheduleEvaluationContext,
) -> Iterator[dg.RunRequest]:
    for corpus in filter(is_chosen, _readable(workspace, context)):
        if needs_run(workspace, corpus):
            yield index_request(workspace, corpus, defined)


def _training_requests(
    workspace: Workspace, defined: Sequence[Declared], context: dg.ScheduleEvaluationContext
) -> Iterator[dg.RunRequest]:
    for corpus in _readable(workspace, context):
        if steps := _retrained(needed_steps(workspace, corpus, defined)):
            yield dg.RunRequest(partition_key=corpus, asset_selection=keys_of(steps))


def _retrained(steps: Sequence[Declared]) -> list[Declared]:
    """Return the steps that train, and those that depend on them."""
    changed: set[str] = set()
    chosen = []
    for declared in steps:
        if declared.step.trains or changed.intersection(declared.read_assets):
            changed.update(declared.assets)
            chosen.append(declared)
    return chosen


def _readable(workspace: Workspace, context: dg.ScheduleEvaluationContext) -> Iterator[str]:
    """Yield the corpora that can be read; a warning names each other one."""
    for corpus in context.instance.get_dynamic_partitions(CORPORA):
        try:
            METHODS.wanted(workspace.home.corpora, corpus)
        except CorpusError as error:
            context.log.warning(f"{corpus}: {error}")
            continue
        yield corpus
