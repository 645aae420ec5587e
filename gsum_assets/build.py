"""Steps and methods as Dagster assets: keys, partitions, pools, lineage and what the UI shows."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any

import dagster as dg
import pyarrow as pa

from gsum_assets.columns import DOCUMENT_LEVEL, RESULT
from gsum_assets.corpus.load import N_BUCKETS
from gsum_assets.evaluation.comparisons import as_table
from gsum_assets.evaluation.scores_step import scores_step
from gsum_assets.method import MODELS, SETTINGS, Inputs, Method, Step
from gsum_assets.partitions import across, corpora, corpus_buckets, corpus_variants, to_corpus
from gsum_assets.presentation import as_metadata
from gsum_assets.result import Result
from gsum_assets.tables import by_corpus, table_of
from gsum_resources.lazy import Lazy
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

Path = Callable[[str], list[str]]
"""The asset that has a table, by the name that a step has for it."""

Prepare = Callable[[Inputs], Inputs]


def assets_of(method: Method) -> list[dg.AssetsDefinition]:
    """The index of a method, one asset that stands for it, and results from rankings to scores."""
    by_corpus = [
        path
        for name in method.read_by_questions
        if (table_of(path := method.path(name)).dimensions != RESULT)
    ]
    return [
        *step_assets(method.index, method.name, method.path, method.variants),
        _index_asset(method.name, by_corpus),
        *_result_assets(method, [table_of(path).name for path in by_corpus]),
    ]


def step_assets(
    steps: Sequence[Step], group: str, path: Path, variants: Sequence[str] = ()
) -> list[dg.AssetsDefinition]:
    """Steps as assets that read what they name.

    Parameters
    ----------
    group : that the UI shows them in.
    variants : of the method whose steps they are.
    """
    return [
        _asset(step, group, path, variants, {name: _in(step, name, path) for name in step.reads})
        for step in steps
    ]


def _in(step: Step, name: str, path: Path) -> dg.AssetIn:
    """What a step reads, from all partitions that its own are made of."""
    if name in MODELS:
        return dg.AssetIn(name)
    own = table_of(path(step.table)).dimensions
    if name == SETTINGS:
        return dg.AssetIn(name, partition_mapping=None if own == ("corpus",) else to_corpus)
    read = table_of(path(name)).dimensions
    mapping = None if read == own else to_corpus
    if (read, own) == (DOCUMENT_LEVEL, RESULT):
        mapping = across
    how = {**LAZY, **(UNTRACKED if name in step.untracked else {})}
    if columns := step.dictionaries.get(name):
        how |= as_dictionaries(*columns)
    return dg.AssetIn(path(name), partition_mapping=mapping, metadata=how)


def _asset(
    step: Step,
    group: str,
    path: Path,
    variants: Sequence[str],
    ins: Mapping[str, dg.AssetIn],
    prepare: Prepare = lambda inputs: inputs,
) -> dg.AssetsDefinition:
    """One step; `prepare` changes its inputs before it is made."""
    level = table_of(path(step.table)).dimensions
    definition = {
        DOCUMENT_LEVEL: lambda: corpus_buckets,
        RESULT: lambda: corpus_variants(variants),
    }.get(level, lambda: corpora)()
    outs = {
        name: dg.AssetOut(
            key=path(name),
            description=purpose,
            group_name=group,
            code_version=step.code_version,
            is_required=not step.apart,
        )
        for name, purpose in step.writes.items()
    }

    @dg.multi_asset(
        name="__".join(path(step.table)),  # as ledger and progress call it
        outs=outs,
        ins={name.replace("/", "__"): one for name, one in ins.items()},
        partitions_def=definition,
        backfill_policy=dg.BackfillPolicy.single_run() if level == DOCUMENT_LEVEL else None,
        pool=step.pool,
        required_resource_keys={"io_manager"},
        can_subset=step.apart,
    )
    def make(context: dg.AssetExecutionContext, **read: Any) -> Iterator[dg.Output]:
        parts: dict[str, list[pa.Table]] = {name: [] for name in outs}
        for inputs in _inputs(context, step, path, read):
            result = step.result(prepare(inputs))
            _report(context, inputs, result, path)
            for name, rows in {step.table: result.rows, **result.beside}.items():
                parts[name].append(_of_corpus(rows, inputs.corpus, level))
        for name in sorted(context.op_execution_context.selected_output_names):
            empty = table_of(path(name)).empty()
            yield dg.Output(pa.concat_tables(parts[name]) if parts[name] else empty, name)

    return make


def _inputs(
    context: dg.AssetExecutionContext, step: Step, path: Path, read: Mapping[str, Any]
) -> Iterator[Inputs]:
    """The inputs of each corpus that a run makes partitions of: of all but buckets it is one."""
    warehouse: WarehouseIO = context.resources.io_manager
    partitions = [partition_of(key) for key in context.partition_keys]
    name = "/".join(path(step.table))
    read = {name.replace("__", "/"): one for name, one in read.items()}
    read = {**read.pop(INDEX, {}), **read}

    def inputs_of(corpus: str, tables: Mapping[str, Any], buckets: Sequence[str]) -> Inputs:
        return Inputs(
            tables,
            corpus,
            variant=partitions[0].method or "",
            step=name,
            log=context.log.info,
            note=partial(warehouse.reads.other, step_of(context)),
            store=warehouse.store,
            folder=warehouse.home.corpora / corpus,
            buckets=buckets if len(buckets) < N_BUCKETS else (),
            versions=warehouse.reads.tables[step_of(context)],
        )

    if table_of(path(step.table)).dimensions != DOCUMENT_LEVEL:
        yield inputs_of(partitions[0].corpus, read, ())
        return
    tables = {n: one for n, one in read.items() if n not in (*MODELS, SETTINGS)}
    parts = {n: cache(lambda one=one: dict(by_corpus(one.get()))) for n, one in tables.items()}

    def share(name: str, corpus: str) -> pa.Table:
        empty = table_of(path(name)).empty()
        return parts[name]().get(corpus, empty.append_column("corpus", pa.array([], pa.string())))

    for corpus in parts[step.reads[0]]():
        own = {n: Lazy(lambda n=n, corpus=corpus: share(n, corpus)) for n in tables}
        buckets = [p.bucket or "" for p in partitions if p.corpus == corpus]
        yield inputs_of(corpus, {**read, **own}, buckets)


def _report(context: dg.AssetExecutionContext, inputs: Inputs, result: Result, path: Path) -> None:
    """Show what a step has to say of what it made, with the partitions of its corpus."""
    for problem in result.problems:
        context.log.warning(problem)
    keys = [key for key in context.partition_keys if partition_of(key).corpus == inputs.corpus]
    selected = context.op_execution_context.selected_output_names
    for table, shown in result.shown().items():
        for key in keys if table in selected else ():
            context.add_asset_metadata(
                as_metadata(shown), dg.AssetKey(path(table)), partition_key=key
            )


def _of_corpus(rows: pa.Table, corpus: str, level: Sequence[str]) -> pa.Table:
    """Rows of documents with their corpus, which tells partitions apart when they are stored."""
    if level != DOCUMENT_LEVEL or "corpus" in rows.column_names:
        return rows
    return rows.append_column("corpus", pa.repeat(pa.scalar(corpus), rows.num_rows))


def _result_assets(method: Method, index_tables: Sequence[str]) -> list[dg.AssetsDefinition]:
    """What is made for questions: each step reads what those before it made."""
    shared = {
        name: dg.AssetIn(name, partition_mapping=to_corpus, metadata=LAZY)
        for name in ("queries", "query_embeddings")
    }
    shared[SETTINGS] = dg.AssetIn(SETTINGS, partition_mapping=to_corpus)
    index = {
        INDEX: dg.AssetIn(
            [method.name, INDEX], partition_mapping=to_corpus, metadata=as_tables(index_tables)
        )
    }
    steps = (*method.retrieval_steps, *method.answer_steps, scores_step(method))

    def asset_of(i: int, step: Step) -> dg.AssetsDefinition:
        before = [name for earlier in steps[:i] for name in earlier.writes]
        ins = {name: dg.AssetIn(method.path(name), metadata=LAZY) for name in before}
        ins |= {name: shared[name] for name in ("queries", SETTINGS)}
        for name in step.reads:
            if name in MODELS:
                ins[name] = dg.AssetIn(name)
            elif name in shared:
                ins[name] = shared[name]
            elif method.table(name).dimensions == RESULT:
                ins[name] = dg.AssetIn(method.path(name), metadata=LAZY)
            else:
                ins |= index
        return _asset(step, method.name, method.path, method.variants, ins, method.questions)

    return [asset_of(i, step) for i, step in enumerate(steps)]


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
