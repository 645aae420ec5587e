"""Result of a step: rows, failures and metadata to show."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa


class Picture(NamedTuple):
    """A plot with an alternative text."""

    png: bytes
    alt: str


class Markdown(str):
    """A text to be rendered as Markdown."""

    __slots__ = ()


Shown = Mapping[str, Any]
"""Numbers, texts, mappings, `Picture` or `Markdown`, by label."""


class Result(NamedTuple):
    """Rows of a step's tables, with a line for each failure.

    Attributes
    ----------
    rows : rows of the first table that the step writes.
    failures : warnings, in whole sentences.
    beside : rows of its other tables, by name.
    shown : returns metadata to show, by table; called only if it is shown.
    """

    rows: pa.Table
    failures: Sequence[str] = ()
    beside: Mapping[str, pa.Table] = {}
    shown: Callable[[], Mapping[str, Shown]] = dict
