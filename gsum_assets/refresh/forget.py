"""Removal of a deleted corpus, and of what is left of deleted documents.

Tables follow the folder by themselves. The replies of models follow once nothing is stale, since
documents that were only renamed are about to be requested again, and their replies are paid.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field

from gsum_assets.answering.workspace import Workspace
from gsum_assets.corpus.buckets import Buckets
from gsum_assets.corpus.observe import forget_observation
from gsum_assets.forgetting.deletions import Deletions
from gsum_assets.forgetting.replies import Present, forget_names, replies_to_forget
from gsum_assets.pipeline.corpus_settings import CorpusError
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.refresh.changes import forget_changes
from gsum_assets.refresh.staleness import staleness_of
from gsum_assets.refresh.step import complete_catalogue
from gsum_assets.registry.declared import STEPS
from gsum_resources.llm.ledger import export_calls, forget_replies
from gsum_resources.settings.paths import folders_in
from gsum_resources.state.database import state_of
from gsum_resources.state.locks import locked_by
from gsum_resources.store.appended import APPENDED, LEDGERS, read_appended
from gsum_resources.store.array_cache import forget_arrays
from gsum_resources.store.parquet_store import ParquetStore

_CALLS = TABLES["llm_calls"]
_AT_WORK_S = 60.0  # a younger file may still be in use


@dataclass(frozen=True)
class Forgotten:
    """Documents and replies that were removed.

    Attributes `documents`: ids of deleted documents by corpus; `n_replies`: number of replies of
    language models removed from the memo.
    """

    documents: dict[str, list[str]] = field(default_factory=dict)
    n_replies: int = 0

    def __str__(self) -> str:
        n_documents = sum(map(len, self.documents.values()))
        return (
            f"forgot {n_documents:,} deleted documents: removed {self.n_replies:,} replies of "
            "models that depended on them"
        )


def forget_corpus(workspace: Workspace, corpus: str) -> None:
    """Remove the tables of a corpus.

    The ledgers are kept until `forget_deleted` has removed the replies that they list.
    """
    store = workspace.store
    _remove_tables(store, corpus, TABLES.keys() - LEDGERS)
    forget_arrays(store, corpus)
    forget_observation(store, corpus)
    Buckets(store).forget(corpus)
    complete_catalogue(workspace)


def forget_deleted(workspace: Workspace, at_once: bool = False) -> Forgotten | None:
    """Remove leftovers of documents that were deleted; None if there are none, or it is too early.

    Parameter `at_once`: whether to do so even if something is stale; a run in progress prevents it
    all the same, unless it is of the caller.
    """
    store = workspace.store
    deletions = Deletions(store)
    with_ledger = set(_corpora_with_ledger(store))
    known = deletions.corpora() | with_ledger
    affected = {
        corpus: documents
        for corpus, documents in ((c, deletions.observe(c)) for c in sorted(known))
        if documents.deleted or (corpus in with_ledger and not documents.documents)
    }
    if not affected or (not at_once and _is_too_early(workspace, known)):
        return None
    export_calls(store, _CALLS)
    store.sweep(_AT_WORK_S)
    ledgers = {c: read_appended(store, _CALLS, c) for c in _corpora_with_ledger(store)}
    present = {
        corpus: Present(frozenset(documents.documents), _runs(store, corpus))
        for corpus, documents in affected.items()
    }
    for corpus, documents in affected.items():
        forget_arrays(store, corpus)
        forget_changes(store, corpus)
        if not documents.documents:
            _remove_tables(store, corpus, APPENDED)
    state = state_of(store)
    with state.writing() as connection:
        n_replies = forget_replies(connection, replies_to_forget(ledgers, present))
        for corpus, documents in affected.items():
            forget_names(connection, corpus, documents.documents)
            deletions.clear(connection, corpus, documents)
    state.clear_log()
    export_calls(store, _CALLS)
    return Forgotten({c: list(documents.deleted) for c, documents in affected.items()}, n_replies)


def _is_too_early(workspace: Workspace, corpora: set[str]) -> bool:
    """Return whether a run is in progress, or something is stale."""
    if any(locked_by(workspace.store, corpus) for corpus in corpora):
        return True
    for corpus in corpora & set(folders_in(workspace.home.corpora)):
        with suppress(CorpusError):
            if staleness_of(workspace, corpus).due():
                return True
    return False


def _corpora_with_ledger(store: ParquetStore) -> list[str]:
    folders = store.glob(f"{_CALLS.name}/corpus=*")
    return [folder.rpartition("corpus=")[2] for folder in folders]


def _remove_tables(store: ParquetStore, corpus: str, names: Iterable[str]) -> None:
    for name in names:
        folder = f"{store.root}/{name}/corpus={corpus}"
        if store.fs.exists(folder):
            store.fs.rm(folder, recursive=True)


def _runs(store: ParquetStore, corpus: str) -> dict[str, frozenset[str]]:
    """Return the ids of the runs that wrote the current tables of a corpus, by step."""
    return {
        declared.name: frozenset(
            footer.run_id
            for name in declared.step.writes
            for table in [declared.table(name)]
            for footer in store.footers(table, store.stamped(table, corpus)).values()
        )
        for declared in STEPS
    }
