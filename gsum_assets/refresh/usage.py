"""What the models of a step cost, as numeric metadata that Dagster plots over time."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from gsum_resources.embedding.memoized import Batch
from gsum_resources.llm.ledger import Ledger


@dataclass
class Calls:
    """Sums of rows of `llm_calls`; tokens and price are of calls that a model answered now."""

    requests: int = 0
    cached: int = 0
    failures: int = 0
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float = 0.0

    def add(self, row: Mapping) -> None:
        """Add a row of the ledger."""
        self.requests += 1
        self.failures += row["error"] is not None
        if row["cached"]:
            self.cached += 1
            return
        for name in ("calls", "tokens_in", "tokens_out", "cost_usd"):
            setattr(self, name, getattr(self, name) + row[name])


@dataclass
class Usage:
    """Usage of the models by one step of a run.

    Attributes
    ----------
    calls : of language models, by document; "" for requests on the whole corpus. None: the step
        has read none.
    batches : of embedder and passage scorer; None: the step has read neither.
    """

    calls: dict[str, Calls] | None = None
    batches: list[Batch] | None = None

    def metadata(self, documents: Collection[str] | None = None) -> dict[str, int | float]:
        """Return the metadata of a partition.

        Parameters
        ----------
        documents : those of the partition; None: all. Batches name no document, so that each
            partition of a run shows all of them.
        """
        shown: dict[str, int | float] = {}
        if self.calls is not None:
            of = [c for name, c in self.calls.items() if documents is None or name in documents]
            for name in ("requests", "calls", "tokens_in", "tokens_out", "cost_usd", "failures"):
                shown[f"llm/{name}"] = sum(getattr(calls, name) for calls in of)
            if n := shown["llm/requests"]:
                shown["llm/cached_share"] = sum(calls.cached for calls in of) / n
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
        calls = self.usage.calls if self.usage.calls is not None else {}
        for row in rows:
            calls.setdefault(row["document_id"] or "", Calls()).add(row)
        self.usage.calls = calls
