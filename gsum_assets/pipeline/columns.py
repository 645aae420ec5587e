"""Types and columns that several tables share."""

import pyarrow as pa

from gsum_resources.store.table import Column, Rule, TableCheck

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

DOCUMENT_ID = Column("document_id", TEXT, "id of the document, unique within its corpus")
QUERY_ID = Column("query_id", TEXT, "id of the question, unique within its corpus", label=True)
LEVEL = Column("level", TEXT, "'document' or 'node', a chunk", label=True)
SIZE = Column("max_tokens", INT, "longest line chunk of this index, word pieces")
PASSAGE_ID = Column("passage_id", TEXT, "the passage, document_id or chunk_id by level")
LINE = Column(
    "line",
    INT,
    "line or row within that file, from 1; 0 for a whole file",
    measured=True,  # inserting a line above changes it, but not the document
)

SPENT = (
    Column("model", TEXT, "language model that wrote it; empty: none was called", label=True),
    Column("calls", INT, "number of language model calls"),
    Column("tokens_in", INT, "tokens read by the model"),
    Column("tokens_out", INT, "tokens written by the model"),
    Column("latency_s", FLOAT, "duration of the calls in seconds", measured=True),
    Column("cost_usd", FLOAT, "price of the calls in US dollars", measured=True),
)


def mean_in_interval(mean: str, of: str) -> tuple[TableCheck]:
    """Return the check that a mean lies between `low` and `high`.

    Parameters
    ----------
    of : columns that say what the mean is about, besides split, kind and metric.
    """
    wrong = f"NOT (low <= {mean} + {ROUNDING} AND {mean} <= high + {ROUNDING})"
    check = TableCheck(
        "mean_in_interval",
        "Every mean lies within its 95% interval."
        if mean == "mean"
        else "Every mean difference lies within its 95% interval.",
        mean,
        (Rule(wrong, "lie outside their interval"),),
        f"{of}, split, kind, metric, low, {mean}, high",
        remedy="materialize leaderboard again",
    )
    return (check,)
