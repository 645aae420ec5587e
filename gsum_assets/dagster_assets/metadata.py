"""What Dagster's pages show of tables: descriptions, columns, kinds, rows and plots.

Dagster keeps what it shows for ever, also after a document is deleted. So no text of a document,
question or reply is shown, only its length, and no name of an entity.
"""

from collections.abc import Mapping
from typing import Any

import dagster as dg

from gsum_assets.answering.workspace import Workspace
from gsum_assets.pipeline.result import Markdown
from gsum_assets.pipeline.step import MODELS
from gsum_assets.refresh.step import Refreshed, data_version
from gsum_assets.registry.declared import Declared
from gsum_resources.store.catalogue import DIMENSION_MEANINGS, duckdb_type
from gsum_resources.store.parquet_store import FILE_NAME, Partition, Provenance
from gsum_resources.store.table import Table

_ROWS = 5  # of the shown query


def of_asset(declared: Declared, table: Table) -> dict[str, Any]:
    """Return metadata, kinds and tags of an asset, as arguments of `dg.AssetSpec`."""
    step, read = declared.step, {*declared.step.reads}
    tags = {"gsum/family": declared.group, "gsum/cost": "free"}
    if step.pool == "llm" or read & {"language_model", "judge_model"}:
        tags |= {"gsum/cost": "llm", "gsum/work": step.work}
    elif read & {*MODELS}:
        tags["gsum/cost"] = "embedding"
    if step.trains:
        tags["gsum/trained"] = "true"
    return {"metadata": of_table(table), "tags": tags, "kinds": {"parquet", "duckdb", "python"}}


def of_table(table: Table) -> dict[str, Any]:
    """Return the metadata of a table: columns, name, query, file pattern."""
    levels = "/".join(f"{name}=*" for name in table.dimensions)
    qualified = f"gsum.{table.name}" if "." in table.name else f"gsum.main.{table.name}"
    return {
        "dagster/table_name": qualified,
        "dagster/storage_kind": "duckdb",
        "dagster/column_schema": column_schema(table),
        "sql": dg.MetadataValue.md(_command(table, "…")),
        "files": f"{table.name}/{levels}/{FILE_NAME}",
    }


def described(table: Table, purpose: str) -> str:
    """Return `One row per …`, then the purpose of the table."""
    return f"One row per {table.row}. {purpose}".strip()


def column_schema(table: Table) -> dg.TableSchema:
    """Return the columns as in SQL: the partition dimensions first."""
    dimensions = [
        dg.TableColumn(
            name,
            "VARCHAR",
            DIMENSION_MEANINGS[name],
            dg.TableColumnConstraints(nullable=False, other=["partition"]),
        )
        for name in table.dimensions
    ]
    columns = [
        dg.TableColumn(
            column.name,
            duckdb_type(column.type),
            column.meaning,
            dg.TableColumnConstraints(
                nullable=column.nullable,
                unique=table.key == (column.name,),
                other=["key"] * (column.name in table.key) + ["measured"] * column.ignored_by_hash,
            ),
        )
        for column in table.columns
    ]
    return dg.TableSchema([*dimensions, *columns])


def of_result(
    workspace: Workspace, context: dg.AssetExecutionContext, done: Refreshed, name: str
) -> dg.MaterializeResult:
    """Return the materialization of a table; where nothing was stale, with what was shown."""
    declared, store = done.declared, workspace.store
    table, key = declared.table(name), dg.AssetKey(declared.path(name))
    corpus = context.partition_key
    files = [f for f in store.partitions(table, corpus) if f.method in (None, *declared.methods)]
    footers = store.footers(table, files)
    metadata: dict[str, Any] = {
        "dagster/partition_row_count": sum(footer.rows for footer in footers.values()),
        "dagster/size_bytes": sum(store.size(table, file) for file in files),
        "written": done.summary,
    }
    if done.written:
        shown = done.shown.get(name, {})
        metadata |= {
            label: dg.MetadataValue.md(item) if isinstance(item, Markdown) else item
            for label, item in shown.items()
        }
        metadata |= _of_files(workspace, table, corpus, footers)
        if name == declared.step.table:  # once, so that sums count nothing twice
            metadata |= done.usage.metadata()
    else:
        metadata = {**_before(context, key), **metadata}
    return dg.MaterializeResult(
        asset_key=key, metadata=metadata, data_version=dg.DataVersion(data_version(footers))
    )


def _before(context: dg.AssetExecutionContext, key: dg.AssetKey) -> dict[str, Any]:
    """Return the metadata that the page of a table shows, without what the models cost then."""
    of_corpus = dg.AssetRecordsFilter(asset_key=key, asset_partitions=[context.partition_key])
    records = context.instance.fetch_materializations(of_corpus, limit=1).records
    shown = records[0].asset_materialization if records else None
    metadata = shown.metadata if shown else {}
    costs = ("llm/", "embedding/")
    return {name: value for name, value in metadata.items() if not name.startswith(costs)}


def _of_files(
    workspace: Workspace, table: Table, corpus: str, footers: Mapping[Partition, Provenance]
) -> dict[str, Any]:
    """Return a query and the folder of the files of a corpus, and what they lack."""
    store = workspace.store
    folder = f"{store.root}/{table.name}/corpus={corpus}"
    shown: dict[str, Any] = {
        "sql": dg.MetadataValue.md(_command(table, corpus)),
        "folder": dg.MetadataValue.path(
            folder if store.is_local else store.fs.unstrip_protocol(folder)
        ),
    }
    failed = sum(footer.failed for footer in footers.values())
    filtered = sum(footer.filtered for footer in footers.values())
    missing = {"failed_requests": failed, "filtered_requests": filtered}
    return shown | {name: n for name, n in missing.items() if n}


def _command(table: Table, corpus: str) -> str:
    query = f"select * from {table.name}\n where corpus = '{corpus}'\n limit {_ROWS}"
    return f'```shell\ngsum sql "{query}"\n```'
