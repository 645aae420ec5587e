"""Assets that one run can compute after others of the same partitions, if these have changed.

An existing partition waits while an input of it is due, since that may turn out unchanged. Where
all that it waits for is in one run, the run decides instead: fewer runs, and nothing is computed
that another run would not compute.
"""

from collections.abc import Collection, Sequence

import dagster as dg

from gsum_assets.automation.staleness import Snapshot
from gsum_resources.dagster_io.dagster_private import AssetGraph
from gsum_resources.store.lineage import feeds
from gsum_resources.store.parquet_store import Partition


def followers(
    graph: AssetGraph,
    snapshot: Snapshot,
    keys: Collection[dg.AssetKey],
    partitions: Sequence[Partition],
) -> list[dg.AssetKey]:
    """Return the assets that depend on those of a run, and on nothing else that is due.

    Parameters
    ----------
    keys, partitions : of the run.
    """
    definition = graph.get(next(iter(keys))).partitions_def
    in_run, added = set(keys), []

    def follows(key: dg.AssetKey) -> bool:
        node = snapshot.nodes.get(key)
        if node is None or node.definition != definition or key in in_run:
            return False
        outside = [parent for parent in node.parents - in_run if parent in snapshot.nodes]
        return _may_be_written(snapshot, key, partitions) and not any(
            _waits_for(snapshot, key, parent, partitions) for parent in outside
        )

    for key in graph.toposorted_asset_keys:
        step = graph.get(key).execution_set_asset_keys | {key}  # all that one step writes
        if any(graph.get(k).parent_keys & in_run for k in step) and all(map(follows, step)):
            in_run |= step
            added += sorted(step)
    return added


def _may_be_written(
    snapshot: Snapshot, key: dg.AssetKey, partitions: Collection[Partition]
) -> bool:
    """Return whether an asset is kept up to date, and neither given up nor awaiting consent."""
    table = snapshot.nodes[key].table.name
    return all(
        (snapshot.lineage.exists(table, partition) or snapshot.is_wanted(key, partition))
        and snapshot.is_in_scope(key, partition)
        and not snapshot.is_given_up(key, partition)
        and not snapshot.awaits_acceptance(key, partition)
        for partition in partitions
    )


def _waits_for(
    snapshot: Snapshot, key: dg.AssetKey, parent: dg.AssetKey, partitions: Collection[Partition]
) -> bool:
    """Return whether an asset waits for another one that the run does not write."""
    return any(
        feeds(unsettled, partition) and not snapshot.is_dispensable(key, parent, unsettled)
        for partition in partitions
        for unsettled in snapshot.unsettled(parent, partition.corpus)
    )
