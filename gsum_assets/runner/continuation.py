"""What a change makes due, computed in the process of the daemon's run that brought the change.

Each step of the chain would otherwise wait for an evaluation of the conditions and for the start of
a process. The runs of the chain are recorded as those of `gsum run`: each asset's partitions,
failures and retries are its own.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace

import dagster as dg

from gsum_assets.automation.daemon import evaluations_by_daemon, other_launcher
from gsum_assets.automation.jobs import OBSERVE_SOURCES
from gsum_assets.automation.processes import CORPUS, SENSOR, WORK, lease_on
from gsum_assets.automation.staleness import Snapshot
from gsum_assets.runner.execute import RunResult, targets
from gsum_assets.runner.loop import Loop
from gsum_assets.runner.pipeline import Pipeline
from gsum_assets.runner.report import RunReport, Watch
from gsum_resources.state.leases import Leases
from gsum_resources.store.parquet_store import Partition

_MOST_CORPORA = 2  # at once, by `gsum/work` in `dagster.yaml`


def proceed(
    pipeline: Pipeline, instance: dg.DagsterInstance, run: dg.DagsterRun, log: logging.Logger
) -> None:
    """Compute what is due in the corpora of a run that the daemon has started, if nobody does."""
    leases = Leases(pipeline.store)

    def new_snapshot() -> Snapshot:  # as the daemon's
        snapshot = pipeline.new_snapshot(instance)
        return replace(snapshot, scope=leases.first(), waiting=pipeline.model_changes.waiting)

    for corpus in _corpora(pipeline, instance, run):
        pipeline.reconciler.register(corpus)
        computing = {lease.corpus for lease in leases.living() if not lease.first}
        if corpus in computing or len(computing) >= _MOST_CORPORA:
            continue  # the daemon requests the rest later
        with lease_on(instance, leases, corpus) as lease:
            if not leases.before(lease.lease):
                watch = _logged(pipeline, log)
                loop = Loop(pipeline, instance, lease, RunReport(), watch, False, within=run)
                loop.materialize(new_snapshot)


def _corpora(pipeline: Pipeline, instance: dg.DagsterInstance, run: dg.DagsterRun) -> Iterator[str]:
    """Yield the corpora that a run has changed or observed, if the conditions requested it.

    None of what a person starts, such as a partial rebuild: it does what was selected. None where
    `dagster.yaml` names a run launcher: run monitoring would find no worker of the runs that
    continue this one, and fail them.
    """
    if SENSOR not in run.tags or evaluations_by_daemon(instance) is None:
        return
    if other_launcher(instance):
        return
    if run.job_name == OBSERVE_SOURCES and CORPUS in run.tags:
        yield run.tags[CORPUS]
    elif run.tags.get(WORK):
        keys = sorted(run.asset_selection or ())
        _, partitions = targets(pipeline, instance, keys, run.tags)
        yield from sorted({partition.corpus for partition in partitions})


def _logged(pipeline: Pipeline, log: logging.Logger) -> Watch:
    """Return callbacks that write to the log of the daemon's run."""

    def on_start(assets: Sequence[str], partitions: Sequence[Partition]) -> None:
        log.info(f"computes {', '.join(assets)} of {', '.join(p.path for p in partitions)}")

    def on_end(result: RunResult) -> None:
        if result.error:
            log.error(result.error)

    graph = pipeline.definitions.resolve_asset_graph()
    return Watch(graph, on_start, on_end, log.info, lambda *_: None)
