"""Names that people type: which there are, and what to say of one that there is not."""

from collections.abc import Collection
from typing import TYPE_CHECKING

from gsum_assets.pipeline.corpus_settings import CorpusError
from gsum_assets.pipeline.family import Family
from gsum_assets.registry.families import FAMILIES, METHODS
from gsum_resources.messages.suggest import did_you_mean

if TYPE_CHECKING:
    import pandas as pd


class UnknownNameError(KeyError):
    """A table, corpus, method, metric or setting that does not exist; the message says which do."""

    def __str__(self) -> str:
        return str(self.args[0])  # KeyError quotes it


def unknown(kind: str, name: str, known: Collection[str]) -> UnknownNameError:
    """Return the error about a name, with the nearest names that exist."""
    return UnknownNameError(f"unknown {kind} '{name}'{did_you_mean(name, known)}")


def methods() -> "pd.DataFrame":
    """Return the methods that gsum has, with the family of each.

    Ablations, controls and upper bounds run by their names, too; the page on methods lists them.

    Returns
    -------
    pandas.DataFrame
        Columns `method`, `family` and `is_default`: whether a new corpus starts with it.

    Examples
    --------
    >>> import gsum
    >>> methods = gsum.methods()
    >>> methods[methods["is_default"]]["method"].tolist()
    ['bm25', 'dense', 'hybrid', 'passage_walk', 'evidence']
    """
    import pandas as pd

    rows = [
        (method, family.name, method in family.default)
        for family in FAMILIES
        for method in family.listed
    ]
    return pd.DataFrame(rows, columns=["method", "family", "is_default"])


def family_named(method: str) -> Family:
    """Return the family that a method belongs to.

    Raises
    ------
    UnknownNameError
        If there is no such method; of a family's name the message lists the methods of it.
    """
    try:
        return METHODS.family_of(method)
    except CorpusError as error:
        raise UnknownNameError(str(error)) from None
