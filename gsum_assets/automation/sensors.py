"""Sensor over the corpora: new folders are added, changed ones observed, deleted ones removed."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import dagster as dg

from gsum_assets.automation.corpora import Methods, forget_tables
from gsum_assets.automation.forget import Forgetting
from gsum_assets.automation.jobs import OBSERVE_SOURCES
from gsum_assets.automation.staleness import Requests
from gsum_assets.corpus.buckets import Buckets
from gsum_assets.corpus.folder import is_removed, stamp_of
from gsum_assets.corpus.settings import CorpusError
from gsum_assets.partitions import corpora, with_buckets, without_surplus_buckets
from gsum_assets.processes import CORPUS, fail_orphaned_runs, runs_on
from gsum_resources.leases import Leases
from gsum_resources.paths import folders_in
from gsum_resources.warehouse_io import WarehouseIO


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
    found = Findings({name: stamp for name, stamp in seen.items() if name in folders})
    found.removed = sorted(name for name in known - folders.keys() if is_removed(root / name))
    for name, folder in folders.items():
        stamp = stamp_of(folder)
        if name in known and seen.get(name) == stamp.digest:
            continue
        if not stamp.is_quiet(now):
            found.left_out.append(f"{name}: its files are still being written")
            continue
        try:
            accept(root, name)
        except CorpusError as error:
            found.left_out.append(f"{name}: {error}")
            continue
        found.seen[name] = stamp.digest
        (found.changed if name in known else found.new).append(name)
    return found


def watch_corpora(
    root: Path,
    warehouse: WarehouseIO,
    requests: Requests,
    methods: Methods,
    forgetting: Forgetting,
    leases: Leases,
    interval_s: int,
) -> dg.SensorDefinition:
    """Return the sensor over the folder of all corpora."""

    def accept(root: Path, corpus: str) -> None:
        methods.wanted(root, corpus)
        Buckets(warehouse.store).fix(corpus, root / corpus)

    @dg.sensor(
        name="watch_corpora",
        job_name=OBSERVE_SOURCES,
        minimum_interval_seconds=interval_s,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Adds new corpus folders, observes those whose files changed, and removes the "
        "tables of deleted ones and the leftovers of deleted documents; also fails the runs of "
        "killed processes.",
    )
    def watch(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        instance = context.instance
        fail_orphaned_runs(instance, leases)
        if not root.is_dir():  # perhaps not mounted: remove nothing
            return dg.SkipReason(
                f"folder {root} does not exist; create it, with a folder for each corpus"
            )
        known = frozenset(instance.get_dynamic_partitions("corpora"))
        buckets = Buckets(warehouse.store)
        seen = json.loads(context.cursor or "{}")
        found = find_changes(root, known, seen, accept, time.time())
        busy = [corpus for corpus in found.removed if runs_on(instance, corpus)]
        removed = [corpus for corpus in found.removed if corpus not in busy]
        for corpus in removed:
            forget_tables(warehouse, requests, corpus)
        present = (known | set(found.new)) - set(removed)
        numbers = [buckets.of(corpus) for corpus in present]
        with_buckets(instance, numbers)
        if removed:
            without_surplus_buckets(instance, numbers)
        for corpus in found.new:
            if requests.of(corpus) is None:
                requests.add(corpus, methods.wanted(root, corpus))
        warnings = [
            *found.left_out,
            *(f"{c}: removed, but runs on it must end first" for c in busy),
        ]
        for line in warnings:
            context.log.warning(line)
        warehouse.complete_catalogue(of_others=True)  # runs of a daemon are other processes
        observed = [*found.new, *found.changed]
        if not observed and not removed and (forgotten := forgetting.forget_deleted(instance)):
            context.log.info(str(forgotten))
        return dg.SensorResult(
            run_requests=[dg.RunRequest(tags={CORPUS: corpus}) for corpus in observed],
            dynamic_partitions_requests=[
                *([corpora.build_add_request(found.new)] if found.new else []),
                *([corpora.build_delete_request(removed)] if removed else []),
            ],
            cursor=json.dumps(found.seen),
            skip_reason=None if observed else "; ".join(warnings) or "no corpus folder changed",
        )

    return watch
