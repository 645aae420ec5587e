"""Drives the automation conditions in one process until nothing is due.

The daemon evaluates the same conditions; what this loop adds is that it does not wait between two
evaluations, and that it tries again what had been given up.
"""

import logging
import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import dagster as dg
from dagster._core.definitions.asset_daemon_cursor import AssetDaemonCursor
from dagster._core.definitions.automation_tick_evaluation_context import (
    build_run_requests_with_backfill_policies,
)
from dagster._core.definitions.declarative_automation.automation_condition_evaluator import (
    AutomationConditionEvaluator,
)
from dagster._core.definitions.events import AssetKeyPartitionKey
from dagster._core.definitions.partitions.context import partition_loading_context

from gsum_assets.corpus.load import scan
from gsum_assets.corpus.settings import CorpusError, corpus_name_problem, load_settings
from gsum_assets.definitions import FAMILIES, Pipeline
from gsum_assets.processes import PID, UNDER_WAY, bury_dead_runs, tags_of_this_process
from gsum_resources.parquet_store import Partition
from gsum_resources.warehouse_io import partition_of

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
_WAIT_S = 2.0


@dataclass(frozen=True)
class Made:
    """One run: which assets, how many partitions, how it went.

    `error` is None where all went well.
    """

    assets: Sequence[str]
    partitions: Sequence[Partition]
    seconds: float
    error: str | None = None


@dataclass
class RunReport:
    """What a drive did."""

    made: list[Made] = field(default_factory=list)

    @property
    def errors(self) -> list[str]:
        """A message for each run that failed."""
        return [m.error for m in self.made if m.error]

    @property
    def n_partitions(self) -> int:
        """Materialized asset partitions."""
        return sum(len(m.assets) * len(m.partitions) for m in self.made if not m.error)


def drive(
    pipeline: Pipeline,
    instance: dg.DagsterInstance,
    corpus: str,
    methods: Collection[str] | None = None,
    on_start: Callable[[Sequence[str], Sequence[Partition]], None] = lambda *_: None,
    on_made: Callable[[Made], None] = lambda _: None,
    on_wait: Callable[[Sequence[str]], None] = lambda _: None,
) -> RunReport:
    """Bring a corpus up to date.

    Parameters
    ----------
    methods : variants to ask for besides those asked for before. "default" stands for those that
        `corpus.toml` names, or else the defaults of each family; "all" for every one. None asks
        for the defaults of a corpus that nobody asked for yet, and for nothing new of another.
    on_start, on_made : called before and after each run.
    on_wait : called while runs of other processes, given by id, must end first.

    Raises
    ------
    CorpusError
        If the corpus cannot be read, or a method is unknown.
    """
    asked = _methods(pipeline, corpus, methods)
    bury_dead_runs(instance)
    pipeline.store.sweep()
    register(pipeline, instance, corpus)
    pipeline.requests.add(corpus, asked)
    observe(pipeline, instance, corpus)
    report = RunReport()
    with _trying_again(pipeline) as failed:
        while True:
            requests = _due(pipeline, instance, corpus)
            if not requests:
                others = _others_at_work(instance, corpus)
                if not others:
                    break
                on_wait(others)
                time.sleep(_WAIT_S)
            for request in requests:
                made = _execute(pipeline, instance, corpus, request, on_start)
                report.made.append(made)
                on_made(made)
                if made.error:
                    failed |= {
                        (dg.AssetKey.from_user_string(name), partition)
                        for name in made.assets
                        for partition in made.partitions
                    }
    return report


def known_methods() -> list[str]:
    """All variants of all families."""
    return [variant for family in FAMILIES for variant in family.variants]


def default_methods() -> list[str]:
    """The variants that a new corpus starts."""
    return [variant for family in FAMILIES for variant in family.default]


