"""What a step makes: rows, what is wrong with them, and what there is to look at."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa


class Picture(NamedTuple):
    """A plot, and what it shows in words."""

    png: bytes
    alt: str


class Markdown(str):
    """A text to be rendered."""

    __slots__ = ()


Shown = Mapping[str, Any]
"""By label: numbers, texts, mappings, `Picture` or `Markdown`."""


class Result(NamedTuple):
    """Rows of a table, and a line for each that is missing or not as it should be.

    Attributes
    ----------
    rows : of the first table that the step writes.
    problems : warnings, in whole sentences.
    beside : rows of its other tables, by name.
    shown : makes what people look at, by table; called only where somebody may look.
    """

    rows: pa.Table
    failures: Sequence[str] = ()
    beside: Mapping[str, pa.Table] = {}
    shown: Callable[[], Mapping[str, Shown]] = dict
