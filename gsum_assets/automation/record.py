"""Dagster's record of materializations, which follows the files of the warehouse."""

from collections.abc import Iterable, Mapping

import dagster as dg

from gsum_assets.automation.staleness import Node
from gsum_assets.dagster_assets.partitions import key_of
from gsum_resources.dagster_io.warehouse_io import partition_of
from gsum_resources.store.parquet_store import ParquetStore, Partition, Provenance


def follow_warehouse(
    instance: dg.DagsterInstance, store: ParquetStore, nodes: Iterable[Node]
) -> tuple[int, int]:
    """Report files that Dagster does not know, and wipe partitions whose file is gone.

    Such files were written with another instance of Dagster, or before its database was lost. A
    file of a run that has not ended is left to the run.

    Returns
    -------
    Number of reported and of wiped partitions.
    """
    from gsum_resources.dagster_io.instance_storage import wipe_partitions  # slow: migrations

    corpora = set(instance.get_dynamic_partitions("corpora"))
    n_reported = n_wiped = 0
    for node in nodes:
        # read before the files: a run writes a file first, then its event
        known = instance.get_materialized_partitions(node.key)
        stamped = store.stamped(node.table)
        # families share tables: an asset has the partitions of its own family's methods
        written = {
            key_of(p): p
            for p in stamped
            if p.corpus in corpora and (node.methods is None or p.method in (None, *node.methods))
        }
        unknown = {written[key] for key in written.keys() - known}
        footers = store.footers(node.table, {p: stamped[p] for p in unknown})
        for event in _events(instance, node.key, footers):
            instance.report_runless_asset_event(event)
            n_reported += 1
        gone = known - written.keys()
        wipe_partitions(instance, node.key, gone)
        n_wiped += len(gone)
    return n_reported, n_wiped


def wipe_corpus(
    instance: dg.DagsterInstance,
    corpus: str,
    definitions: Mapping[dg.AssetKey, dg.PartitionsDefinition | None],
) -> None:
    """Remove the events of a corpus, materializations and observations, from Dagster's record."""
    from gsum_resources.dagster_io.instance_storage import wipe_partitions  # slow: migrations

    latest = instance.event_log_storage.get_latest_storage_id_by_partition
    kinds = dg.DagsterEventType.ASSET_MATERIALIZATION, dg.DagsterEventType.ASSET_OBSERVATION
    for key, definition in definitions.items():
        if definition is None:
            continue
        recorded = {partition for kind in kinds for partition in latest(key, kind)}
        of_corpus = {p for p in recorded if partition_of(p, definition).corpus == corpus}
        wipe_partitions(instance, key, of_corpus)


def _events(
    instance: dg.DagsterInstance, key: dg.AssetKey, footers: Mapping[Partition, Provenance]
) -> Iterable[dg.AssetMaterialization]:
    for partition, footer in footers.items():
        run = instance.get_run_by_id(footer.run_id) if footer.run_id else None
        if run is not None and not run.is_finished:
            continue
        yield dg.AssetMaterialization(
            key,
            partition=key_of(partition),
            description="Reported from the file in the warehouse, which was written with another "
            "instance of Dagster.",
            metadata={
                "dagster/partition_row_count": footer.rows,
                "written": footer.time,
                "run": footer.run_id,
            },
        )
