"""Questions with the passages that were retrieved for them."""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True)
class Question:
    """A row of `queries`, and its rows of `contexts`, best first."""

    row: dict
    passages: Sequence[dict]

    @property
    def query_id(self) -> str:
        """Return the id of the question."""
        return self.row["query_id"]


def questions_with_passages(contexts: pa.Table, queries: pa.Table) -> list[Question]:
    """Return the questions that have a context, in order of their ids; each has one context.

    Parameters
    ----------
    contexts : rows of `contexts`, in any order; rows of other questions are skipped.
    """
    passages_of: dict[str, list[dict]] = {}
    ordered = contexts.sort_by([("query_id", "ascending"), ("rank", "ascending")])
    for row in ordered.to_pylist():
        passages_of.setdefault(row["query_id"], []).append(row)
    known = {row["query_id"]: row for row in queries.to_pylist()}
    return [Question(known[q], passages) for q, passages in passages_of.items() if q in known]
