"""Failed and cancelled attempts, read from Dagster's run log.

The daemon and the command line share one rule: what failed, or what a person cancelled, is not
repeated until a retry is requested by a run with the tag `TRY_AGAIN`: `gsum run` requests it for
its corpus, the job `reindex_everything` for all. Its schedule does so for what failed only. Only
what ended so since the latest of these runs counts, so that each partition is retried once after
it, and never in a loop. What was over budget is repeated by itself the next day, or when the
limits have changed; what found no server, once as much time has passed as the server was away for.
What was interrupted, as by a restart of the daemon, counts as neither.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import dagster as dg

from gsum_assets.automation.processes import ORPHANED
from gsum_assets.dagster_assets.partitions import has_buckets
from gsum_resources.dagster_io.launcher import CONTINUES
from gsum_resources.dagster_io.warehouse_io import partition_of
from gsum_resources.state.leases import Leases
from gsum_resources.store.parquet_store import Partition

TRY_AGAIN = "gsum/try_again"
EVERY_CORPUS = "*"  # no corpus is called so
_BY_SCHEDULE = "dagster/schedule_name"
_MOST_REQUESTS = 30  # of a schedule, a month of nights
_FAILED = (dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED)
_CANCELLED = (dg.DagsterRunStatus.CANCELING, dg.DagsterRunStatus.CANCELED)
_REASON = "dagster/failure_reason"
_INTERRUPTED = "UNEXPECTED_TERMINATION"  # by a signal that no person sent through Dagster
_RETRIED = "dagster/will_retry"  # the daemon starts the run again


class _Ended(NamedTuple):
    """When an unsuccessful run began, or was cancelled; Unix time."""

    time: float
    is_cancelled: bool


class Attempts:
    """The run log and the leases at one moment; results of queries are cached.

    Parameters
    ----------
    repeatable : returns which of some failed runs are repeated by themselves now: they were over a
        budget, or found no server.
    """

    def __init__(
        self,
        instance: dg.DagsterInstance,
        leases: Leases,
        repeatable: Callable[[Collection[str]], Collection[str]] = lambda _: (),
    ) -> None:
        self._instance, self._leases, self._repeatable = instance, leases, repeatable
        self._again: dict[str, Sequence[dg.RunRecord]] = {}
        self._given_up: dict[dg.AssetKey, Mapping[Partition, bool]] = {}
        self._ended: dict[str, _Ended | None] = {}
        self._held: dict[str, bool] = {}

    def is_held(self, corpus: str) -> bool:
        """Return whether another process holds the turn for `gsum run` on a corpus."""
        if corpus not in self._held:
            self._held[corpus] = self._leases.is_held_elsewhere(corpus)
        return self._held[corpus]

    def knows_buckets(self, n_buckets: int) -> bool:
        """Return whether Dagster knows all buckets of a corpus with so many."""
        return has_buckets(self._instance, n_buckets)

    def try_again_at(self, corpus: str, by_person: bool = False) -> float:
        """Return when a retry of a corpus was last requested, Unix time; 0 for never.

        Parameters
        ----------
        by_person : whether requests of a schedule do not count.
        """
        if corpus not in self._again:
            self._again[corpus] = self._instance.get_run_records(
                dg.RunsFilter(tags={TRY_AGAIN: [corpus, EVERY_CORPUS]}), limit=_MOST_REQUESTS
            )
        return max(
            (
                record.start_time or 0.0
                for record in self._again[corpus]
                if not (by_person and _BY_SCHEDULE in record.dagster_run.tags)
            ),
            default=0.0,
        )

    def given_up(
        self, key: dg.AssetKey, definition: dg.PartitionsDefinition | None
    ) -> Mapping[Partition, bool]:
        """Return the partitions of an asset whose last attempt gave no file, and no retry since.

        Parameters
        ----------
        definition : how the asset is partitioned.

        Returns
        -------
        By partition whether a person cancelled the attempt; else it failed.
        """
        if not self._some_failed:
            return {}
        if key not in self._given_up:
            log = self._instance.event_log_storage
            open_ = (
                log.get_latest_asset_partition_materialization_attempts_without_materializations(
                    key
                )
            )
            self._read_runs({run for run, _ in open_.values()})
            ended = {
                partition_of(partition, definition): self._ended[run]
                for partition, (run, _) in open_.items()
            }
            self._given_up[key] = {
                partition: run.is_cancelled
                for partition, run in ended.items()
                if run and run.time > self.try_again_at(partition.corpus, run.is_cancelled)
            }
        return self._given_up[key]

    @cached_property
    def _some_failed(self) -> bool:
        """Whether any run failed; if not, one query replaces one for each asset."""
        return bool(self._instance.get_runs(dg.RunsFilter(statuses=list(_FAILED)), limit=1))

    def _read_runs(self, run_ids: set[str]) -> None:
        """Note which runs failed or were cancelled."""
        unknown = sorted(run_ids - self._ended.keys())
        if unknown:
            self._ended |= dict.fromkeys(unknown)  # deleted runs do not count
            for record in self._instance.get_run_records(dg.RunsFilter(run_ids=unknown)):
                self._ended[record.dagster_run.run_id] = self._unsuccessful(record)
            self._ended |= dict.fromkeys(self._repeatable(unknown))

    def _unsuccessful(self, record: dg.RunRecord) -> _Ended | None:
        """Return how a run ended that failed or that a person cancelled, also before it began.

        None for others: a run that was interrupted, or that `gsum run` cancelled, says nothing
        about the tables that it should have written.
        """
        run = record.dagster_run
        if run.status not in _FAILED or ORPHANED in run.tags:
            return None
        created = record.create_timestamp.timestamp()
        is_interrupted = run.tags.get(_REASON) == _INTERRUPTED
        if run.status == dg.DagsterRunStatus.CANCELED or (
            is_interrupted and self._within_cancelled(run)
        ):
            return _Ended(record.end_time or created, is_cancelled=True)
        if is_interrupted and run.tags.get(_RETRIED) != "true":
            return None
        return _Ended(record.start_time or created, is_cancelled=False)

    def _within_cancelled(self, run: dg.DagsterRun) -> bool:
        """Return whether a person cancelled the run in whose process another one was computed."""
        outer = self._instance.get_run_by_id(run.tags.get(CONTINUES, ""))
        return outer is not None and outer.status in _CANCELLED
