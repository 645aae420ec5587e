"""Dagster assets of steps and families: keys, partitions, pools, lineage and UI metadata."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

import dagster as dg

from gsum_assets.dagster_assets.partitions import (
    across,
    corpora,
    corpus_buckets,
    corpus_methods,
    to_corpus,
)
from gsum_assets.dagster_assets.presentation import as_metadata
from gsum_assets.dagster_assets.run_config import chosen_questions, config_of
from gsum_assets.dagster_assets.run_resources import refuse_uniting
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
from gsum_resources.dagster_io.overrides import Overrides
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
from gsum_resources.store.parquet_store import Partition
from gsum_resources.store.partition import version_of
from gsum_resources.store.table import Table

INDEX = "index"
"""Name of the asset that represents a family's index."""

IF_CHANGED = "gsum/if_changed"
"""Tag of a run: names of assets, separated by commas, that it writes only if an input changes."""

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
            is_required=False,
            freshness_policy=LATE if name in step.results else None,
        )
        for name, purpose in step.writes.items()
    }

    partitions = corpora
    if declared.level == DOCUMENT_LEVEL:
        partitions = corpus_buckets
    elif declared.level == RESULT:
        partitions = corpus_methods(declared.methods)

    config = config_of(declared)

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
        required_resource_keys={WAREHOUSE, resources.MODELS, resources.SETTINGS},
        config_schema=config.to_fields_dict() if config else None,
        can_subset=step.apart,
    )
    def make(context: dg.AssetExecutionContext, **read: Any) -> Iterator[dg.Output]:
        read = {name.replace("__", "/"): lazy for name, lazy in read.items()}
        index = read.pop(INDEX, {})
        indexed = {name: index[declared.table(name).name] for name in declared.by_index if index}
        read = {**indexed, **read}
        warehouse: WarehouseIO = context.resources.gsum_warehouse
        with explained():
            existing = warehouse.existing([partition_of(key) for key in context.partition_keys])
            tables = [declared.table(name) for name in step.writes]
            if keeps_what_is_current(context, warehouse, tables, existing, step.code_version):
                return
            for name in step.optional:
                read[name] = warehouse.as_it_is(declared.table(name), {p.corpus for p in existing})
            results = []
            refuse_uniting(declared, context.resources.gsum_models, context.resources.gsum_settings)
            chosen = context.op_execution_context.op_config or {}
            overrides = Overrides(warehouse.reads)
            read |= chosen_questions(declared, chosen, read, step_of(context), overrides)
            for inputs, result in declared.make(read, existing, _around(context)):
                _report(context, declared, inputs, result)
                results.append((inputs, result._replace(shown=dict)))  # frees what `shown` has
            rows = declared.joined(results)
            _report_usage(context, declared)
        for name in sorted(context.op_execution_context.selected_output_names):
            yield dg.Output(rows[name], name)

    return make


def keeps_what_is_current(
    context: dg.AssetExecutionContext,
    warehouse: WarehouseIO,
    tables: Sequence[Table],
    partitions: Sequence[Partition],
    code_version: str | None,
) -> bool:
    """Return whether a step of a run has nothing to do, because its inputs turned out unchanged.

    Only for assets that the run's tag `IF_CHANGED` names: a run that a person starts does what was
    selected. The readers of a table that is kept are skipped; they are due again if something else
    of theirs has changed.
    """
    named = {*context.run.tags.get(IF_CHANGED, "").split(",")}
    if named.isdisjoint(key.to_user_string() for key in context.selected_asset_keys):
        return False
    is_kept = all(warehouse.is_current(table, partitions, code_version) for table in tables)
    if is_kept:
        context.log.info("kept: no input has changed")
    return is_kept


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
    of_some_methods = {
        family.table(name) for step in family.index if step.methods for name in step.writes
    }

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
        output_required=False,
        description="Represents all tables that questions are answered from; each method reads "
        "some of them.",
    )
    def index(context: dg.AssetExecutionContext) -> Iterator[dg.Output]:
        warehouse: WarehouseIO = context.resources.gsum_warehouse
        own, here = table_of([family.name, INDEX]), [Partition(context.partition_key)]
        with explained():
            if keeps_what_is_current(context, warehouse, [own], here, "1"):
                return
            rows = []
            for table in tables:
                footers = warehouse.footers(step_of(context), table, context.partition_key)
                if not footers and table in of_some_methods:
                    continue
                warehouse.require_all(table, context.partition_key, footers)
                version = version_of({p: footer.content_hash for p, footer in footers.items()})
                rows.append((table.name, sum(footer.rows for footer in footers.values()), version))
        yield dg.Output(as_table(f"{family.name}.{INDEX}", rows))

    return index
