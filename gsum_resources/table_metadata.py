"""What Dagster's UI is told of a table, and of each file written of it."""

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

import dagster as dg
import pyarrow as pa

from gsum_resources.catalogue import duckdb_type
from gsum_resources.instance import PREVIEW
from gsum_resources.parquet_store import FILE_NAME, ParquetStore, Partition, Provenance
from gsum_resources.table import Table

_DIMENSIONS = {
    "corpus": "the corpus, a folder under `corpora`",
    "bucket": "share of the corpus's documents, by a stable hash of their ids",
    "method": "the variant of a method that made the row",
}
_CORPORA_SHOWN = 10  # bounds what is read for a summary, and the event that holds it
_PREVIEW_ROWS = 5
_PREVIEW_CHARACTERS = 240  # of a cell; the UI shows a table of long texts in a window of its own
_MARKUP = re.compile(r"([\\`*_{}\[\]()#+!|~$>])")
Headline = Callable[[pa.Table], str]
"""The main figure of a corpus from its rows of a table, one line; it quotes no document."""


def of_table(table: Table) -> dict[str, Any]:
    """Return the metadata of an asset's definition: columns, name, an example query, where its files
    lie.
    """
    levels = "/".join(f"{name}=*" for name in table.dimensions)
    return {
        "dagster/table_name": table.name,
        "dagster/column_schema": column_schema(table),
        "sql": dg.MetadataValue.md(_command(table, dict.fromkeys(table.dimensions, "…"))),
        "files": f"{table.name}/{levels}/{FILE_NAME}",
    }


def column_schema(table: Table) -> dg.TableSchema:
    """Return the columns as SQL sees them: the partition dimensions first."""
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
    store: ParquetStore, table: Table, partition: Partition, sample: pa.Table, written: Provenance
) -> dict[str, Any]:
    """Return the metadata of one materialized partition: its rows, its file, how to ask for it.

    A document-level table counts as a whole: its buckets are only a way to store it.

    Parameters
    ----------
    sample : rows of the same corpus, of which the first are shown; nothing where there are none.
    """
    path = store.path(table, partition)
    where = {"corpus": partition.corpus, "method": partition.method}
    told = {
        "dagster/row_count": _rows_in_corpus(store, table, partition, written),
        "dagster/partition_row_count": written.rows,
        "dagster/size_bytes": int(store.fs.size(path)),
        "sql": dg.MetadataValue.md(_command(table, where)),
        "file": dg.MetadataValue.path(path if store.is_local else store.fs.unstrip_protocol(path)),
    }
    if sample.num_rows:
        told[PREVIEW] = dg.MetadataValue.md(_preview(table, sample))
    return told | ({"failed_requests": written.failed} if written.failed else {})


def of_all_corpora(
    store: ParquetStore,
    table: Table,
    written: Mapping[Partition, Provenance],
    others: Collection[Partition],
    headline: Headline | None = None,
) -> dict[str, Any]:
    """Return summary of a whole table, a row a corpus: rows, methods or filled buckets, main
    figure.

    Read from footers alone, but for the main figure. Of many corpora the first ones in
    alphabetical order are shown, and always those just written.

    Parameters
    ----------
    written : the partitions just written; their asset is the one summarized, where several assets
        share a table.
    others : the partitions that had a file before.
    headline : the main figure, for tables that have one.
    """
    assets = {footer.asset for footer in written.values()}
    present = {partition.corpus for partition in written}
    corpora = sorted(present | {partition.corpus for partition in others})
    rest = [corpus for corpus in corpora if corpus not in present]
    chosen = present | set(rest[: max(0, _CORPORA_SHOWN - len(present))])
    unread = [p for p in others if p.corpus in chosen and p not in written]
    footers = {**written, **store.footers(table, unread)}
    of_corpora: dict[str, dict[Partition, Provenance]] = {}
    for partition in sorted(footers):
        if footers[partition].asset in assets:
            of_corpora.setdefault(partition.corpus, {})[partition] = footers[partition]
    records = []
    for corpus, found in of_corpora.items():
        # left of the rest: the page cuts wide tables off
        figure = {"main figure": headline(store.read(table, list(found))[0])} if headline else {}
        records.append(dg.TableRecord({"corpus": corpus, **figure, **_extent(table, found)}))
    is_cut = len(chosen) < len(corpora)
    label = f"all_corpora (showing {len(chosen)} of {len(corpora)})" if is_cut else "all_corpora"
    return {label: dg.MetadataValue.table(records)}


def _extent(table: Table, found: Mapping[Partition, Provenance]) -> dict[str, int | str]:
    """How much a table holds of a corpus."""
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
    """What a column is besides its type: part of the key, measured."""
    marks = ["key"] if column in table.key else []
    return marks + (["measured"] if column in table.measured else [])


def _rows_in_corpus(
    store: ParquetStore, table: Table, partition: Partition, written: Provenance
) -> int:
    return written.rows if partition.bucket is None else store.count(table, partition.corpus)


def _command(table: Table, where: Mapping[str, str | None]) -> str:
    """Return a shell command that shows the first rows, as Markdown; a bucket is not asked for."""
    conditions = " and ".join(
        f"{name} = '{value}'" for name, value in where.items() if value and name != "bucket"
    )
    query = f"select * from {table.name}\n where {conditions}\n limit {_PREVIEW_ROWS}"
    return f'```shell\ngsum sql "{query}"\n```'


def _preview(table: Table, rows: pa.Table) -> str:
    """Return the first rows as a Markdown table, long values cut."""
    names = [
        name
        for name in rows.column_names
        if name not in table.dimensions and not _is_unreadable(rows[name].type)
    ]
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    for row in rows.select(names).slice(0, _PREVIEW_ROWS).to_pylist():
        lines.append("| " + " | ".join(_cell(value) for value in row.values()) + " |")
    return "\n".join(lines)


def _cell(value: object) -> str:
    """Return a value as text that Markdown shows as it stands: a document may hold links and
    images.
    """
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    text = " ".join(text[: 4 * _PREVIEW_CHARACTERS].split())  # not all words of a long document
    cut = text if len(text) <= _PREVIEW_CHARACTERS else text[: _PREVIEW_CHARACTERS - 1] + "…"
    return _MARKUP.sub(r"\\\1", cut).replace("&", "&amp;").replace("<", "&lt;")


def _is_unreadable(kind: pa.DataType) -> bool:
    """Return the vectors and weights say nothing in a preview."""
    return pa.types.is_fixed_size_list(kind) or pa.types.is_binary(kind)
