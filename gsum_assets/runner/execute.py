"""Runs in this process: requests of the conditions, and observations of the sources."""

import logging
import re
import time
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import dagster as dg

from gsum_assets.automation.processes import CORPUS
from gsum_assets.dagster_assets.build import IF_CHANGED
from gsum_assets.pipeline.corpus_settings import CorpusError
from gsum_assets.pipeline.finding import count
from gsum_assets.pipeline.tables import table_of
from gsum_assets.registry.declared import STEP_OF
from gsum_assets.runner.pipeline import Pipeline
from gsum_resources.dagster_io.dagster_private import InMemoryJob, core_execute_in_process
from gsum_resources.dagster_io.failure import ERROR
from gsum_resources.dagster_io.warehouse_io import partition_of
from gsum_resources.protocols.models import (
    EmbedderUnavailableError,
    JudgeUnavailableError,
    ModelUnavailableError,
    ScorerUnavailableError,
)
from gsum_resources.store.parquet_store import Partition

_QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
_OWN_ERROR = re.compile(r"^gsum_[\w.]+: ")  # Dagster puts an error's class before its message
EMBEDDING_MODEL = dg.AssetKey("embedding_model")
_UNAVAILABLE = {
    ModelUnavailableError.__name__: dg.AssetKey("language_model"),
    JudgeUnavailableError.__name__: dg.AssetKey("judge_model"),
    EmbedderUnavailableError.__name__: EMBEDDING_MODEL,
    ScorerUnavailableError.__name__: dg.AssetKey("passage_scorer"),
}
OnStart = Callable[[Sequence[str], Sequence[Partition]], None]


@dataclass(frozen=True)
class RunResult:
    """Assets, partitions and outcome of one run.

    Attributes
    ----------
    error : None if the run succeeded.
    gaps : a line for each step whose tables lack rows because a model gave no valid reply.
    known_gaps : a line for each step whose tables lack rows for good, because a content filter
        rejected its requests.
    skipped : why something that the settings request was left out.
    unavailable : the model that was unavailable, if any.
    """

    assets: Sequence[str]
    partitions: Sequence[Partition]
    seconds: float
    error: str | None = None
    gaps: Sequence[str] = ()
    known_gaps: Sequence[str] = ()
    skipped: Sequence[str] = ()
    unavailable: dg.AssetKey | None = None


def execute(
    pipeline: Pipeline,
    instance: dg.DagsterInstance,
    tags: Mapping[str, str],
    keys: Sequence[dg.AssetKey],
    later: Sequence[dg.AssetKey],
    on_start: OnStart,
    on_step: Callable[[str], None] = lambda _: None,
    on_wait: Callable[[str], None] = lambda _: None,
) -> RunResult:
    """Materialize `keys` in one run; call `on_start` before it and `on_step` for each step.

    Parameters
    ----------
    tags : tags of the run, with its partitions.
    later : assets that the run writes, too, if an input of theirs turns out changed.
    on_wait : called with what a step waits for, while other runs fill its pool.
    """

    def report_step(entry: dg.EventLogEntry) -> None:
        event = entry.dagster_event
        if not (event and event.step_key):
            return
        asset = event.step_key.replace("__", "/")
        if event.event_type == dg.DagsterEventType.STEP_START:
            on_step(asset)
        elif event.event_type == dg.DagsterEventType.ENGINE_EVENT and (
            pool := event.engine_event_data.metadata.get("pool")
        ):
            on_wait(f"other runs, which fill the pool '{pool.value}' that {asset} needs")

    names, partitions = targets(pipeline, instance, keys, tags)
    if later:
        tags = {**tags, IF_CHANGED: ",".join(key.to_user_string() for key in later)}
    on_start(names, partitions)
    started = time.monotonic()
    run_id = str(uuid.uuid4())
    instance.add_event_listener(run_id, report_step)
    result = _run(pipeline, instance, [*keys, *later], tags, run_id)
    seconds = time.monotonic() - started
    events = result.all_events
    written = {event.asset_key for event in events if event.is_step_materialization}
    keys = [*keys, *(key for key in later if key in written)]
    return result_of(pipeline, instance, run_id, events, keys, partitions, seconds)


