"""Words in which tables are declared, and the columns that several of them share.

`document_table`, `corpus_table` and `result_table` take a table's name, what a row is, its key, and
then its columns and checks.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import pyarrow as pa

from gsum_resources.store.table import Column, Rule, Table, TableCheck

TEXT = pa.string()
INT = pa.int32()
FLOAT = pa.float64()
FLOAT32 = pa.float32()
TEXTS = pa.list_(pa.string())
TIME = pa.timestamp("us", "UTC")
VECTOR = pa.list_(pa.float32())  # of one length within a file: stored as fixed-size lists

ROUNDING = 1e-9  # by which a value may exceed a bound

DOCUMENT_LEVEL = ("corpus", "bucket")
RESULT = ("corpus", "method")


def _column_of(arrow_type: pa.DataType, **defaults: bool) -> Callable[..., Column]:
    """Return the constructor of columns of a type from name, meaning and options of `Column`."""

    def column(name: str, meaning: str, **options: bool) -> Column:
        return Column(name, arrow_type, meaning, **(defaults | options))

    return column


text = _column_of(TEXT)
label = _column_of(TEXT, label=True)
texts = _column_of(TEXTS)
integer = _column_of(INT)
number = _column_of(FLOAT)
flag = _column_of(pa.bool_())
vector = _column_of(VECTOR)


def check(name: str, meaning: str, noun: str, *rules: Rule, **options: Any) -> TableCheck:
    """Return a check of a table; its options are the further attributes of `TableCheck`."""
    return TableCheck(name, meaning, noun, rules, **options)


def _table(
    dimensions: tuple[str, ...], name: str, row: str, key: str, *parts: Column | TableCheck
) -> Table:
    return Table(
        name,
        row,
        tuple(part for part in parts if isinstance(part, Column)),
        dimensions,
        tuple(key.split(", ")) if key else (),
        tuple(part for part in parts if not isinstance(part, Column)),
    )


corpus_table = partial(_table, ("corpus",))
"""Declare a table with a partition for each corpus."""
document_table = partial(_table, DOCUMENT_LEVEL)
"""Declare a table about documents, with a partition for each bucket."""
result_table = partial(_table, RESULT)
"""Declare a table of results, with a partition for each method."""

DOCUMENT_ID = text("document_id", "id of the document, unique within its corpus")
CHUNK_ID = label("chunk_id", "the chunk")
QUERY_ID = label("query_id", "id of the question, unique within its corpus")
LEVEL = label("level", "'document' or 'node', a chunk")
SIZE = integer("max_tokens", "longest line chunk of this index, word pieces")
PASSAGE_ID = text("passage_id", "the passage, document_id or chunk_id by level")
METHOD = label("method", "the method")
SPLIT = label("split", "train, dev or test; all: together")
SAMPLE = integer("sample", "always 0: one context per question")
RANK = integer("rank", "from 1, best first")
SCORE = number("score", "the method's own score, higher is better")
LINE = integer(
    "line",
    "line or row within that file, from 1; 0 for a whole file",
    measured=True,  # inserting a line above changes it, but not the document
)

MEAN = (
    number("mean", "mean over the questions"),
    number("low", "lower end of the mean's 95% interval"),
    number("high", "upper end of the mean's 95% interval"),
    integer("n", "number of questions"),
)
SPENT = (
    label("model", "language model that wrote it; empty: none was called"),
    integer("calls", "number of language model calls"),
    integer("tokens_in", "tokens read by the model"),
    integer("tokens_out", "tokens written by the model"),
    number("latency_s", "duration of the calls in seconds", measured=True),
    number("cost_usd", "price of the calls in US dollars", measured=True),
)


def has_rows(
    table: str, key: str, of: str = "documents", of_key: str = "document_id"
) -> TableCheck:
    """Return the blocking check that a table has rows if one that it is made from has.

    Parameters
    ----------
    key, of_key : a column of the table, and of the other one.
    """
    return check(
        "has_rows",
        f"The table has rows if `{of}` has any.",
        "corpus",
        Rule("n_given > 0 AND n_rows = 0", f"have no row, though {of} has"),
        shown="n_given, n_rows",
        examined=f"SELECT count({of_key}) AS n_given, "
        f'(SELECT count({key}) FROM "{table}") AS n_rows FROM "{of}"',
        remedy=f"see the log of the run that wrote {table}, and run `gsum run {{corpus}}`",
        blocking=True,
    )


def mean_in_interval(mean: str, of: str) -> TableCheck:
    """Return the check that a mean lies between `low` and `high`.

    Parameters
    ----------
    of : columns that say what the mean is about, besides split, kind and metric.
    """
    wrong = f"NOT (low <= {mean} + {ROUNDING} AND {mean} <= high + {ROUNDING})"
    return check(
        "mean_in_interval",
        f"Every {'mean' if mean == 'mean' else 'mean difference'} lies within its 95% interval.",
        mean,
        Rule(wrong, "lie outside their interval"),
        shown=f"{of}, split, kind, metric, low, {mean}, high",
        remedy="materialize leaderboard again",
    )
