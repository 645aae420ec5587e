"""Metadata of tables, and of each file written, for Dagster's UI."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import dagster as dg
import pyarrow as pa

from gsum_resources.store.catalogue import duckdb_type
from gsum_resources.store.parquet_store import FILE_NAME, ParquetStore, Partition, Provenance
from gsum_resources.store.table import Column, Table

_DIMENSIONS = {
    "corpus": "the corpus, a folder under `corpora`",
    "bucket": "share of the corpus's documents, by a stable hash of their ids",
    "method": "the method that computed the row",
}
_CORPORA_SHOWN = 10  # bounds the footers read for a summary, and the size of its event
_PREVIEW_ROWS = 5
_PREVIEW_CHARACTERS = 240  # per cell; the UI shows tables of long texts in a separate window
_MARKUP = re.compile(r"([\\`*_{}\[\]()#+!|~$>])")
Headline = Callable[[pa.Table], str]
"""Returns the main figure of a corpus from its rows, one line, without quoting documents."""


def of_table(table: Table) -> dict[str, Any]:
    """Return the metadata of an asset's definition: columns, name, query, file pattern."""
    levels = "/".join(f"{name}=*" for name in table.dimensions)
    return {
        "dagster/table_name": _qualified(table),
        "dagster/storage_kind": "duckdb",
        "dagster/column_schema": column_schema(table),
        "sql": dg.MetadataValue.md(_command(table, dict.fromkeys(table.dimensions, "…"))),
        "files": f"{table.name}/{levels}/{FILE_NAME}",
    }


def _qualified(table: Table) -> str:
    """Return `database.schema.table`, as catalogues name tables: that of `gsum.duckdb`."""
    return f"gsum.{table.name}" if "." in table.name else f"gsum.main.{table.name}"


def column_schema(table: Table) -> dg.TableSchema:
    """Return the columns as in SQL: the partition dimensions first."""
    dimensions = [
        dg.TableColumn(
            name,
            "VARCHAR",
            _DIMENSIONS[name],
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
                other=_marks(table, column.name),
            ),
        )
        for column in table.columns
    ]
    return dg.TableSchema([*dimensions, *columns])


def of_file(
    store: ParquetStore,
    table: Table,
    partition: Partition,
    sample: pa.Table,
    written: Provenance,
) -> dict[str, Any]:
    """Return the metadata of a materialized partition: its rows, its file, a query.

    Parameters
    ----------
    sample : rows of the same corpus for the preview, which is left out if there are none.
    """
    path = store.path(table, partition)
    where = {"corpus": partition.corpus, "method": partition.method}
    metadata = {
        "dagster/partition_row_count": written.rows,
        "dagster/size_bytes": store.size(table, partition),
        "sql": dg.MetadataValue.md(_command(table, where)),
        "file": dg.MetadataValue.path(path if store.is_local else store.fs.unstrip_protocol(path)),
    }
    if sample.num_rows:
        metadata["preview"] = dg.MetadataValue.md(_preview(table, sample))
    missing = {"failed_requests": written.failed, "filtered_requests": written.filtered}
    return metadata | {name: n for name, n in missing.items() if n}


def head(rows: pa.Table) -> pa.Table:
    """Return a copy of the rows that a preview shows, which does not keep the others in memory."""
    few = rows.slice(0, _PREVIEW_ROWS)  # `take` of a large table costs seconds
    return few.take(pa.array(range(few.num_rows), pa.int64()))


