"""Failed attempts, read from Dagster's run log.

The daemon and the command line share one rule: what failed is not repeated until a retry is
requested by a run with the tag `TRY_AGAIN`: `gsum run` requests it for its corpus, the job
`reindex_everything` for all. What was over budget is repeated by itself the next day, or when the
limits have changed. Only failures since the latest of these runs count, so that each
partition is retried once after it, and never in a loop.
"""

from collections.abc import Callable, Collection
from functools import cached_property

import dagster as dg

from gsum_assets.automation.processes import ORPHANED
from gsum_assets.dagster_assets.partitions import has_buckets
from gsum_resources.dagster_io.warehouse_io import partition_of
from gsum_resources.state.leases import Leases
from gsum_resources.store.parquet_store import Partition

TRY_AGAIN = "gsum/try_again"
EVERY_CORPUS = "*"  # no corpus is called so
_FAILED = (dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED)


class Attempts:
    """The run log and the leases at one moment; results of queries are cached.

    Parameters
    ----------
    repeatable : returns which of some failed runs were over a budget and need not be any more.
    """

    def __init__(
        self,
        instance: dg.DagsterInstance,
        leases: Leases,
        repeatable: Callable[[Collection[str]], Collection[str]] = lambda _: (),
    ) -> None:
        self._instance, self._leases, self._repeatable = instance, leases, repeatable
        self._again: dict[str, float] = {}
        self._given_up: dict[dg.AssetKey, frozenset[Partition]] = {}
        self._began: dict[str, float | None] = {}
        self._held: dict[str, bool] = {}

    def is_held(self, corpus: str) -> bool:
        """Return whether another process holds the turn for `gsum run` on a corpus."""
        if corpus not in self._held:
            self._held[corpus] = self._leases.is_held_elsewhere(corpus)
        return self._held[corpus]

    def knows_buckets(self, n_buckets: int) -> bool:
        """Return whether Dagster knows all buckets of a corpus with so many."""
        return has_buckets(self._instance, n_buckets)

    def try_again_at(self, corpus: str) -> float:
        """Return when a retry of a corpus was last requested, Unix time; 0 for never."""
        if corpus not in self._again:
            runs = self._instance.get_run_records(
                dg.RunsFilter(tags={TRY_AGAIN: [corpus, EVERY_CORPUS]}), limit=5
            )
            self._again[corpus] = max((run.start_time or 0.0 for run in runs), default=0.0)
        return self._again[corpus]

    def given_up(
        self, key: dg.AssetKey, definition: dg.PartitionsDefinition | None
    ) -> frozenset[Partition]:
        """Return the partitions of an asset whose last attempt failed, without a retry requested.

        Parameters
        ----------
        definition : how the asset is partitioned.
        """
        if not self._some_failed:
            return frozenset()
        if key not in self._given_up:
            log = self._instance.event_log_storage
            open_ = (
                log.get_latest_asset_partition_materialization_attempts_without_materializations(
                    key
                )
            )
            self._read_runs({run for run, _ in open_.values()})
            began = {
                partition_of(partition, definition): self._began[run]
                for partition, (run, _) in open_.items()
            }
            self._given_up[key] = frozenset(
                partition
                for partition, time in began.items()
                if time is not None and time > self.try_again_at(partition.corpus)
            )
        return self._given_up[key]

    @cached_property
    def _some_failed(self) -> bool:
        """Whether any run failed; if not, one query replaces one for each asset."""
        return bool(self._instance.get_runs(dg.RunsFilter(statuses=list(_FAILED)), limit=1))

    def _read_runs(self, run_ids: set[str]) -> None:
        """Note when each run began, if it failed."""
        unknown = sorted(run_ids - self._began.keys())
        if unknown:
            self._began |= dict.fromkeys(unknown)  # deleted runs do not count
            for record in self._instance.get_run_records(dg.RunsFilter(run_ids=unknown)):
                self._began[record.dagster_run.run_id] = _began_and_failed(record)
            self._began |= dict.fromkeys(self._repeatable(unknown))


def _began_and_failed(record: dg.RunRecord) -> float | None:
    """Return when a failed run began, Unix time.

    None for a run that did not fail, was killed at the command line, or was cancelled before it
    began: these say nothing about the tables that they should have written.
    """
    run = record.dagster_run
    if run.status not in _FAILED or ORPHANED in run.tags:
        return None
    if run.status == dg.DagsterRunStatus.CANCELED:
        return record.start_time
    return record.start_time or record.create_timestamp.timestamp()