def register(pipeline: Pipeline, instance: dg.DagsterInstance, corpus: str) -> None:
    """Make the corpus a partition, unless it is one; forget those whose folder is gone."""
    for gone in set(instance.get_dynamic_partitions("corpora")):
        if not (pipeline.home.corpora / gone).is_dir():
            forget_corpus(pipeline, instance, gone)
    if not instance.has_dynamic_partition("corpora", corpus):
        instance.add_dynamic_partitions("corpora", [corpus])


def forget_corpus(pipeline: Pipeline, instance: dg.DagsterInstance, corpus: str) -> None:
    """Remove a corpus's files, requests and partitions."""
    for table in pipeline.warehouse.tables.values():
        folder = f"{pipeline.store.root}/{table.name}/corpus={corpus}"
        if pipeline.store.fs.exists(folder):
            pipeline.store.fs.rm(folder, recursive=True)
    pipeline.requests.forget(corpus)
    instance.delete_dynamic_partition("corpora", corpus)
    pipeline.warehouse.rebuild_catalogue()


def observe(pipeline: Pipeline, instance: dg.DagsterInstance, corpus: str) -> None:
    """Look at the corpus folder, its settings and the models now."""
    graph = pipeline.definitions.resolve_asset_graph()
    job = pipeline.definitions.resolve_implicit_global_asset_job_def()
    result = job.execute_in_process(
        instance=instance,
        asset_selection=sorted(graph.observable_asset_keys),
        tags=tags_of_this_process(corpus),
        run_config=QUIET,
        raise_on_error=False,
    )
    if not result.success:
        raise CorpusError(f"corpus '{corpus}' could not be looked at: {_cause(result)}")


def _methods(pipeline: Pipeline, corpus: str, methods: Collection[str] | None) -> list[str]:
    """The variants wanted, checked."""
    problem = corpus_name_problem(corpus)
    folder = pipeline.home.corpora / corpus
    if problem:
        raise CorpusError(f"corpus '{corpus}': {problem}")
    settings = load_settings(folder)
    scan(folder, settings)
    before = pipeline.requests.of(corpus)
    defaults = settings.methods or default_methods()
    wanted = []
    for method in methods if methods is not None else ([] if before else ["default"]):
        wanted += {"default": defaults, "all": known_methods()}.get(method, [method])
    unknown = sorted(set(wanted) - set(known_methods()))
    if unknown:
        raise CorpusError(
            f"corpus '{corpus}': unknown methods {', '.join(unknown)}; "
            f"choose from {', '.join(known_methods())}"
        )
    return wanted


@contextmanager
def _trying_again(pipeline: Pipeline) -> Iterator[set]:
    """Let only what fails from now on count as given up."""
    before = pipeline.currency.failed_here
    pipeline.currency.failed_here = set()
    try:
        yield pipeline.currency.failed_here
    finally:
        pipeline.currency.failed_here = before


def _due(pipeline: Pipeline, instance: dg.DagsterInstance, corpus: str) -> Sequence[dg.RunRequest]:
    """What the conditions request now for one corpus, as runs."""
    graph = pipeline.definitions.resolve_asset_graph()
    # what `dg.evaluate_automation_conditions` does, less the cursor, which took two thirds of the
    # time and which conditions without memory do not need
    evaluator = AutomationConditionEvaluator(
        asset_graph=graph,
        instance=instance,
        entity_keys=graph.materializable_asset_keys,
        evaluation_id=0,
        cursor=AssetDaemonCursor.empty(),
        emit_backfills=False,
        logger=logging.getLogger(__name__),
    )
    _, requested = evaluator.evaluate()
    assets_of: dict[tuple[dg.PartitionsDefinition | None, str], set[dg.AssetKey]] = {}
    for subset in requested:
        if isinstance(subset.key, dg.AssetKey):
            definition = graph.get(subset.key).partitions_def
            for key in subset.expensively_compute_partition_keys():
                if partition_of(key, definition).corpus == corpus:
                    assets_of.setdefault((definition, key), set()).add(subset.key)
    with partition_loading_context(dynamic_partitions_store=instance):
        return [
            request
            for wanted in _independent(assets_of, graph.toposorted_asset_keys)
            for request in build_run_requests_with_backfill_policies(wanted, graph, instance)
        ]


