"""Methods that are no longer kept up to date, and networks that are trained again."""

from collections.abc import Collection

from gsum_assets.answering.workspace import Workspace
from gsum_assets.corpus.settings_file import keep_methods
from gsum_assets.pipeline.columns import RESULT
from gsum_assets.pipeline.corpus_settings import CorpusError
from gsum_assets.pipeline.result import count
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.refresh.step import complete_catalogue
from gsum_assets.registry.declared import STEPS
from gsum_assets.registry.families import METHODS, trained_tables
from gsum_resources.state.locks import locked_by
from gsum_resources.store.parquet_store import Partition
from gsum_resources.store.table import Table


def drop_methods(workspace: Workspace, corpus: str, methods: Collection[str]) -> str:
    """Take methods out of those that a corpus keeps, remove their tables, and say what was done.

    Tables that the methods of a family share stay while one of these methods is kept. Raise
    `CorpusError` if a method is neither kept nor has tables, or a run on the corpus is unfinished.
    """
    root, store = workspace.home.corpora, workspace.store
    kept = METHODS.wanted(root, corpus)
    dropped = set(METHODS.named(methods, f"corpus '{corpus}'"))
    files = (file for table in TABLES.values() for file in store.partitions(table, corpus))
    stored = {file.method for file in files if file.method}
    if unknown := sorted(dropped - {*kept, *stored}):
        raise CorpusError(
            f"corpus '{corpus}': {', '.join(unknown)} cannot be dropped; it keeps {', '.join(kept)}"
        )
    if locked_by(store, corpus):
        raise CorpusError(
            f"corpus '{corpus}': a run on it must end first; wait for it or cancel it, then drop "
            "the methods again"
        )
    left = [method for method in kept if method not in dropped]
    line = keep_methods(root / corpus, left) if set(left) != set(kept) else "not kept before"
    n_removed = 0
    for declared in reversed(STEPS):
        needs = declared.is_needed([*left, *(stored - dropped)])
        for name in declared.step.writes:
            table = declared.table(name)
            for file in store.partitions(table, corpus):
                if file.method in dropped if table.dimensions == RESULT else not needs:
                    store.delete(table, file)
                    n_removed += 1
    if n_removed:
        complete_catalogue(workspace)
    names = ", ".join(sorted(dropped))
    return f"dropped {names} and removed {count(n_removed, 'file')}; {line}"


def owner(table: Table, model: Partition) -> str:
    """Return the method that a network is of, or the family whose methods share it."""
    return model.method or table.name.partition(".")[0]


def require_networks(workspace: Workspace, corpus: str, methods: Collection[str]) -> list[str]:
    """Return the owners of the stored networks of some methods.

    Raise `CorpusError` if a method is unknown, or none of them has a network.

    Parameter `methods`: names of methods or families; "all" for every method.
    """
    wanted = set(METHODS.wanted(workspace.home.corpora, corpus, methods))
    families = {METHODS.family_of(method).name for method in wanted}
    store = workspace.store
    stored = [
        owner(table, model)
        for table in trained_tables()
        for model, footer in store.footers(table, store.partitions(table, corpus)).items()
        if footer.rows
    ]
    chosen = [name for name in stored if name in {*wanted, *families}]
    if not chosen:
        names = ", ".join(sorted(stored))
        raise CorpusError(
            f"corpus '{corpus}' has no network of {', '.join(sorted(methods))} to train again; "
            + (f"its networks: {names}" if names else "it has none: `gsum run` trains the first")
        )
    return chosen
