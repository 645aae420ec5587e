"""The methods that a corpus keeps up to date: those that a run names, and earlier requests."""

from collections.abc import Collection

import sqlalchemy as sa

from gsum_assets.answering.workspace import Workspace
from gsum_assets.corpus.settings_file import keep_methods
from gsum_assets.pipeline.corpus_settings import load_settings
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.registry.families import METHODS
from gsum_resources.state.database import REQUESTS, state_of


def move_requests(workspace: Workspace, corpus: str) -> str:
    """Write the methods that were requested for a corpus into its settings.

    Returns
    -------
    The line written to `corpus.toml`; "" if its methods are those already, or none was noted.

    Raises
    ------
    CorpusError
        If the corpus cannot be read or written.
    """
    state, of_corpus = state_of(workspace.store), REQUESTS.c.corpus == corpus
    with state.reading() as connection:
        noted = set(connection.execute(sa.select(REQUESTS.c.method).where(of_corpus)).scalars())
    methods = [name for name in METHODS.known if name in noted]
    if not noted:
        return ""
    root, line = workspace.home.corpora, ""
    if methods and set(methods) != set(METHODS.wanted(root, corpus)):
        line = keep_methods(root / corpus, methods)
    with state.writing() as connection:
        connection.execute(sa.delete(REQUESTS).where(of_corpus))
    return line


def with_methods(workspace: Workspace, corpus: str, names: Collection[str]) -> list[str]:
    """Return the methods that a run would keep up to date if some more are named.

    Parameters
    ----------
    names : of methods and families, "default" and "all". Before its first run a corpus keeps these
        alone, later those of before, too.

    Raises
    ------
    CorpusError
        If the corpus cannot be read, or a method is unknown.
    """
    root = workspace.home.corpora
    before = METHODS.wanted(root, corpus)
    if not names:
        return before
    added = METHODS.wanted(root, corpus, names)
    is_new = not workspace.store.partitions(TABLES["documents"], corpus)
    is_set = load_settings(root / corpus).methods is not None
    return added if is_new and not is_set else list(dict.fromkeys([*before, *added]))
