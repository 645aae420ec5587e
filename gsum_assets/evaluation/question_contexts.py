"""Questions with the passages that were found for them, and what asking about them brings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from gsum_resources.protocols import CompletionError, Reply


@dataclass(frozen=True)
class Question:
    """A row of `queries`, and its rows of `contexts`, best first."""

    row: dict
    passages: Sequence[dict]

    @property
    def query_id(self) -> str:
        """Its id."""
        return self.row["query_id"]


def questions_with_passages(contexts: pa.Table, queries: pa.Table) -> list[Question]:
    """The questions that have a context, in order of their ids; each has but one context.

    Parameters
    ----------
    contexts : rows of `contexts`, in any order; those of no row of `queries` are passed over.
    """
    found: dict[str, list[dict]] = {}
    ordered = contexts.sort_by([("query_id", "ascending"), ("rank", "ascending")])
    for row in ordered.to_pylist():
        found.setdefault(row["query_id"], []).append(row)
    known = {row["query_id"]: row for row in queries.to_pylist()}
    return [Question(known[q], passages) for q, passages in found.items() if q in known]


def why(reply: Reply) -> str:
    """Why a reply is not what was asked for."""
    return reply.message if isinstance(reply, CompletionError) else "the reply is empty"


def spent(reply: Reply) -> Mapping[str, Any]:
    """Who replied and what it took, as the tables have it."""
    return {
        "model": reply.model,
        "calls": reply.calls,
        "tokens_in": reply.tokens_in,
        "tokens_out": reply.tokens_out,
        "latency_s": reply.latency_s,
        "cost_usd": reply.cost_usd,
    }


def added(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """What two requests took together; the model is that of the second."""
    return {
        name: value if isinstance(value, str) else value + one[name]
        for name, value in other.items()
    }


NO_USAGE: Mapping[str, Any] = {
    "model": "",
    "calls": 0,
    "tokens_in": 0,
    "tokens_out": 0,
    "latency_s": 0.0,
    "cost_usd": 0.0,
}
