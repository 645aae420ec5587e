"""Freshness of results: a result is late if it could not be updated for more than a day.

Dagster uses the time of an asset's last materialization. Results are computed only when something
changed, so those that are up to date are confirmed: their last materialization is reported again.
"""

import time
from collections.abc import Callable, Sequence

import dagster as dg

from gsum_assets.automation.staleness import Snapshot

_CONFIRM_S = 12 * 3600.0  # age of the last event from which a result is confirmed
_OBSERVED_S = 3 * 3600.0  # the sources are observed every hour
_SOURCES = dg.AssetKey("source_documents")


def confirmations(
    instance: dg.DagsterInstance, snapshot: Snapshot, now: float
) -> list[dg.AssetMaterialization]:
    """Return the last materialization of each result that is old but up to date.

    Up to date means that no partition of it, of any corpus, is due or depends on one that is due or
    given up, and that the sources were observed recently.

    Parameters
    ----------
    now : Unix time.
    """
    observed = instance.fetch_observations(_SOURCES, limit=1).records
    if not observed or now - observed[0].timestamp > _OBSERVED_S:
        return []
    known = instance.get_dynamic_partitions("corpora")
    confirmed = []
    for key, node in snapshot.nodes.items():
        if not node.is_result:
            continue
        event = instance.get_latest_materialization_event(key)
        if event is None or event.asset_materialization is None:
            continue
        inputs = [parent for parent in node.parents if parent in snapshot.nodes]
        if now - event.timestamp < _CONFIRM_S or any(snapshot.unsettled(key, c) for c in known):
            continue
        if any(snapshot.stuck(parent, corpus) for parent in inputs for corpus in known):
            continue  # an asset that unites methods lacks those that failed
        last = event.asset_materialization
        confirmed.append(  # with all metadata and tags: the UI shows those of the last event
            dg.AssetMaterialization(
                last.asset_key,
                partition=last.partition,
                description="Confirmed: it was checked and is up to date.",
                metadata={**last.metadata, "confirmed": dg.MetadataValue.timestamp(now)},
                tags=last.tags,
            )
        )
    return confirmed


def confirm_results(
    new_snapshot: Callable[[dg.DagsterInstance], Snapshot],
    notices: Callable[[dg.DagsterInstance, Snapshot], Sequence[str]] = lambda *_: (),
) -> dg.SensorDefinition:
    """Return the sensor that confirms results, so that up-to-date ones do not become late.

    Parameters
    ----------
    notices : returns a line for each reason why something due is not computed.
    """

    @dg.sensor(
        name="confirm_results",
        minimum_interval_seconds=600,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Confirms results that did not change for 12 hours and are up to date; a "
        "result that could not be updated is not confirmed, and so becomes late. Says which change "
        "of a model or prompt waits to be accepted, and which model's server is away.",
    )
    def confirm(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        snapshot = new_snapshot(context.instance)
        lines = notices(context.instance, snapshot)
        for line in lines:
            context.log.warning(line)
        events = confirmations(context.instance, snapshot, time.time())
        if not events:
            return dg.SkipReason("; ".join(lines) or "nothing to confirm")
        return dg.SensorResult(asset_events=events)

    return confirm
