"""The sensor over the corpora, which only looks: it requests a run of each corpus that changed."""

import json
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

import dagster as dg

from gsum_assets.answering.workspace import Workspace
from gsum_assets.corpus.buckets import Buckets
from gsum_assets.corpus.folder import stamp_of
from gsum_assets.corpus.observe import has_changed
from gsum_assets.dagster_assets.jobs import FORGET, UPKEEP, index_request
from gsum_assets.dagster_assets.partitions import CORPORA, corpora
from gsum_assets.dagster_assets.record import dead_runs
from gsum_assets.dagster_assets.run_resource import INDEX_JOB
from gsum_assets.forgetting.missing import look_for_missing
from gsum_assets.pipeline.corpus_settings import CorpusError
from gsum_assets.refresh.staleness import needs_run
from gsum_assets.registry.declared import Declared
from gsum_resources.settings.paths import folders_in

_COMPARED = 20  # corpora of which one tick looks whether a run of somebody else was complete
_AGAIN_S = 600.0  # until upkeep is requested again for a run that it did not end


@dataclass
class Seen:
    """What the sensor saw of the folders, kept in its cursor.

    Attributes
    ----------
    digests : of the files of each corpus when its last run was requested, and the number of runs
        requested so far, which makes the key of a run.
    missing : since when the folder of a corpus is missing, Unix time.
    """

    digests: dict[str, tuple[str, int]] = field(default_factory=dict)
    missing: dict[str, float] = field(default_factory=dict)

    def digest(self, corpus: str) -> str:
        """Return the digest of a corpus; "" for one that was not seen, or cannot be read."""
        return self.digests.get(corpus, ("", 0))[0]

    @classmethod
    def of_cursor(cls, cursor: str | None) -> "Seen":
        """Return what a cursor says."""
        return cls(**json.loads(cursor or "{}"))


def watch_corpora(
    workspace: Workspace, jobs: list, defined: Sequence[Declared]
) -> dg.SensorDefinition:
    """Return the sensor over the folder of all corpora, which requests some of the jobs."""
    home, automation = workspace.home, workspace.home.settings().automation

    @dg.sensor(
        name="watch_corpora",
        jobs=[job for job in jobs if job.name in (INDEX_JOB, FORGET, UPKEEP)],
        minimum_interval_seconds=automation.interval_s,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=f"Looks at the folders: requests a run of the job {INDEX_JOB} for each corpus "
        f"whose files changed, and {FORGET} for one whose folder is missing for long.",
    )
    def watch(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        if not home.corpora.is_dir():  # perhaps not mounted
            return dg.SkipReason(
                f"folder {home.corpora} does not exist; create it, with a folder for each corpus"
            )
        known = frozenset(context.instance.get_dynamic_partitions(CORPORA))
        seen, now = Seen.of_cursor(context.cursor), time.time()
        missing = look_for_missing(
            home.corpora, known, seen.missing, now, automation.forget_after_h
        )
        seen.missing = missing.since
        notes = missing.notes
        runs = [*_changed(workspace, defined, seen, known, now, notes)]
        for corpus in missing.overdue:
            key = f"{FORGET}-{corpus}-{missing.since[corpus]:.0f}"
            runs.append(dg.RunRequest(key, job_name=FORGET, partition_key=corpus))
        if dead_runs(context.instance, workspace.store):
            runs.append(dg.RunRequest(f"{UPKEEP}-{now // _AGAIN_S:.0f}", job_name=UPKEEP))
        for note in notes:
            context.log.warning(note)
        new = [c for c in folders_in(home.corpora) if c not in known and seen.digest(c)]
        reason = "; ".join(notes) or f"nothing has changed in {home.corpora}"
        return dg.SensorResult(
            run_requests=runs,
            dynamic_partitions_requests=[corpora.build_add_request(new)] if new else [],
            cursor=json.dumps(vars(seen)),
            skip_reason=None if runs else reason,
        )

    return watch


def _changed(
    workspace: Workspace,
    defined: Sequence[Declared],
    seen: Seen,
    known: Collection[str],
    now: float,
    notes: list[str],
) -> Iterator[dg.RunRequest]:
    """Yield a run for each corpus whose files differ from what was seen, or that was forgotten."""
    root = workspace.home.corpora
    n_compared = 0
    for corpus in folders_in(root):
        stamp = stamp_of(root / corpus)
        digest, n = seen.digests.get(corpus, ("", 0))
        if stamp.digest == digest and corpus in known:
            continue
        if not stamp.is_quiet(now):
            notes.append(f"{corpus}: its files are still being written")
            continue
        try:
            Buckets(workspace.store).needed(corpus, root / corpus)
            if not has_changed(workspace.store, root, corpus):  # another run has seen it
                n_compared += 1
                if n_compared > _COMPARED:
                    continue
                if not needs_run(workspace, corpus):
                    seen.digests[corpus] = stamp.digest, n
                    continue
            yield index_request(workspace, corpus, defined, f"{corpus}-{stamp.digest}-{n + 1}")
        except CorpusError as error:
            notes.append(f"{corpus}: {error}")
            seen.digests[corpus] = "", n
            continue
        seen.digests[corpus] = stamp.digest, n + 1
