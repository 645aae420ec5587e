"""The methods that a corpus keeps up to date."""

from collections.abc import Collection

from gsum_assets.answering.workspace import Workspace
from gsum_assets.pipeline.corpus_settings import load_settings
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.registry.families import METHODS


def with_methods(workspace: Workspace, corpus: str, names: Collection[str]) -> list[str]:
    """Return the methods that a run would keep up to date if some more are named.

    Raise `CorpusError` if the corpus cannot be read, or a method is unknown.

    Parameters
    ----------
    names : of methods and families, "default" and "all". Before its first run a corpus keeps these
        alone, later those of before, too.
    """
    root = workspace.home.corpora
    before = METHODS.wanted(root, corpus)
    if not names:
        return before
    added = METHODS.wanted(root, corpus, names)
    is_new = not workspace.store.partitions(TABLES["documents"], corpus)
    is_set = load_settings(root / corpus).methods is not None
    return added if is_new and not is_set else list(dict.fromkeys([*before, *added]))
