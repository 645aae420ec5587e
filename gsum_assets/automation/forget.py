"""Forgets what deleted documents left behind, once everything else was made without them.

One rule for the sensor over the corpora and the command line: while something is due or a run is
under way, nothing is forgotten, for what moved or was renamed is about to be asked for again and
its replies are paid.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import dagster as dg

from gsum_assets.automation.corpora import LEDGERS
from gsum_assets.automation.staleness import Snapshot
from gsum_assets.forgetting.deletions import DeletedDocuments, Deletions
from gsum_assets.forgetting.replies import Present, forget_names, replies_to_forget
from gsum_assets.processes import UNDER_WAY
from gsum_assets.tables import TABLES
from gsum_resources.appended import read_appended
from gsum_resources.llm.ledger import export_calls, forget_replies
from gsum_resources.parquet_store import ParquetStore, Partition
from gsum_resources.state import state_of
from gsum_resources.warehouse_io import partition_of

_CALLS = TABLES["llm_calls"]
_AT_WORK_S = 60.0  # what is younger may be under way
Steps = Mapping[str, Sequence[dg.AssetKey]]


@dataclass(frozen=True)
class Forgotten:
    """What was forgotten.

    Attributes
    ----------
    documents : ids by corpus.
    n_replies : of language models, removed from the memo.
    n_previews : of rows, removed from Dagster's event log.
    """

    documents: dict[str, list[str]] = field(default_factory=dict)
    n_replies: int = 0
    n_previews: int = 0

    def __str__(self) -> str:
        n_documents = sum(map(len, self.documents.values()))
        return (
            f"forgot {n_documents:,} deleted documents: {self.n_replies:,} replies of models and "
            f"{self.n_previews:,} previews rested on them"
        )


@dataclass(frozen=True)
class Forgetting:
    """Forgets on behalf of one home.

    Attributes
    ----------
    steps : the assets that each step makes, by the name that the ledger gives the step.
    new_look : takes a fresh look at the warehouse.
    """

    store: ParquetStore
    steps: Steps
    new_snapshot: Callable[[dg.DagsterInstance], Snapshot]

    @property
    def deletions(self) -> Deletions:
        """Which documents have gone."""
        return Deletions(self.store)

    def forget_deleted(
        self, instance: dg.DagsterInstance, at_once: bool = False
    ) -> Forgotten | None:
        """Forget the documents that have gone since the last time; None where none has, or later.

        Parameters
        ----------
        at_once : also while something is due; a run that is under way puts it off all the same.
        """
        with_ledger = set(self._corpora_with_ledger())
        known = with_ledger | self.deletions.corpora()
        looked = {
            corpus: self.deletions.observe(corpus)
            for corpus in known | set(instance.get_dynamic_partitions("corpora"))
        }
        gone = {
            corpus: deleted
            for corpus, deleted in looked.items()
            if deleted.gone or (corpus in with_ledger and not deleted.documents)
        }
        if not gone or _runs_under_way(instance):
            return None
        snapshot = self.new_snapshot(instance)
        if not at_once and any(snapshot.due(corpus) for corpus in looked):
            return None
        return self._forget(instance, gone, snapshot)

    def _forget(
        self, instance: dg.DagsterInstance, gone: Mapping[str, DeletedDocuments], snapshot: Snapshot
    ) -> Forgotten:
        export_calls(self.store, _CALLS)
        self.store.sweep(_AT_WORK_S)
        ledgers = {c: read_appended(self.store, _CALLS, c) for c in self._corpora_with_ledger()}
        left = {
            corpus: Present(frozenset(deleted.documents), self._runs(corpus, snapshot))
            for corpus, deleted in gone.items()
        }
        n_previews = self._forget_previews(instance, frozenset(gone), snapshot)
        for corpus in (corpus for corpus, deleted in gone.items() if not deleted.documents):
            self._remove_ledgers(corpus)
        state = state_of(self.store)
        with state.writing() as connection:
            n_replies = forget_replies(connection, replies_to_forget(ledgers, left))
            for corpus, deleted in gone.items():
                forget_names(connection, corpus, deleted.documents)
                self.deletions.clear(connection, corpus, deleted)
        state.clear_log()
        export_calls(self.store, _CALLS)
        documents = {corpus: list(deleted.gone) for corpus, deleted in gone.items()}
        return Forgotten(documents, n_replies, n_previews)

    def _corpora_with_ledger(self) -> list[str]:
        folders = self.store.fs.glob(f"{self.store.root}/{_CALLS.name}/corpus=*")
        return [folder.rpartition("corpus=")[2] for folder in folders]

    def _remove_ledgers(self, corpus: str) -> None:
        for name in LEDGERS:
            folder = f"{self.store.root}/{name}/corpus={corpus}"
            if self.store.fs.exists(folder):
                self.store.fs.rm(folder, recursive=True)

    def _runs(self, corpus: str, snapshot: Snapshot) -> dict[str, frozenset[str]]:
        """The runs that made what there is of a corpus, by step."""
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

    def _forget_previews(
        self, instance: dg.DagsterInstance, corpora: frozenset[str], snapshot: Snapshot
    ) -> int:
        """Remove all previews of these corpora from the event log but those of today's rows."""
        from gsum_resources.event_log import EventLog, Preview  # slow: migrations of databases

        log = instance.event_log_storage
        if not isinstance(log, EventLog):
            return 0

        def is_of_today(preview: Preview) -> bool:
            node = snapshot.nodes.get(dg.AssetKey(preview.asset))
            if node is None or preview.partition is None:
                return False
            partition: Partition = partition_of(preview.partition, node.definition)
            if partition.corpus not in corpora:
                return True
            footer = snapshot.lineage.provenances(node.table.name, partition.corpus).get(partition)
            # an empty bucket shows rows of another one
            return footer is not None and footer.rows > 0 and footer.run_id == preview.run_id

        return log.forget_previews(is_of_today)


def _runs_under_way(instance: dg.DagsterInstance) -> bool:
    unfinished = dg.RunsFilter(statuses=[*UNDER_WAY, dg.DagsterRunStatus.QUEUED])
    return bool(instance.get_runs(unfinished, limit=1))
