"""Run requests for what is due in one corpus, upstream ones first."""

import logging
from collections.abc import Collection, Mapping, Sequence

import dagster as dg

from gsum_assets.automation.staleness import Snapshot, evaluated_by
from gsum_resources.dagster_io import dagster_private as private
from gsum_resources.dagster_io.dagster_private import (
    AssetDaemonCursor,
    AssetGraph,
    AssetKeyPartitionKey,
    AutomationConditionEvaluator,
)
from gsum_resources.dagster_io.warehouse_io import partition_of


def due(
    graph: AssetGraph,
    instance: dg.DagsterInstance,
    corpus: str,
    snapshot: Snapshot,
) -> list[dg.RunRequest]:
    """Return the runs to start now, upstream ones first.

    Parameters
    ----------
    snapshot : a new snapshot, by which the conditions of the assets that are due are evaluated.
    """
    keys = snapshot.due(corpus)
    if not keys:
        return []
    # as `dg.evaluate_automation_conditions`, but without the cursor, which took two thirds of the
    # time and which stateless conditions do not need
    evaluator = AutomationConditionEvaluator(
        asset_graph=graph,
        instance=instance,
        entity_keys=keys,
        evaluation_id=0,
        cursor=AssetDaemonCursor.empty(),
        emit_backfills=False,
        logger=logging.getLogger(__name__),
    )
    with evaluated_by(snapshot):
        _, requested = evaluator.evaluate()
    assets_of: dict[tuple[dg.PartitionsDefinition | None, str], set[dg.AssetKey]] = {}
    for subset in requested:
        if isinstance(subset.key, dg.AssetKey):
            definition = graph.get(subset.key).partitions_def
            for key in subset.expensively_compute_partition_keys():
                if partition_of(key, definition).corpus == corpus:
                    assets_of.setdefault((definition, key), set()).add(subset.key)
    as_runs = private.build_run_requests_with_backfill_policies
    with dg.partition_loading_context(dynamic_partitions_store=instance):
        return [
            request
            for wanted in _independent(assets_of, graph.toposorted_asset_keys)
            for request in as_runs(wanted, graph, instance)
        ]


def without_readers_of(
    left_out: Collection[dg.AssetKey], graph: AssetGraph, request: dg.RunRequest
) -> list[dg.AssetKey]:
    """Return the assets of a request that are not left out and depend on none that is."""
    wanted = set(request.asset_selection or ())
    possible: list[dg.AssetKey] = []
    dropped = set(left_out)
    for key in graph.toposorted_asset_keys:
        if key in wanted:
            if key in dropped or graph.get(key).parent_keys & dropped:
                dropped.add(key)
            else:
                possible.append(key)
    return possible


def _independent(
    assets_of: Mapping[tuple[dg.PartitionsDefinition | None, str], Collection[dg.AssetKey]],
    order: Sequence[dg.AssetKey],
) -> list[list[AssetKeyPartitionKey]]:
    """Return the requests in groups of partitions with the same assets, upstream ones first.

    All assets of a partition are in one run. Dagster's own grouping combines assets with the same
    partitions, which can put an asset into a run before that of its input.
    """
    order_of = {key: i for i, key in enumerate(order)}
    groups: dict[tuple, list[str]] = {}
    for (definition, partition), assets in assets_of.items():
        wanted = tuple(sorted(assets, key=order_of.__getitem__))
        groups.setdefault((definition, wanted), []).append(partition)
    return [
        [AssetKeyPartitionKey(asset, partition) for asset in wanted for partition in partitions]
        for (_, wanted), partitions in sorted(
            groups.items(), key=lambda group: [order_of[asset] for asset in group[0][1]]
        )
    ]
