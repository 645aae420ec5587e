"""Sensor over the corpora, which only looks: what it finds is done by the runs it requests."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dagster as dg

from gsum_assets.automation.jobs import FORGET_CORPUS, OBSERVE_SOURCES, RECONCILE_CORPORA
from gsum_assets.automation.processes import CORPUS, UNDER_WAY
from gsum_assets.automation.reconcile import Reconciler
from gsum_assets.corpus.folder import is_removed, stamp_of
from gsum_assets.corpus.load import N_BUCKETS
from gsum_assets.dagster_assets.partitions import buckets as bucket_keys
from gsum_assets.dagster_assets.partitions import corpora
from gsum_assets.pipeline.corpus_settings import CorpusError
from gsum_resources.settings.paths import folders_in
from gsum_resources.store.partition import bucket_names

FOUND = "gsum/found"
"""Tag of a run that reconciles: hash of what the sensor found."""
WATCHED = (OBSERVE_SOURCES, RECONCILE_CORPORA, FORGET_CORPUS)
"""Jobs that the sensor requests."""
_SHOWN = 20  # corpora whose requests a tick lists
_AGAIN_S = 600.0  # until a run that changed nothing is requested again


@dataclass
class Findings:
    """Changes of the corpus folders; the next comparison starts from `seen`."""

    seen: dict[str, str]
    new: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def find_changes(
    root: Path,
    known: frozenset[str],
    seen: dict[str, str],
    accept: Callable[[Path, str], object],
    now: float,
) -> Findings:
    """Compare the folders under `root` with what was seen of them, by names and times only.

    Parameters
    ----------
    known : corpora added before.
    seen : for each corpus the digest of its files when last observed.
    accept : called with root and corpus; raises `CorpusError` if it cannot be added.
    now : Unix time.
    """
    folders = {name: root / name for name in folders_in(root)}
    changes = Findings({name: stamp for name, stamp in seen.items() if name in folders})
    changes.removed = sorted(name for name in known - folders.keys() if is_removed(root / name))
    for name, folder in folders.items():
        stamp = stamp_of(folder)
        if name in known and seen.get(name) == stamp.digest:
            continue
        if not stamp.is_quiet(now):
            changes.left_out.append(f"{name}: its files are still being written")
            continue
        try:
            accept(root, name)
        except CorpusError as error:
            changes.left_out.append(f"{name}: {error}")
            continue
        changes.seen[name] = stamp.digest
        (changes.changed if name in known else changes.new).append(name)
    return changes


def watch_corpora(
    reconciler: Reconciler,
    jobs: Sequence[Any],
    interval_s: int,
    requests_of: Callable[[str], str],
) -> dg.SensorDefinition:
    """Return the sensor over the folder of all corpora; it only looks, and requests runs.

    Parameters
    ----------
    jobs : those named `WATCHED`.
    requests_of : returns what is requested of a corpus, to be shown in the ticks.
    """
    root, buckets = reconciler.warehouse.home.corpora, reconciler.buckets

    def accept(root: Path, corpus: str) -> None:
        reconciler.methods.wanted(root, corpus)
        buckets.needed(corpus, root / corpus)

    @dg.sensor(
        name="watch_corpora",
        jobs=jobs,
        minimum_interval_seconds=interval_s,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Adds new corpus folders and observes those whose files changed. Requests "
        f"{RECONCILE_CORPORA} where requests, runs or deleted documents do not agree with what is "
        f"there, and {FORGET_CORPUS} for a folder that is missing for long.",
    )
    def watch(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        instance, now = context.instance, time.time()
        if not root.is_dir():  # perhaps not mounted
            return dg.SkipReason(
                f"folder {root} does not exist; create it, with a folder for each corpus"
            )
        known = frozenset(instance.get_dynamic_partitions("corpora"))
        buckets.reread()
        changes = find_changes(root, known, json.loads(context.cursor or "{}"), accept, now)
        for line in changes.left_out:
            context.log.warning(line)
        runs = [
            *(
                _run(OBSERVE_SOURCES, {CORPUS: corpus})
                for corpus in (*changes.new, *changes.changed)
            ),
            *_upkeep(reconciler, instance, changes.new, now),
        ]
        numbers = [
            *(buckets.of(corpus) for corpus in known),
            *(buckets.needed(corpus, root / corpus) for corpus in changes.new),
        ]
        present = set(instance.get_dynamic_partitions("buckets"))
        wanted = bucket_names(max(numbers, default=N_BUCKETS))
        added = [name for name in wanted if name not in present]
        missing = (f"{corpus}: its folder is missing" for corpus in changes.removed)
        reason = "; ".join([*changes.left_out, *missing]) or "no corpus folder changed"
        shown = sorted(known - set(changes.removed))[:_SHOWN]
        reason = "\n".join([reason, *(f"{corpus}: {requests_of(corpus)}" for corpus in shown)])
        return dg.SensorResult(
            run_requests=runs,
            dynamic_partitions_requests=[
                *([corpora.build_add_request(changes.new)] if changes.new else []),
                *([bucket_keys.build_add_request(added)] if added else []),
            ],
            cursor=json.dumps(changes.seen),
            skip_reason=None if runs else reason,
        )

    return watch


def _upkeep(
    reconciler: Reconciler, instance: dg.DagsterInstance, new: Sequence[str], now: float
) -> Iterator[dg.RunRequest]:
    """Yield the runs that let everything agree, unless they were requested recently."""
    findings = reconciler.look(instance, new)
    if findings and _may_start(instance, RECONCILE_CORPORA, {FOUND: findings.digest}, now):
        yield _run(RECONCILE_CORPORA, {FOUND: findings.digest})
    for corpus in reconciler.overdue(instance, now):
        if _may_start(instance, FORGET_CORPUS, {CORPUS: corpus}, now):
            yield _run(FORGET_CORPUS, {CORPUS: corpus})


def _run(job_name: str, tags: Mapping[str, str]) -> dg.RunRequest:
    return dg.RunRequest(job_name=job_name, tags=tags)


def _may_start(
    instance: dg.DagsterInstance, job_name: str, tags: Mapping[str, str], now: float
) -> bool:
    """Return whether a run may be requested: none of the job is unfinished, nor the last one equal.

    An equal run that has ended recently failed, if what it was for is still there.
    """
    statuses = [*UNDER_WAY, dg.DagsterRunStatus.QUEUED]
    if instance.get_runs(dg.RunsFilter(job_name=job_name, statuses=statuses), limit=1):
        return False
    since = datetime.fromtimestamp(now - _AGAIN_S, UTC)
    last = instance.get_runs(dg.RunsFilter(job_name=job_name, created_after=since), limit=1)
    return not any(tags.items() <= run.tags.items() for run in last)