def _run(
    pipeline: Pipeline,
    instance: dg.DagsterInstance,
    keys: Collection[dg.AssetKey],
    tags: Mapping[str, str],
    run_id: str | None = None,
) -> dg.ExecuteInProcessResult:
    """Run assets as `JobDefinition.execute_in_process`, which describes the whole job each time."""
    selected = frozenset(keys)
    job = pipeline.definitions.resolve_implicit_global_asset_job_def()
    return core_execute_in_process(
        run_config=_QUIET,
        job=InMemoryJob(job.get_subset(asset_selection=selected)),
        instance=instance,
        output_capturing_enabled=False,
        raise_on_error=False,
        run_tags=tags,
        run_id=run_id,
        asset_selection=selected,
    )


def partition_tags(
    pipeline: Pipeline,
    instance: dg.DagsterInstance,
    request: dg.RunRequest,
    keys: Sequence[dg.AssetKey],
) -> dict[str, str]:
    """Return the tags of a request, with those of its partition if it is for a single one."""
    definition = pipeline.definitions.resolve_asset_graph().get(keys[0]).partitions_def
    if definition is None or not request.partition_key:
        return dict(request.tags)
    with dg.partition_loading_context(dynamic_partitions_store=instance):
        of_partition = definition.get_tags_for_partition_key(request.partition_key)
    return {**request.tags, **of_partition}


def targets(
    pipeline: Pipeline,
    instance: dg.DagsterInstance,
    keys: Sequence[dg.AssetKey],
    tags: Mapping[str, str],
) -> tuple[list[str], list[Partition]]:
    """Return the names of the assets of a run, and its partitions by its tags."""
    definition = pipeline.definitions.resolve_asset_graph().get(keys[0]).partitions_def
    with dg.partition_loading_context(dynamic_partitions_store=instance):
        partitions = [partition_of(key) for key in _partition_keys(tags, definition)]
    return [key.to_user_string() for key in keys], partitions


def result_of(
    pipeline: Pipeline,
    instance: dg.DagsterInstance,
    run_id: str,
    events: Sequence[dg.DagsterEvent],
    keys: Sequence[dg.AssetKey],
    partitions: Sequence[Partition],
    seconds: float,
) -> RunResult:
    """Return the result of a run that has ended, from its events."""
    names = [key.to_user_string() for key in keys]
    if any(event.event_type == dg.DagsterEventType.RUN_SUCCESS for event in events):
        # the first table of each step: all that a step writes records its failed requests
        steps = [(key, STEP_OF.get(name)) for key, name in zip(keys, names, strict=True)]
        heads = [key for key, step in steps if step is None or step.table == key.path[-1]]
        return RunResult(
            names,
            partitions,
            seconds,
            gaps=_gaps(pipeline, instance, run_id, heads, partitions),
            known_gaps=_known_gaps(pipeline, heads, partitions),
            skipped=_skipped(events),
        )
    error, unavailable = _cause(run_id, events)
    return RunResult(names, partitions, seconds, error, unavailable=unavailable)


def observe_sources(
    pipeline: Pipeline,
    instance: dg.DagsterInstance,
    corpus: str,
    tags: Mapping[str, str],
) -> str:
    """Observe the corpus folder, its settings and the models; return the id of that run.

    Raises
    ------
    CorpusError
        If one of them cannot be observed.
    """
    graph = pipeline.definitions.resolve_asset_graph()
    result = _run(pipeline, instance, graph.observable_asset_keys, {**tags, CORPUS: corpus})
    if not result.success:
        reason, _ = _cause(result.run_id, result.all_events)
        raise CorpusError(f"corpus '{corpus}' could not be observed: {reason}")
    return result.run_id


