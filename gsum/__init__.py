"""gsum for notebooks and scripts: read what a home has, and run any method on texts in memory.

>>> import gsum
>>> home = gsum.open("data")
>>> home.corpora
['harbour']
>>> result = gsum.run(
...     "bm25",
...     texts={"a": "The harbour opened in 1890.", "b": "The bridge was never finished."},
...     questions=["When did the harbour open?"],
...     settings={"retrieval": {"k": 1}},
... )
>>> result.answers["answer"].tolist()
['The harbour opened in 1890.']

Nothing is loaded until it is used: neither Dagster nor torch nor matplotlib.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gsum.answers import Answer
    from gsum.differences import Difference, compare
    from gsum.homes import Home, QueryError
    from gsum.homes import open_home as open
    from gsum.names import UnknownNameError, methods
    from gsum.runs import Result, run

_WHERE = {  # module and name of each attribute
    "Answer": ("gsum.answers", "Answer"),
    "Difference": ("gsum.differences", "Difference"),
    "GsumCorpus": ("gsum_assets.component.gsum_corpus", "GsumCorpus"),  # for `dg`; not in __all__
    "Home": ("gsum.homes", "Home"),
    "QueryError": ("gsum.homes", "QueryError"),
    "Result": ("gsum.runs", "Result"),
    "UnknownNameError": ("gsum.names", "UnknownNameError"),
    "compare": ("gsum.differences", "compare"),
    "methods": ("gsum.names", "methods"),
    "open": ("gsum.homes", "open_home"),
    "run": ("gsum.runs", "run"),
}

__all__ = [
    "Answer",
    "Difference",
    "Home",
    "QueryError",
    "Result",
    "UnknownNameError",
    "compare",
    "methods",
    "open",
    "run",
]


def __getattr__(name: str) -> Any:
    """Import what is used (PEP 562)."""
    if name not in _WHERE:
        raise AttributeError(f"module 'gsum' has no attribute '{name}'")
    module, attribute = _WHERE[name]
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted({*globals(), *_WHERE})
