"""What `gsum run` reports while it works, and at the end."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

import dagster as dg

from gsum_assets.automation.staleness import Snapshot
from gsum_assets.runner.execute import OnStart, RunResult
from gsum_resources.dagster_io.dagster_private import AssetGraph
from gsum_resources.store.parquet_store import Partition

OnStep = Callable[[str, int, int], None]
"""Called with the asset of a step that begins, its number, and the estimated number of steps."""
Left = Mapping[dg.AssetKey, Collection[Partition]]
"""Partitions that are due or depend on one that is, by asset."""


class RefreshError(ValueError):
    """No corpus can be refreshed now; the message says why."""


@dataclass
class RunReport:
    """Results of a refresh.

    Attributes
    ----------
    not_materialized : assets that were left out because a model is unavailable.
    missing : number of requested partitions that are missing or out of date at the end, by asset.
    n_cancelled, n_failed : how many of them a person cancelled, and how many failed; the others
        depend on these, or were never begun.
    others, n_others : methods that a daemon continues with, and their number of partitions.
    """

    results: list[RunResult] = field(default_factory=list)
    not_materialized: set[str] = field(default_factory=set)
    missing: Mapping[str, int] = field(default_factory=dict)
    n_cancelled: int = 0
    n_failed: int = 0
    others: Sequence[str] = ()
    n_others: int = 0

    @property
    def errors(self) -> list[str]:
        """A message for each run that failed."""
        return [m.error for m in self.results if m.error]

    @property
    def gaps(self) -> list[str]:
        """A message for each step whose tables lack rows, since a model gave no valid reply."""
        return [gap for m in self.results for gap in m.gaps]

    @property
    def is_complete(self) -> bool:
        """Whether everything requested was computed."""
        return not (self.errors or self.gaps or self.not_materialized or self.missing)

    def note_left(self, left: Left, snapshot: Snapshot) -> None:
        """Note the partitions that could not be written, and why."""
        each = [(key, partition) for key, partitions in left.items() for partition in partitions]
        self.missing = counted(left)
        self.n_cancelled = sum(snapshot.is_cancelled(*partition) for partition in each)
        self.n_failed = sum(snapshot.has_failed(*partition) for partition in each)

    @property
    def why_missing(self) -> str:
        """What became of the missing partitions, `20 cancelled, 8 failed`; "" if nothing did."""
        n_others = sum(self.missing.values()) - self.n_cancelled - self.n_failed
        counts = {"cancelled": self.n_cancelled, "failed": self.n_failed}
        if any(counts.values()):
            counts["not begun because of these"] = n_others
        return ", ".join(f"{n} {what}" for what, n in counts.items() if n)

    @property
    def n_partitions(self) -> int:
        """Materialized asset partitions."""
        return sum(len(m.assets) * len(m.partitions) for m in self.results if not m.error)


@dataclass
class Watch:
    """Callbacks of a refresh, see `refresh`, with the number of its steps."""

    graph: AssetGraph
    on_start: OnStart
    on_end: Callable[[RunResult], None]
    on_wait: Callable[[str], None]
    on_step: OnStep
    _n_steps: int = 0
    _about: int = 0

    def step(self, asset: str) -> None:
        """Report that a step begins."""
        self._n_steps += 1
        self.on_step(asset, self._n_steps, max(self._n_steps, self._about))

    def expect(self, snapshot: Snapshot, corpus: str) -> None:
        """Estimate the number of steps from what is left.

        A step counts once for each method, a step over documents once for each run.
        """
        steps: dict[tuple[dg.AssetKey, str | None], set[str | None]] = {}
        for key, partitions in snapshot.left(corpus).items():
            step = min(self.graph.get(key).execution_set_asset_keys)
            for partition in partitions:
                steps.setdefault((step, partition.method), set()).add(partition.bucket)
        self._about = self._n_steps
        for (step, _), buckets in steps.items():
            policy = self.graph.get(step).backfill_policy
            self._about += -(-len(buckets) // ((policy and policy.max_partitions_per_run) or 1))


def counted(left: Left) -> dict[str, int]:
    """Return the number of partitions by asset."""
    return {key.to_user_string(): len(partitions) for key, partitions in left.items()}
