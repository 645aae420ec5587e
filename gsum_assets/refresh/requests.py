"""Methods that an earlier version of gsum noted in its database, moved into `corpus.toml` once."""

import sqlalchemy as sa

from gsum_assets.answering.workspace import Workspace
from gsum_assets.corpus.settings_file import keep_methods
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