def _partition_keys(
    tags: Mapping[str, str], definition: dg.PartitionsDefinition | None
) -> Sequence[str]:
    """Return the partition keys of a run for one partition or a range."""
    if definition is None:
        return []
    if key := tags.get("dagster/partition"):
        if isinstance(definition, dg.MultiPartitionsDefinition):
            return [definition.get_partition_key_from_str(key)]
        return [key]
    chosen = dg.PartitionKeyRange(
        tags["dagster/asset_partition_range_start"], tags["dagster/asset_partition_range_end"]
    )
    return definition.get_partition_keys_in_range(chosen)


def _skipped(events: Sequence[dg.DagsterEvent]) -> list[str]:
    """Return a line for each distinct `skipped` entry in the metadata of materialized assets."""
    asset_of: dict[str, str] = {}
    for event in events:
        if event.event_type != dg.DagsterEventType.ASSET_MATERIALIZATION:
            continue
        reason = event.step_materialization_data.materialization.metadata.get("skipped")
        if reason is not None and event.asset_key is not None:
            asset_of.setdefault(str(reason.value), event.asset_key.to_user_string())
    return [f"{asset}: left empty: {reason}" for reason, asset in asset_of.items()]


def _gaps(
    pipeline: Pipeline,
    instance: dg.DagsterInstance,
    run_id: str,
    keys: Sequence[dg.AssetKey],
    partitions: Sequence[Partition],
) -> list[str]:
    """Return a line for each step whose tables lack rows, with its first warning."""
    gaps = []
    for key in keys:
        table = table_of(key.path)
        footers = (pipeline.store.provenance(table, partition) for partition in partitions)
        if failed := sum(footer.failed for footer in footers if footer):
            step = key.to_python_identifier()
            of_step = (entry for entry in instance.all_logs(run_id) if entry.step_key == step)
            warnings = (e.user_message for e in of_step if e.level == logging.WARNING)
            reason = next(warnings, "")
            requests = count(failed, "request")
            gaps.append(
                f"{key.to_user_string()}: rows are missing: a model gave {requests} no "
                f"valid reply{f' (first: {reason})' if reason else ''}; run it again to repeat "
                "these requests"
            )
    return gaps


def _known_gaps(
    pipeline: Pipeline, keys: Sequence[dg.AssetKey], partitions: Sequence[Partition]
) -> list[str]:
    """Return a line for each step with rows that a content filter prevents."""
    gaps = []
    for key in keys:
        footers = (pipeline.store.provenance(table_of(key.path), p) for p in partitions)
        if filtered := sum(footer.filtered for footer in footers if footer):
            gaps.append(
                f"{key.to_user_string()}: rows are missing for good: a content filter rejected "
                f"{count(filtered, 'request')}; change filter_version of the model in gsum.toml to "
                "send them again"
            )
    return gaps


def _cause(run_id: str, events: Sequence[dg.DagsterEvent]) -> tuple[str, dg.AssetKey | None]:
    """Return the first failed step with its message, and the model that is unavailable.

    Dagster's wrapping errors are skipped, but not to the innermost cause: the error that another
    was raised from says less.
    """
    for event in events:
        if event.is_step_failure and event.step_failure_data.error:
            error = event.step_failure_data.error
            while error.cause and (error.cls_name or "").startswith("Dagster"):
                error = error.cause
            step = (event.step_key or "").replace("__", "/")
            if failure := event.step_failure_data.user_failure_data:
                name = failure.metadata.get(ERROR)
                unavailable = _UNAVAILABLE.get(str(name.value)) if name else None
                return f"{step}: {failure.description}", unavailable
            return f"{step}: {_OWN_ERROR.sub('', error.message.strip())}", None
        if event.event_type == dg.DagsterEventType.RUN_CANCELED:
            return f"run {run_id} was canceled", None
    return f"run {run_id} failed outside its steps; see it in the Dagster UI", None
