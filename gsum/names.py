"""Names that people type, and messages of the pipeline in the words of the library."""

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gsum_assets.pipeline.corpus_settings import CorpusError
from gsum_assets.pipeline.family import Family
from gsum_assets.registry.families import FAMILIES, METHODS
from gsum_resources.messages.suggest import did_you_mean

if TYPE_CHECKING:
    import pandas as pd

_WORDS = {  # of the pipeline, which reads files, and of the library, which has arguments
    "gsum.toml": "the argument settings",
    "corpus.toml": "the argument settings",
    "--explain": "explain",
}
_NAMED = re.compile("|".join(rf"(?<![\w/]){re.escape(word)}\b" for word in _WORDS))


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


def of_arguments(message: str) -> str:
    """Return a message about a file of settings as one about the argument of `gsum.run`."""
    return _NAMED.sub(lambda match: _WORDS[match.group()], message)


@contextmanager
def naming_arguments() -> Iterator[None]:
    """Let errors raised in this context name arguments; their type and traceback stay."""
    try:
        yield
    except Exception as error:
        if error.args and isinstance(error.args[0], str):
            error.args = of_arguments(error.args[0]), *error.args[1:]
        raise
