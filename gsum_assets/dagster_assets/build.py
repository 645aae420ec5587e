"""Dagster assets of steps and families: keys, partitions, pools, lineage and UI metadata."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

import dagster as dg
import pyarrow as pa

from gsum_assets.dagster_assets.partitions import (
    across,
    corpora,
    corpus_buckets,
    corpus_methods,
    to_corpus,
)
from gsum_assets.dagster_assets.presentation import as_metadata
from gsum_assets.evaluation.comparisons import as_table
from gsum_assets.pipeline.columns import DOCUMENT_LEVEL, RESULT
from gsum_assets.pipeline.family import Family
from gsum_assets.pipeline.result import Result
from gsum_assets.pipeline.step import MODELS, SETTINGS, Inputs
from gsum_assets.pipeline.tables import table_of
from gsum_assets.registry.declared import Declared, index_of
from gsum_resources.dagster_io import resources
from gsum_resources.dagster_io.failure import explained
from gsum_resources.dagster_io.models_io import ModelsIO
from gsum_resources.dagster_io.resources import WAREHOUSE
from gsum_resources.dagster_io.warehouse_io import (
    LAZY,
    UNTRACKED,
    WHAT_EXISTS,
    WarehouseIO,
    as_dictionaries,
    as_tables,
    partition_of,
    step_of,
)
from gsum_resources.store.partition import version_of

INDEX = "index"
"""Name of the asset that represents a family's index."""

LATE = dg.FreshnessPolicy.time_window(
    warn_window=timedelta(hours=26), fail_window=timedelta(hours=36)
)
"""When a result is late: `automation/freshness.py` confirms those that are up to date."""


def asset_of(
    declared: Declared, buckets_per_run: int, upstream: Sequence[dg.AssetKey] = ()
) -> dg.AssetsDefinition:
    """Return a step as a multi-asset with one output for each of its tables.

    Parameters
    ----------
    buckets_per_run : buckets of documents that one run takes at most.
    upstream : assets of others that write the folders of documents, for the lineage.
    """
    step = declared.step
    outs = {
        name: dg.AssetOut(
            key=declared.path(name),
            io_manager_key=WAREHOUSE,
            description=purpose,
            group_name=declared.group,
            code_version=step.code_version,
            is_required=not step.apart,
            freshness_policy=LATE if name in step.results else None,
        )
        for name, purpose in step.writes.items()
    }

    partitions = corpora
    if declared.level == DOCUMENT_LEVEL:
        partitions = corpus_buckets
    elif declared.level == RESULT:
        partitions = corpus_methods(declared.methods)

    @dg.multi_asset(
        name=declared.name.replace("/", "__"),
        outs=outs,
        ins=_ins(declared),
        deps=upstream if "source_documents" in declared.reads else (),
        partitions_def=partitions,
        backfill_policy=(
            dg.BackfillPolicy.multi_run(buckets_per_run)
            if declared.level == DOCUMENT_LEVEL
            else None
        ),
        pool=step.pool,
        required_resource_keys={WAREHOUSE, resources.MODELS},
        can_subset=step.apart,
    )
    def make(context: dg.AssetExecutionContext, **read: Any) -> Iterator[dg.Output]:
        read = {name.replace("__", "/"): lazy for name, lazy in read.items()}
        read = {**read.pop(INDEX, {}), **read}
        warehouse: WarehouseIO = context.resources.gsum_warehouse
        results = []
        with explained():
            existing = warehouse.existing([partition_of(key) for key in context.partition_keys])
            for name in step.optional:
                read[name] = warehouse.as_it_is(declared.table(name), {p.corpus for p in existing})
            for inputs, result in declared.make(read, existing, _around(context)):
                _report(context, declared, inputs, result)
                results.append((inputs, result._replace(shown=dict)))  # frees what `shown` has
            tables = declared.joined(results)
            _report_usage(context, declared)
        for name in sorted(context.op_execution_context.selected_output_names):
            yield dg.Output(tables[name], name)

    return make


def _ins(declared: Declared) -> dict[str, dg.AssetIn]:
    """Return the inputs of a step, from all partitions that its own depend on."""
    ins = {}
    for name in declared.reads:
        if name in declared.step.optional:
            continue  # no dependency
        if name in declared.by_index:
            columns = declared.step.dictionaries
            tables = {
                declared.table(table).name: columns.get(table, ()) for table in declared.by_index
            }
            ins[INDEX] = dg.AssetIn(
                [declared.group, INDEX], partition_mapping=to_corpus, metadata=as_tables(tables)
            )
        else:
            ins[name.replace("/", "__")] = _in(declared, name)
    return ins


