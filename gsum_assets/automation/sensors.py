"""Watches the corpora: new folders are taken in, changed ones looked at, removed ones forgotten."""

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
from gsum_assets.corpus.folder import is_removed, stamp_of
from gsum_assets.corpus.settings import CorpusError
from gsum_assets.partitions import corpora
from gsum_assets.processes import CORPUS, fail_orphaned_runs, runs_on
from gsum_resources.warehouse_io import WarehouseIO


@dataclass
class Findings:
    """What a look at all corpus folders found; the next look starts from `seen`."""

    seen: dict[str, str]
    new: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def find_changes(
    root: Path,
    known: frozenset[str],
    seen: dict[str, str],
    accept: Callable[[Path, str], object],
    now: float,
) -> Findings:
    """Compare the folders under `root` with what was seen of them; reads names and times only.

    Parameters
    ----------
    known : corpora taken in before.
    seen : for each corpus what its files looked like at its last look.
    accept : raises `CorpusError` for a root and a corpus that cannot be taken in.
    now : Unix time.
    """
    folders = {f.name: f for f in sorted(root.iterdir()) if f.is_dir() and f.name[0] not in ".~"}
    found = Findings({name: stamp for name, stamp in seen.items() if name in folders})
    found.gone = sorted(name for name in known - folders.keys() if is_removed(root / name))
    for name, folder in folders.items():
        stamp = stamp_of(folder)
        if name in known and seen.get(name) == stamp.digest:
            continue
        if not stamp.is_quiet(now):
            found.left_out.append(f"{name}: its files are still being written")
            continue
        try:
            accept(root, name)
        except CorpusError as problem:
            found.left_out.append(f"{name}: {problem}")
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
    interval_s: int,
) -> dg.SensorDefinition:
    """The sensor over the folder of all corpora."""

    @dg.sensor(
        name="watch_corpora",
        job_name=OBSERVE_SOURCES,
        minimum_interval_seconds=interval_s,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Takes in new corpus folders, looks at those whose files changed and forgets "
        "those that were removed, and what deleted documents left behind; also ends the runs of "
        "killed processes.",
    )
    def watch(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        instance = context.instance
        fail_orphaned_runs(instance)
        if not root.is_dir():  # not mounted, perhaps: no reason to forget anything
            return dg.SkipReason(f"folder {root} does not exist; create it, a folder a corpus")
        known = frozenset(instance.get_dynamic_partitions("corpora"))
        seen = json.loads(context.cursor or "{}")
        found = find_changes(root, known, seen, methods.wanted, time.time())
        busy = [corpus for corpus in found.gone if runs_on(instance, corpus)]
        gone = [corpus for corpus in found.gone if corpus not in busy]
        for corpus in gone:
            forget_tables(warehouse, requests, corpus)
        for corpus in found.new:
            if requests.of(corpus) is None:
                requests.add(corpus, methods.wanted(root, corpus))
        told = [*found.left_out, *(f"{c}: removed, but runs on it must end first" for c in busy)]
        for line in told:
            context.log.warning(line)
        observed = [*found.new, *found.changed]
        if not observed and not gone and (forgotten := forgetting.forget_deleted(instance)):
            context.log.info(str(forgotten))
        return dg.SensorResult(
            run_requests=[dg.RunRequest(tags={CORPUS: corpus}) for corpus in observed],
            dynamic_partitions_requests=[
                *([corpora.build_add_request(found.new)] if found.new else []),
                *([corpora.build_delete_request(gone)] if gone else []),
            ],
            cursor=json.dumps(found.seen),
            skip_reason=None if observed else "; ".join(told) or "no corpus folder changed",
        )

    return watch
