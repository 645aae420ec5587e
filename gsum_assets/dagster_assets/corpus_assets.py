"""Observed assets: the contents of a corpus folder."""

import time
from collections.abc import Callable

import dagster as dg

from gsum_assets.corpus import observe
from gsum_assets.corpus.folder import is_being_written
from gsum_assets.dagster_assets.partitions import corpora, corpus_buckets
from gsum_assets.dagster_assets.presentation import kind_tags, observed_table
from gsum_assets.forgetting.deletions import Deletions
from gsum_resources.dagster_io.failure import explained
from gsum_resources.dagster_io.resources import SETTINGS, WAREHOUSE
from gsum_resources.dagster_io.warehouse_io import WarehouseIO

GROUP = "corpus"


def _watched(context: dg.OpExecutionContext) -> list[str]:
    """Return the corpora to observe: that of a command, or those that are not being written.

    The sensor `watch_corpora` requests the others again once they are quiet.
    """
    corpus = context.run.tags.get("gsum/corpus")
    if corpus and "dagster/sensor_name" not in context.run.tags:
        return [corpus]
    root, now = context.resources.gsum_warehouse.home.corpora, time.time()
    known = [corpus] if corpus else context.instance.get_dynamic_partitions("corpora")
    return [name for name in known if not is_being_written(root / name, now)]


@dg.observable_source_asset(
    partitions_def=corpus_buckets,
    group_name=GROUP,
    io_manager_key=WAREHOUSE,
    required_resource_keys={WAREHOUSE},
    **observed_table(
        "source_documents",
        "Observed; the version is the hash of the bucket's documents and of the settings that "
        "change how they are read.",
    ),
)
@explained()
def source_documents(context: dg.OpExecutionContext) -> dg.DataVersionsByPartition:
    warehouse: WarehouseIO = context.resources.gsum_warehouse
    versions = {}
    for corpus in _watched(context):
        Deletions(warehouse.store).observe(corpus)  # before a run rewrites `documents`
        for partition, version in observe.documents(warehouse, corpus, context.log).items():
            keys = {"corpus": corpus, "bucket": partition.bucket or ""}
            versions[str(dg.MultiPartitionKey(keys))] = version
    return dg.DataVersionsByPartition(versions)


def _files(
    name: str, purpose: str, version_of: Callable[[WarehouseIO, str], str]
) -> dg.SourceAsset:
    """Return an asset that observes files of a corpus folder as one table."""

    @dg.observable_source_asset(
        name=name,
        partitions_def=corpora,
        group_name=GROUP,
        io_manager_key=WAREHOUSE,
        required_resource_keys={WAREHOUSE},
        **observed_table(name, purpose),
    )
    @explained()
    def observed(context: dg.OpExecutionContext) -> dg.DataVersionsByPartition:
        warehouse: WarehouseIO = context.resources.gsum_warehouse
        return dg.DataVersionsByPartition(
            {corpus: version_of(warehouse, corpus) for corpus in _watched(context)}
        )

    return observed


@dg.observable_source_asset(
    partitions_def=corpora,
    group_name=GROUP,
    io_manager_key=SETTINGS,
    required_resource_keys={WAREHOUSE, SETTINGS},
    description="Settings in `corpus.toml`. Observed; lineage names the sections read.",
    metadata={"file": "corpora/<corpus>/corpus.toml"},
    tags=kind_tags("file"),
)
@explained()
def corpus_settings(context: dg.OpExecutionContext) -> dg.DataVersionsByPartition:
    return dg.DataVersionsByPartition(
        {corpus: context.resources.gsum_settings.version(corpus) for corpus in _watched(context)}
    )


corpus_assets = [
    source_documents,
    _files("source_queries", "Observed; the version is the hash of the files.", observe.queries),
    _files(
        "source_graph",
        "Observed; the version is the hash of the files. If there are any, entities and "
        "relationships are read from them instead of being extracted.",
        observe.graph,
    ),
    corpus_settings,
]
