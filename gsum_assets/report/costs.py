"""Costs of methods, for index and questions separately."""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True)
class Cost:
    """Calls, tokens, seconds and US dollars of a method in one stage; `each`: per item of `n`."""

    method: str
    n: int
    calls: int
    tokens_in: int
    tokens_out: int
    seconds: float
    dollars: float

    @property
    def each(self) -> tuple[float, float, float]:
        """Tokens, seconds and US dollars per document or question."""
        n = max(self.n, 1)
        return (self.tokens_in + self.tokens_out) / n, self.seconds / n, self.dollars / n


def costs_of(costs: pa.Table, methods: Sequence[str], stage: str) -> list[Cost]:
    """Return the cost of each method in a stage, 'index' or 'query', in order of the methods."""
    costs_by_method = {row["method"]: row for row in costs.to_pylist() if row["stage"] == stage}
    names = ("method", "n", "calls", "tokens_in", "tokens_out", "latency_s", "cost_usd")
    return [
        Cost(*(costs_by_method[m][name] for name in names)) for m in methods if m in costs_by_method
    ]
