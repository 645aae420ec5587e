"""Words in which tables are declared, and the columns that several of them share.

`document_table`, `corpus_table` and `result_table` take a table's name, what a row is, its key, and
then its columns.
"""

from collections.abc import Callable
from functools import partial

import pyarrow as pa

from gsum_resources.store.table import Column, Table

TEXT = pa.string()
INT = pa.int32()
FLOAT = pa.float64()
FLOAT32 = pa.float32()
TEXTS = pa.list_(pa.string())
TIME = pa.timestamp("us", "UTC")
VECTOR = pa.list_(pa.float32())  # of one length within a file: stored as fixed-size lists

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


def _table(dimensions: tuple[str, ...], name: str, row: str, key: str, *columns: Column) -> Table:
    return Table(name, row, columns, dimensions, tuple(key.split(", ")) if key else ())


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
PASSAGE_ID = text("passage_id", "the passage, document_id or chunk_id by level")
METHOD = label("method", "the method")
SPLIT = label("split", "train, dev or test; all: together")
SAMPLE = integer("sample", "always 0: one context per question")
RANK = integer("rank", "from 1, best first")
SCORE = number("score", "the method's own score, higher is better")
LINE = integer(
    "line",
    "line or row within that file, from 1; 0 for a whole file",
    ignored_by_hash=True,  # inserting a line above changes it, but not the document
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
    number("latency_s", "duration of the calls in seconds", ignored_by_hash=True),
    number("cost_usd", "price of the calls in US dollars", ignored_by_hash=True),
)
