"""Reconciliation of requests, partitions and tables with the corpus folders.

`Reconciler.look` and `Reconciler.overdue` only read: the sensor calls them. `reconcile` and
`forget` act: the jobs `reconcile_corpora` and `forget_corpus`, and `gsum run`, call them.
"""

import hashlib
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import dagster as dg

from gsum_assets.automation.corpora import forget_tables
from gsum_assets.automation.forget import Forgetting
from gsum_assets.automation.jobs import FORGET_CORPUS, RECONCILE_CORPORA
from gsum_assets.automation.missing import MissingCorpora
from gsum_assets.automation.processes import (
    CORPUS,
    ended_runs_with_slots,
    fail_orphaned_runs,
    orphaned_runs,
    runs_on,
)
from gsum_assets.automation.record import follow_warehouse, wipe_corpus
from gsum_assets.automation.staleness import Node
from gsum_assets.corpus.buckets import Buckets
from gsum_assets.corpus.folder import is_removed
from gsum_assets.corpus.methods import Methods
from gsum_assets.dagster_assets.partitions import without_surplus_buckets
from gsum_assets.pipeline.corpus_settings import CorpusError
from gsum_resources.dagster_io.failure import explained
from gsum_resources.dagster_io.warehouse_io import WarehouseIO
from gsum_resources.settings.paths import folders_in
from gsum_resources.state.leases import Leases
from gsum_resources.state.requests import Requests


@dataclass(frozen=True)
class Discrepancies:
    """What `Reconciler.reconcile` would change.

    Attributes
    ----------
    unregistered : corpora with a folder that are new, or for which nothing is requested.
    missing : corpora without a folder for which this is not noted yet.
    returned : corpora whose folder is back.
    ended : runs, leases and pool slots of processes that have ended.
    deleted : deleted documents whose leftovers can be removed.
    """

    unregistered: Sequence[str] = ()
    missing: Sequence[str] = ()
    returned: Sequence[str] = ()
    ended: Sequence[str] = ()
    deleted: Sequence[str] = ()

    def __bool__(self) -> bool:
        return any(map(len, vars(self).values()))

    @property
    def digest(self) -> str:
        """Hash, for the tag of a run that reconciles them."""
        return hashlib.blake2b(repr(self).encode(), digest_size=8).hexdigest()


@dataclass(frozen=True)
class Reconciler:
    """Reconciliation of one home.

    Attributes
    ----------
    nodes : the materializable assets.
    definitions : partitions of all assets, also of observed ones.
    grace_s : seconds in which a missing folder may come back.
    """

    warehouse: WarehouseIO
    requests: Requests
    buckets: Buckets
    methods: Methods
    forgetting: Forgetting
    leases: Leases
    nodes: Mapping[dg.AssetKey, Node]
    definitions: Mapping[dg.AssetKey, dg.PartitionsDefinition | None]
    grace_s: float

    @property
    def missing(self) -> MissingCorpora:
        """Since when the folders of corpora are missing."""
        return MissingCorpora(self.warehouse.store)

    def look(self, instance: dg.DagsterInstance, new: Collection[str] = ()) -> Discrepancies:
        """Return what does not agree, without changing anything.

        Parameters
        ----------
        new : corpora that are about to be added.
        """
        gone, noted = self._removed(instance), self.missing.since()
        deleted = self.forgetting.waiting(instance)
        return Discrepancies(
            unregistered=sorted({*new, *self._unregistered(instance)}),
            missing=sorted(gone - noted.keys()),
            returned=sorted(noted.keys() - gone),
            ended=self._ended(instance),
            deleted=[f"{c}/{d}" for c in deleted for d in (deleted[c].deleted or [""])],
        )

    def overdue(self, instance: dg.DagsterInstance, now: float) -> list[str]:
        """Return the corpora whose folder is missing for longer than the grace, and no run on them.

        Parameters
        ----------
        now : Unix time.
        """
        since = self.missing.since().items()
        late = [corpus for corpus, noted in since if now - noted >= self.grace_s]
        gone = self._removed(instance) if late else set()  # lists the folders
        return [corpus for corpus in late if corpus in gone and not runs_on(instance, corpus)]

    def about_missing(self, now: float) -> list[str]:
        """Return a line for each missing corpus: how long its folder may still come back."""
        left_h = {
            corpus: max(0.0, self.grace_s - (now - since)) / 3600
            for corpus, since in self.missing.since().items()
        }
        return [
            f"{corpus}: its folder is missing; the corpus is forgotten in {hours:.1f} hours unless "
            "it comes back ([automation] forget_after_h)"
            for corpus, hours in left_h.items()
        ]

    def note_missing(self, instance: dg.DagsterInstance, now: float) -> None:
        """Note which folders are missing, and which are back."""
        gone, noted = self._removed(instance), self.missing.since()
        self.missing.note(gone - noted.keys(), now)
        self.missing.clear(noted.keys() - gone)

    def reconcile(self, instance: dg.DagsterInstance, now: float, run_id: str | None) -> list[str]:
        """Let everything agree; return a line for each kind of change.

        Parameters
        ----------
        now : Unix time.
        run_id : the run that does it.
        """
        findings = self.look(instance)
        fail_orphaned_runs(instance, self.leases)
        self.note_missing(instance, now)
        for corpus in findings.unregistered:
            self.register(corpus)
        forgotten = self.forgetting.forget_deleted(instance, run_id=run_id)
        n_reported, n_wiped = follow_warehouse(instance, self.warehouse.store, self.nodes.values())
        self.warehouse.complete_catalogue(of_others=True)
        lines = [
            f"{name}: {', '.join(values)}" for name, values in vars(findings).items() if values
        ]
        if forgotten:
            lines.append(str(forgotten))
        if n_reported or n_wiped:
            lines.append(
                f"Dagster's record: reported {n_reported:,} partitions of the warehouse that it "
                f"did not know, removed {n_wiped:,} that are not there"
            )
        return lines

    def register(self, corpus: str) -> None:
        """Fix the buckets of a new corpus, and request its default methods; others are left."""
        methods = None if corpus in self.requests.corpora() else self._wanted(corpus)
        if methods is not None:
            self.buckets.fix(corpus, self.warehouse.home.corpora / corpus)
            self.requests.add(corpus, methods)

    def start(self, instance: dg.DagsterInstance) -> None:
        """Prepare an instance for a daemon: as after a power cut, or runs of another instance.

        Orphaned runs would fill the queue, in which the run that fails them waits.
        """
        fail_orphaned_runs(instance, self.leases)
        follow_warehouse(instance, self.warehouse.store, self.nodes.values())

    def forget(self, instance: dg.DagsterInstance, corpus: str) -> None:
        """Remove a corpus's files, requests, and partitions with their record in Dagster."""
        forget_tables(self.warehouse, self.requests, corpus)
        self.buckets.reread()
        wipe_corpus(instance, corpus, self.definitions)
        instance.delete_dynamic_partition("corpora", corpus)
        left = instance.get_dynamic_partitions("corpora")
        without_surplus_buckets(instance, map(self.buckets.of, left))
        self.missing.clear([corpus])

    def _removed(self, instance: dg.DagsterInstance) -> set[str]:
        """Return the known corpora whose folder is missing; none while all folders are."""
        root = self.warehouse.home.corpora
        present = set(folders_in(root))
        if not present and not root.is_dir():  # perhaps not mounted
            return set()
        known = {*instance.get_dynamic_partitions("corpora"), *self.requests.corpora()}
        return {corpus for corpus in known - present if is_removed(root / corpus)}

    def _unregistered(self, instance: dg.DagsterInstance) -> set[str]:
        """Return the corpora with a readable folder for which nothing is requested."""
        known = set(instance.get_dynamic_partitions("corpora")) - self.requests.corpora()
        present = known & set(folders_in(self.warehouse.home.corpora))
        return {corpus for corpus in present if self._wanted(corpus) is not None}

    def _wanted(self, corpus: str) -> list[str] | None:
        """Return the default methods of a corpus; None if it cannot be read."""
        try:
            return self.methods.wanted(self.warehouse.home.corpora, corpus)
        except CorpusError:
            return None

    def _ended(self, instance: dg.DagsterInstance) -> list[str]:
        """Return the fences, runs and holders of slots whose processes have ended."""
        living, ended = self.leases.by_life()
        runs = orphaned_runs(instance, {str(lease.fence) for lease in living})
        fences = (str(lease.fence) for lease in ended)
        return [*fences, *(run.run_id for run in runs), *ended_runs_with_slots(instance)]


