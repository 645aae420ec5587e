"""Removal of the leftovers of deleted documents, once all tables are recomputed without them.

The job `reconcile_corpora` and the command line share one rule: while something is due or a run is
in progress, nothing is removed, because moved or renamed documents are about to be requested again,
and their replies are paid.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import dagster as dg

from gsum_assets.automation.jobs import RECONCILE_CORPORA
from gsum_assets.automation.processes import UNDER_WAY
from gsum_assets.automation.staleness import Snapshot
from gsum_assets.forgetting.deletions import DeletedDocuments, Deletions
from gsum_assets.forgetting.replies import Present, forget_names, replies_to_forget
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.llm.ledger import export_calls, forget_replies
from gsum_resources.state.database import state_of
from gsum_resources.store.appended import APPENDED, read_appended
from gsum_resources.store.array_cache import forget_arrays
from gsum_resources.store.parquet_store import ParquetStore

_CALLS = TABLES["llm_calls"]
_AT_WORK_S = 60.0  # a younger file may still be in use
Steps = Mapping[str, Sequence[dg.AssetKey]]


@dataclass(frozen=True)
class Forgotten:
    """Documents and replies that were removed.

    Attributes
    ----------
    documents : ids of deleted documents by corpus.
    n_replies : number of replies of language models removed from the memo.
    """

    documents: dict[str, list[str]] = field(default_factory=dict)
    n_replies: int = 0

    def __str__(self) -> str:
        n_documents = sum(map(len, self.documents.values()))
        return (
            f"forgot {n_documents:,} deleted documents: removed {self.n_replies:,} replies of "
            "models that depended on them"
        )


@dataclass(frozen=True)
class Forgetting:
    """Removal of the leftovers of deleted documents from one home.

    Attributes
    ----------
    steps : the assets that each step writes, by the step's name in the ledger.
    new_snapshot : returns a new snapshot of the warehouse.
    """

    store: ParquetStore
    steps: Steps
    new_snapshot: Callable[[dg.DagsterInstance], Snapshot]

    @property
    def deletions(self) -> Deletions:
        """The deleted documents."""
        return Deletions(self.store)

    def waiting(self, instance: dg.DagsterInstance) -> dict[str, DeletedDocuments]:
        """Return the deleted documents whose leftovers can be removed now, without changing any.

        Empty while something is due or a run is in progress.
        """
        affected = self._affected(instance, self.deletions.look)
        if not affected or self._is_too_early(instance):
            return {}
        return affected

    def forget_deleted(
        self, instance: dg.DagsterInstance, at_once: bool = False, run_id: str | None = None
    ) -> Forgotten | None:
        """Remove leftovers of documents deleted since the last time; None if nothing was done.

        Parameters
        ----------
        at_once : whether to do so even if something is due; a run in progress still prevents it.
        run_id : the run that does it, if any.
        """
        affected = self._affected(instance, self.deletions.observe)
        if not affected or self._is_too_early(instance, at_once, run_id):
            return None
        return self._forget(affected, self.new_snapshot(instance))

    def _affected(
        self, instance: dg.DagsterInstance, observe: Callable[[str], DeletedDocuments]
    ) -> dict[str, DeletedDocuments]:
        """Return the corpora with leftovers of deleted documents, or of a deleted corpus."""
        with_ledger = set(self._corpora_with_ledger())
        observed = {corpus: observe(corpus) for corpus in self._known(instance)}
        return {
            corpus: documents
            for corpus, documents in observed.items()
            if documents.deleted or (corpus in with_ledger and not documents.documents)
        }

    def _known(self, instance: dg.DagsterInstance) -> set[str]:
        known = self.deletions.corpora() | set(instance.get_dynamic_partitions("corpora"))
        return known | set(self._corpora_with_ledger())

    def _is_too_early(
        self, instance: dg.DagsterInstance, at_once: bool = False, run_id: str | None = None
    ) -> bool:
        """Return whether a run is in progress, or something is due."""
        if _runs_under_way(instance, run_id):
            return True
        snapshot = self.new_snapshot(instance)
        return not at_once and any(snapshot.due(corpus) for corpus in self._known(instance))

    def _forget(self, affected: Mapping[str, DeletedDocuments], snapshot: Snapshot) -> Forgotten:
        export_calls(self.store, _CALLS)
        self.store.sweep(_AT_WORK_S)
        ledgers = {c: read_appended(self.store, _CALLS, c) for c in self._corpora_with_ledger()}
        present = {
            corpus: Present(frozenset(state.documents), self._runs(corpus, snapshot))
            for corpus, state in affected.items()
        }
        for corpus, documents in affected.items():
            forget_arrays(self.store, corpus)
            if not documents.documents:
                self._remove_ledgers(corpus)
        state = state_of(self.store)
        with state.writing() as connection:
            n_replies = forget_replies(connection, replies_to_forget(ledgers, present))
            for corpus, documents in affected.items():
                forget_names(connection, corpus, documents.documents)
                self.deletions.clear(connection, corpus, documents)
        state.clear_log()
        export_calls(self.store, _CALLS)
        deleted = {corpus: list(documents.deleted) for corpus, documents in affected.items()}
        return Forgotten(deleted, n_replies)

    def _corpora_with_ledger(self) -> list[str]:
        folders = self.store.fs.glob(f"{self.store.root}/{_CALLS.name}/corpus=*")
        return [folder.rpartition("corpus=")[2] for folder in folders]

    def _remove_ledgers(self, corpus: str) -> None:
        for name in APPENDED:
            folder = f"{self.store.root}/{name}/corpus={corpus}"
            if self.store.fs.exists(folder):
                self.store.fs.rm(folder, recursive=True)

    def _runs(self, corpus: str, snapshot: Snapshot) -> dict[str, frozenset[str]]:
        """Return the ids of the runs that wrote the current tables of a corpus, by step."""
        return {
            step: frozenset(
                footer.run_id
                for key in keys
                if key in snapshot.nodes
                for footer in snapshot.lineage.provenances(
                    snapshot.nodes[key].table.name, corpus
                ).values()
            )
            for step, keys in self.steps.items()
        }


def _runs_under_way(instance: dg.DagsterInstance, run_id: str | None) -> bool:
    """Return whether another run has begun or waits, except a queued reconciliation.

    Without a daemon nothing starts that.
    """
    unfinished = dg.RunsFilter(statuses=[*UNDER_WAY, dg.DagsterRunStatus.QUEUED])
    return any(
        run.run_id != run_id
        and not (run.job_name == RECONCILE_CORPORA and run.status == dg.DagsterRunStatus.QUEUED)
        for run in instance.get_runs(unfinished)
    )
