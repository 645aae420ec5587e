"""The daemon of a home: whether it is alive and evaluates the conditions, and what it has begun."""

import time
from dataclasses import dataclass
from typing import Any

import dagster as dg

from gsum_resources.dagster_io import dagster_private as private
from gsum_resources.dagster_io.dagster_private import AssetGraph

KEEP_CURRENT = "keep_current"
"""The sensor that evaluates the automation conditions."""
HEARTBEAT_S = 120.0  # the daemon sends a heartbeat every 30 s


@dataclass(frozen=True)
class Evaluations:
    """Evaluations of the conditions by daemons.

    Attributes
    ----------
    last : when the last one began, Unix time; 0 for none.
    interval_s : seconds between two of them.
    """

    last: float
    interval_s: float


def daemon_is_alive(instance: dg.DagsterInstance) -> bool:
    """Return whether a daemon runs, by the time of its last heartbeat."""
    heartbeat = instance.get_daemon_heartbeats().get("QUEUED_RUN_COORDINATOR")
    return heartbeat is not None and time.time() - heartbeat.timestamp < HEARTBEAT_S


def evaluations_by_daemon(instance: dg.DagsterInstance) -> Evaluations | None:
    """Return the evaluations of the conditions if a daemon owns the work of this home.

    None if none is alive, none has served gsum's code here, or `KEEP_CURRENT` is switched off in
    the UI.
    """
    if not daemon_is_alive(instance):
        return None
    states = [s for s in instance.all_instigator_state() if s.instigator_name == KEEP_CURRENT]
    evaluations = [
        (getattr(state.instigator_data, "last_tick_start_timestamp", None) or 0.0, state)
        for state in states
    ]
    if not evaluations:
        return None
    last, latest = max(evaluations, key=lambda evaluation: evaluation[0])
    if latest.status.value == "STOPPED":
        return None
    return Evaluations(last, getattr(latest.instigator_data, "min_interval", None) or 0.0)


def other_launcher(instance: dg.DagsterInstance) -> str | None:
    """Return the name of the run launcher in `dagster.yaml` if it is not Dagster's default."""
    launcher = instance.run_launcher
    is_own = instance.is_ephemeral or isinstance(launcher, dg.DefaultRunLauncher)
    return None if is_own else type(launcher).__name__


def backfills_on(instance: dg.DagsterInstance, graph: AssetGraph, corpus: str) -> list[Any]:
    """Return Dagster's backfills that have not ended and concern a corpus."""
    requested = private.BulkActionsFilter(statuses=[private.BulkActionStatus.REQUESTED])
    concerned = []
    for backfill in instance.get_backfills(requested):
        if backfill.is_asset_backfill:
            targets = backfill.get_asset_backfill_data(graph).target_subset
            keys = [p.partition_key or "" for p in targets.iterate_asset_partitions()]
            if any(corpus in key.split("|") for key in keys):
                concerned.append(backfill)
    return concerned
