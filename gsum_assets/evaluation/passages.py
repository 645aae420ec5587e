"""Passages of an answer, before they are rows of `contexts`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from gsum_assets.pipeline.tables import TABLES

KEY_POINT = "key point"
"""Kind of a context that a language model wrote from several passages of one question."""


@dataclass(frozen=True)
class Passage:
    """A text to read, with columns of `contexts`; a higher score is better."""

    node_id: str
    node_kind: str
    text: str
    score: float = 0.0
    document_id: str | None = None
    position: int | None = None


Choose = Callable[[dict], Sequence[Passage]]
"""Function from a row of `queries` to its passages, in reading order."""


def context_rows(queries: pa.Table, choose: Choose) -> pa.Table:
    """Return rows of `contexts`, in order of the questions' ids."""
    rows = [
        {"query_id": query["query_id"], "sample": 0, "rank": rank, **vars(passage)}
        for query in queries.sort_by("query_id").to_pylist()
        for rank, passage in enumerate(choose(query), start=1)
    ]
    return pa.Table.from_pylist(rows, TABLES["contexts"].schema)