def reconciling_jobs(reconciler: Reconciler) -> list[dg.JobDefinition]:
    """Return the jobs that reconcile all corpora, and that forget one."""

    @dg.op(
        out=dg.Out(dg.Nothing),
        description="Agree requests, partitions and Dagster's record with the folders.",
    )
    @explained()
    def reconcile(context: dg.OpExecutionContext) -> None:
        for line in reconciler.reconcile(context.instance, time.time(), context.run_id):
            context.log.info(line)

    @dg.op(
        out=dg.Out(dg.Nothing),
        description="Remove everything that was computed for the corpus of the run.",
    )
    @explained()
    def remove_tables(context: dg.OpExecutionContext) -> None:
        corpus = context.run.tags.get(CORPUS)
        if not corpus:
            raise dg.Failure(f"name the corpus by the tag {CORPUS} of the run", allow_retries=False)
        folder = reconciler.warehouse.home.corpora / corpus
        if not folder.parent.is_dir() or not is_removed(folder):
            raise dg.Failure(
                f"corpus '{corpus}': its folder {folder} exists, or the folder of all corpora does "
                "not; delete the folder of the corpus first",
                allow_retries=False,
            )
        others = [run for run in runs_on(context.instance, corpus) if run.run_id != context.run_id]
        if others:
            raise dg.Failure(
                f"corpus '{corpus}': run {others[0].run_id} on it must end first; the sensor "
                "watch_corpora requests this job again",
                allow_retries=False,
            )
        reconciler.forget(context.instance, corpus)
        context.log.info(f"forgot corpus '{corpus}', whose folder {folder} is missing")

    @dg.job(
        executor_def=dg.in_process_executor,
        name=RECONCILE_CORPORA,
        description="Requests the default methods of new corpora, notes which folders are missing, "
        "fails the runs of killed processes, removes leftovers of deleted documents, and lets "
        "Dagster's record of materializations follow the warehouse.",
    )
    def reconcile_corpora() -> None:
        reconcile()

    @dg.job(
        executor_def=dg.in_process_executor,
        name=FORGET_CORPUS,
        description=f"Removes the tables, requests and partitions of the corpus named by the tag "
        f"{CORPUS}, whose folder was deleted. The sensor watch_corpora starts it after the time "
        "`[automation] forget_after_h` of gsum.toml.",
    )
    def forget_corpus() -> None:
        remove_tables()

    return [reconcile_corpora, forget_corpus]
