"""What the models of a step cost, as numeric metadata that Dagster plots over time."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from gsum_resources.embedding.memoized import Batch
from gsum_resources.llm.ledger import Ledger

_SUMS = ("calls", "tokens_in", "tokens_out", "cost_usd")


@dataclass
class Usage:
    """Usage of the models by one step of a run.

    Attributes
    ----------
    calls : sums of the rows of `llm_calls`; tokens and price are of calls that a model answered
        now. None: the step has read no language model.
    batches : of embedder and passage scorer; None: the step has read neither.
    """

    calls: Counter[str] | None = None
    batches: list[Batch] | None = None

    def metadata(self) -> dict[str, Any]:
        """Return the metadata of the step's first table."""
        shown: dict[str, Any] = {}
        if self.calls is not None:
            names = ("requests", *_SUMS, "failures")
            shown |= {f"llm/{name}": self.calls[name] for name in names}
            if n := self.calls["requests"]:
                shown["llm/cached_share"] = self.calls["cached"] / n
        if self.batches is not None:
            shown["embedding/texts"] = sum(batch.n_texts for batch in self.batches)
            shown["embedding/tokens_in"] = sum(batch.tokens_in for batch in self.batches)
            shown["embedding/cost_usd"] = sum(batch.cost_usd for batch in self.batches)
        return shown


@dataclass(frozen=True)
class CountingLedger(Ledger):
    """A ledger that adds the rows which it enters to the usage of a step."""

    usage: Usage = field(default_factory=Usage)

    def enter(self, rows: Sequence[dict], replies: Sequence[dict] = ()) -> None:
        """Insert rows, see `Ledger`, and count them."""
        super().enter(rows, replies)
        calls: Counter[str] = Counter() if self.usage.calls is None else self.usage.calls
        for row in rows:
            counted = {} if row["cached"] else {name: row[name] for name in _SUMS}
            failed = row["error"] is not None
            calls.update(requests=1, cached=bool(row["cached"]), failures=failed, **counted)
        self.usage.calls = calls