def _in(declared: Declared, name: str) -> dg.AssetIn:
    if name in MODELS:
        return dg.AssetIn(name)
    read = ("corpus",) if name == SETTINGS else declared.table(name).dimensions
    mapping = None if read == declared.level else to_corpus
    if (read, declared.level) == (DOCUMENT_LEVEL, RESULT):
        mapping = across
    if name == SETTINGS:
        return dg.AssetIn(name, partition_mapping=mapping)
    how = {**LAZY, **(UNTRACKED if name in declared.step.untracked else {})}
    if declared.takes_what_exists(name):
        how |= WHAT_EXISTS
    if columns := declared.step.dictionaries.get(name):
        how |= as_dictionaries(*columns)
    return dg.AssetIn(declared.path(name), partition_mapping=mapping, metadata=how)


def _around(context: dg.AssetExecutionContext) -> Inputs:
    """Return the inputs of a step without tables and models: log, store, folder, versions."""
    warehouse: WarehouseIO = context.resources.gsum_warehouse
    step = step_of(context)
    return Inputs(
        {},
        "",
        log=context.log.info,
        note=partial(warehouse.reads.other, step),
        store=warehouse.store,
        folder=warehouse.home.corpora,
        versions=warehouse.reads.tables[step],
        engine=context.resources.gsum_models.models.engine,
    )


def _report(
    context: dg.AssetExecutionContext, declared: Declared, inputs: Inputs, result: Result
) -> None:
    """Log the failures of a step, and attach its metadata to the partitions of its corpus."""
    for failure in result.failures:
        context.log.warning(failure)
    keys = [key for key in context.partition_keys if partition_of(key).corpus == inputs.corpus]
    selected = context.op_execution_context.selected_output_names
    warehouse: WarehouseIO = context.resources.gsum_warehouse
    for table, shown in result.shown().items() if warehouse.presented else ():
        for key in keys if table in selected else ():
            context.add_asset_metadata(
                as_metadata(shown), dg.AssetKey(declared.path(table)), partition_key=key
            )


def _report_usage(context: dg.AssetExecutionContext, declared: Declared) -> None:
    """Attach what the step's models cost to its first table, so that sums count nothing twice."""
    models: ModelsIO = context.resources.gsum_models
    usage = models.usage.pop(step_of(context), None)
    warehouse: WarehouseIO = context.resources.gsum_warehouse
    if usage is None or not warehouse.presented:
        return
    selected = context.op_execution_context.selected_output_names
    table = next(name for name in declared.step.writes if name in selected)
    for key in context.partition_keys:
        documents = warehouse.documents_in(partition_of(key), usage.calls or ())
        if metadata := usage.metadata(documents):
            context.add_asset_metadata(
                metadata, dg.AssetKey(declared.path(table)), partition_key=key
            )


def index_asset_of(family: Family) -> dg.AssetsDefinition:
    """Return one asset for the index, between its tables and the question steps in the lineage.

    The steps read the tables and record which: a new row of `index` makes nothing out of date.
    """
    paths = [family.path(name) for name in index_of(family)]
    tables = [table_of(path) for path in paths]

    @dg.asset(
        name=INDEX,
        key_prefix=family.name,
        io_manager_key=WAREHOUSE,
        partitions_def=corpora,
        deps=[
            dg.AssetDep(
                path, partition_mapping=to_corpus if table.dimensions == DOCUMENT_LEVEL else None
            )
            for path, table in zip(paths, tables, strict=True)
        ],
        group_name=family.name,
        required_resource_keys={WAREHOUSE},
        code_version="1",
        description="Represents all tables that questions are answered from; each method reads "
        "some of them.",
    )
    @explained()
    def index(context: dg.AssetExecutionContext) -> pa.Table:
        warehouse: WarehouseIO = context.resources.gsum_warehouse
        rows = []
        for table in tables:
            footers = warehouse.footers(step_of(context), table, context.partition_key)
            warehouse.require_all(table, context.partition_key, footers)
            version = version_of({p: footer.content_hash for p, footer in footers.items()})
            rows.append((table.name, sum(footer.rows for footer in footers.values()), version))
        return as_table(f"{family.name}.{INDEX}", rows)

    return index
