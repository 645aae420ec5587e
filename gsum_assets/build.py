"""Steps and methods as Dagster assets: keys, partitions, pools, lineage and what the UI shows."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import dagster as dg
import pyarrow as pa

from gsum_assets.columns import DOCUMENT_LEVEL, RESULT
from gsum_assets.declared import Declared, index_of, of_method
from gsum_assets.evaluation.comparisons import as_table
from gsum_assets.method import MODELS, SETTINGS, Inputs, Method
from gsum_assets.partitions import across, corpora, corpus_buckets, corpus_variants, to_corpus
from gsum_assets.presentation import as_metadata
from gsum_assets.result import Result
from gsum_assets.tables import table_of
from gsum_resources.parquet_store import version_of
from gsum_resources.warehouse_io import (
    LAZY,
    UNTRACKED,
    WarehouseIO,
    as_dictionaries,
    as_tables,
    partition_of,
    step_of,
)

INDEX = "index"
"""Name of the asset that stands for a method's index."""


def assets_of(method: Method) -> list[dg.AssetsDefinition]:
    """The index of a method, one asset that stands for it, and results from rankings to scores."""
    paths = [method.path(name) for name in index_of(method)]
    return [_index_asset(method.name, paths), *map(asset_of, of_method(method))]


def asset_of(one: Declared) -> dg.AssetsDefinition:
    """A step as an asset, or as several where it writes several tables."""
    step = one.step
    outs = {
        name: dg.AssetOut(
            key=one.path(name),
            description=purpose,
            group_name=one.group,
            code_version=step.code_version,
            is_required=not step.apart,
        )
        for name, purpose in step.writes.items()
    }

    @dg.multi_asset(
        name=one.name.replace("/", "__"),
        outs=outs,
        ins=_ins(one),
        partitions_def=_partitions(one),
        backfill_policy=_ONE_RUN if one.level == DOCUMENT_LEVEL else None,
        pool=step.pool,
        required_resource_keys={"io_manager"},
        can_subset=step.apart,
    )
    def make(context: dg.AssetExecutionContext, **read: Any) -> Iterator[dg.Output]:
        read = {name.replace("__", "/"): lazy for name, lazy in read.items()}
        read = {**read.pop(INDEX, {}), **read}
        partitions = [partition_of(key) for key in context.partition_keys]
        made = []
        for inputs, result in one.make(read, partitions, _around(context)):
            _report(context, one, inputs, result)
            made.append((inputs, result._replace(shown=dict)))  # what it holds may be let go
        tables = one.joined(made)
        for name in sorted(context.op_execution_context.selected_output_names):
            yield dg.Output(tables[name], name)

    return make


_ONE_RUN = dg.BackfillPolicy.single_run()


def _partitions(one: Declared) -> dg.PartitionsDefinition:
    if one.level == DOCUMENT_LEVEL:
        return corpus_buckets
    return corpus_variants(one.variants) if one.level == RESULT else corpora


def _ins(one: Declared) -> dict[str, dg.AssetIn]:
    """What a step reads, from all partitions that its own are made of."""
    ins = {}
    for name in one.reads:
        if name in one.by_index:
            tables = [one.table(own).name for own in one.by_index]
            ins[INDEX] = dg.AssetIn(
                [one.group, INDEX], partition_mapping=to_corpus, metadata=as_tables(tables)
            )
        else:
            ins[name.replace("/", "__")] = _in(one, name)
    return ins


def _in(one: Declared, name: str) -> dg.AssetIn:
    if name in MODELS:
        return dg.AssetIn(name)
    read = ("corpus",) if name == SETTINGS else one.table(name).dimensions
    mapping = None if read == one.level else to_corpus
    if (read, one.level) == (DOCUMENT_LEVEL, RESULT):
        mapping = across
    if name == SETTINGS:
        return dg.AssetIn(name, partition_mapping=mapping)
    how = {**LAZY, **(UNTRACKED if name in one.step.untracked else {})}
    if columns := one.step.dictionaries.get(name):
        how |= as_dictionaries(*columns)
    return dg.AssetIn(one.path(name), partition_mapping=mapping, metadata=how)


def _around(context: dg.AssetExecutionContext) -> Inputs:
    """What the inputs of a step have besides tables and models."""
    warehouse: WarehouseIO = context.resources.io_manager
    step = step_of(context)
    return Inputs(
        {},
        "",
        log=context.log.info,
        note=partial(warehouse.reads.other, step),
        store=warehouse.store,
        folder=warehouse.home.corpora,
        versions=warehouse.reads.tables[step],
    )


def _report(
    context: dg.AssetExecutionContext, one: Declared, inputs: Inputs, result: Result
) -> None:
    """Show what a step has to say of what it made, with the partitions of its corpus."""
    for problem in result.failures:
        context.log.warning(problem)
    keys = [key for key in context.partition_keys if partition_of(key).corpus == inputs.corpus]
    selected = context.op_execution_context.selected_output_names
    for table, shown in result.shown().items():
        for key in keys if table in selected else ():
            context.add_asset_metadata(
                as_metadata(shown), dg.AssetKey(one.path(table)), partition_key=key
            )


def _index_asset(name: str, paths: Sequence[Sequence[str]]) -> dg.AssetsDefinition:
    """One node for the index in the lineage graph, between its tables and the steps of a question.

    The steps read the tables and record those that they read: a new row of `index` puts nothing
    out of date.
    """
    tables = [table_of(path) for path in paths]

    @dg.asset(
        name=INDEX,
        key_prefix=name,
        partitions_def=corpora,
        deps=[
            dg.AssetDep(
                path, partition_mapping=to_corpus if table.dimensions == DOCUMENT_LEVEL else None
            )
            for path, table in zip(paths, tables, strict=True)
        ],
        group_name=name,
        required_resource_keys={"io_manager"},
        code_version="1",
        description="Stands for all tables that the answers to questions are found in: each "
        "method reads some of them.",
    )
    def index(context: dg.AssetExecutionContext) -> pa.Table:
        warehouse: WarehouseIO = context.resources.io_manager
        rows = []
        for table in tables:
            footers = warehouse.footers(step_of(context), table, context.partition_key)
            version = version_of({p: footer.content_hash for p, footer in footers.items()})
            rows.append((table.name, sum(footer.rows for footer in footers.values()), version))
        return as_table(f"{name}.{INDEX}", rows)

    return index
