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
    others, n_others : methods that a daemon continues with, and their number of partitions.
    """

    results: list[RunResult] = field(default_factory=list)
    not_materialized: set[str] = field(default_factory=set)
    missing: Mapping[str, int] = field(default_factory=dict)
    others: Sequence[str] = ()
    n_others: int = 0

    @property
    def errors(self) -> list[str]:
        """A message for each run that failed."""
        return [m.error for m in self.results if m.error]

    @property
    def gaps(self) -> list[str]:
        """A message for each table that lacks rows, since a model gave no valid reply."""
        return [gap for m in self.results for gap in m.gaps]

    @property
    def is_complete(self) -> bool:
        """Whether everything requested was computed."""
        return not (self.errors or self.gaps or self.not_materialized or self.missing)

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