def _independent(
    assets_of: Mapping[tuple[dg.PartitionsDefinition | None, str], Collection[dg.AssetKey]],
    order: Sequence[dg.AssetKey],
) -> list[list[AssetKeyPartitionKey]]:
    """What is requested, in groups of partitions that want the same assets, upstream ones first.

    All assets of a partition come into one run. Dagster's own grouping puts assets that want the
    same partitions together, which can put one into a run before that of its input.
    """
    place = {key: i for i, key in enumerate(order)}
    groups: dict[tuple, list[str]] = {}
    for (definition, partition), assets in assets_of.items():
        wanted = tuple(sorted(assets, key=place.__getitem__))
        groups.setdefault((definition, wanted), []).append(partition)
    return [
        [AssetKeyPartitionKey(asset, partition) for asset in wanted for partition in partitions]
        for (_, wanted), partitions in sorted(
            groups.items(), key=lambda group: [place[asset] for asset in group[0][1]]
        )
    ]


def _others_at_work(instance: dg.DagsterInstance, corpus: str) -> list[str]:
    """Runs of other processes that make partitions of this corpus, so that more may become due."""
    return [
        run.run_id
        for run in instance.get_runs(dg.RunsFilter(statuses=UNDER_WAY))
        if run.tags.get(PID) != str(os.getpid())
        and any(corpus in value.split("|") for value in run.tags.values())
    ]


def _execute(
    pipeline: Pipeline,
    instance: dg.DagsterInstance,
    corpus: str,
    request: dg.RunRequest,
    on_start: Callable[[Sequence[str], Sequence[Partition]], None],
) -> Made:
    """Run one request in this process."""
    keys = list(request.asset_selection or [])
    graph = pipeline.definitions.resolve_asset_graph()
    definition = graph.get(keys[0]).partitions_def
    with partition_loading_context(dynamic_partitions_store=instance):
        partitions = [partition_of(key) for key in _keys(request, definition)]
    names = [key.to_user_string() for key in graph.toposorted_asset_keys if key in set(keys)]
    on_start(names, partitions)
    started = time.monotonic()
    result = pipeline.definitions.resolve_implicit_global_asset_job_def().execute_in_process(
        instance=instance,
        asset_selection=keys,
        partition_key=request.partition_key,
        tags={**request.tags, **tags_of_this_process(corpus)},
        run_config=QUIET,
        raise_on_error=False,
    )
    error = None if result.success else _cause(result)
    return Made(names, partitions, time.monotonic() - started, error)


def _keys(
    request: dg.RunRequest,
    definition: dg.PartitionsDefinition | None,
) -> Sequence[str]:
    """The partition keys of a request for one partition or a range."""
    if definition is None:
        return []
    if request.partition_key:
        if isinstance(definition, dg.MultiPartitionsDefinition):
            return [definition.get_partition_key_from_str(request.partition_key)]
        return [request.partition_key]
    chosen = dg.PartitionKeyRange(
        request.tags["dagster/asset_partition_range_start"],
        request.tags["dagster/asset_partition_range_end"],
    )
    return definition.get_partition_keys_in_range(chosen)


def _cause(result: dg.ExecuteInProcessResult) -> str:
    """The first step that failed and its message, without Dagster's wrapping.

    Not that of the innermost cause: what an error was raised from says less than the error.
    """
    for event in result.all_events:
        if event.is_step_failure and event.step_failure_data.error:
            error = event.step_failure_data.error
            while error.cause and (error.cls_name or "").startswith("Dagster"):
                error = error.cause
            return f"{(event.step_key or '').replace('__', '/')}: {error.message.strip()}"
    return f"run {result.run_id} failed outside its steps; see it in the Dagster UI"