def of_all_corpora(
    store: ParquetStore,
    table: Table,
    written: Mapping[Partition, Provenance],
    others: Mapping[Partition, object],
    headline: Headline | None = None,
) -> dict[str, Any]:
    """Return a summary of a table, one row per corpus: rows, methods or buckets, main figure.

    Only footers are read, except for the main figure. Of many corpora the alphabetically first ones
    are shown, and always those just written. If all are shown, the number of rows of the whole
    table is returned, too, which an asset's page shows as its row count.

    Parameters
    ----------
    written : the partitions just written; where several assets share a table, only rows of their
        asset are summarized.
    others : the partitions that had a file before, with their stamps.
    headline : computes the main figure, for tables that have one.
    """
    assets = {footer.asset for footer in written.values()}
    present = {partition.corpus for partition in written}
    corpora = sorted(present | {partition.corpus for partition in others})
    remaining = [corpus for corpus in corpora if corpus not in present]
    chosen = present | set(remaining[: max(0, _CORPORA_SHOWN - len(present))])
    unread = {p: s for p, s in others.items() if p.corpus in chosen and p not in written}
    footers = {**written, **store.footers(table, unread)}
    of_corpora: dict[str, dict[Partition, Provenance]] = {}
    for partition in sorted(footers):
        if footers[partition].asset in assets:
            of_corpora.setdefault(partition.corpus, {})[partition] = footers[partition]
    records = []
    for corpus, found in of_corpora.items():
        # left of the other columns: the page cuts wide tables off
        figure = {"main figure": headline(store.read(table, list(found))[0])} if headline else {}
        records.append(dg.TableRecord({"corpus": corpus, **figure, **_extent(table, found)}))
    table_of_corpora = dg.MetadataValue.table(records)
    if len(chosen) < len(corpora):
        return {f"all_corpora (showing {len(chosen)} of {len(corpora)})": table_of_corpora}
    n_rows = sum(footer.rows for found in of_corpora.values() for footer in found.values())
    return {"all_corpora": table_of_corpora, "dagster/row_count": n_rows}


def _extent(table: Table, found: Mapping[Partition, Provenance]) -> dict[str, int | str]:
    """Return the size of a table for one corpus."""
    filled = [partition for partition, footer in found.items() if footer.rows]
    extent: dict[str, int | str] = {"rows": sum(footer.rows for footer in found.values())}
    if "bucket" in table.dimensions:
        extent["buckets with rows"] = f"{len(filled)} of {len(found)}"
    if "method" in table.dimensions:
        extent["methods with rows"] = ", ".join(p.method or "" for p in filled) or "none"
    last = max(footer.time for footer in found.values())
    extent["written (UTC)"] = last[:16].replace("T", " ")
    return extent | {"failed requests": sum(footer.failed for footer in found.values())}


def _marks(table: Table, column: str) -> list[str]:
    """Return properties of a column besides its type: part of the key, measured."""
    marks = ["key"] if column in table.key else []
    return marks + (["measured"] if column in table.measured else [])


def _command(table: Table, where: Mapping[str, str | None]) -> str:
    """Return a shell command, as Markdown, that shows the first rows, without a bucket."""
    conditions = " and ".join(
        f"{name} = '{value}'" for name, value in where.items() if value and name != "bucket"
    )
    query = f"select * from {table.name}\n where {conditions}\n limit {_PREVIEW_ROWS}"
    return f'```shell\ngsum sql "{query}"\n```'


def _preview(table: Table, rows: pa.Table) -> str:
    """Return the first rows as a Markdown table, with the lengths of texts in place of texts.

    Dagster keeps what it shows for ever, also after a document is deleted.
    """
    columns = [
        column
        for column in table.columns
        if column.name in rows.column_names and not _is_unreadable(rows[column.name].type)
    ]
    names = [column.name for column in columns]
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    for row in rows.select(names).slice(0, _PREVIEW_ROWS).to_pylist():
        cells = (_shown(column, row[column.name]) for column in columns)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _shown(column: Column, value: Any) -> str:
    """Return a value as Markdown; of a text its length only."""
    return length_of(value) if column.is_text and value is not None else _cell(value)


def length_of(value: str | Sequence[str]) -> str:
    """Return `1,204 characters` for a text, `3 values` for a list."""
    unit = "character" if isinstance(value, str) else "value"
    return f"{len(value):,} {unit}{'' if len(value) == 1 else 's'}"


def _cell(value: object) -> str:
    """Return a value as escaped Markdown: a label of a corpus may contain links and images."""
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    text = " ".join(
        text[: 4 * _PREVIEW_CHARACTERS].split()
    )  # avoids splitting all of a long document
    cut = text if len(text) <= _PREVIEW_CHARACTERS else text[: _PREVIEW_CHARACTERS - 1] + "…"
    return _MARKUP.sub(r"\\\1", cut).replace("&", "&amp;").replace("<", "&lt;")


def _is_unreadable(kind: pa.DataType) -> bool:
    """Return whether a type, such as a vector, is unreadable in a preview."""
    return pa.types.is_fixed_size_list(kind) or pa.types.is_binary(kind)
