"""What Dagster's UI is told of a table, and of each file written of it."""

import re
from collections.abc import Mapping
from typing import Any

import dagster as dg
import pyarrow as pa

from gsum_resources.catalogue import duckdb_type
from gsum_resources.event_log import PREVIEW
from gsum_resources.parquet_store import FILE_NAME, ParquetStore, Partition, Provenance
from gsum_resources.table import Table

_DIMENSIONS = {
    "corpus": "the corpus, a folder under `corpora`",
    "bucket": "share of the corpus's documents, by a stable hash of their ids",
    "method": "the variant of a method that made the row",
}
_PREVIEW_ROWS = 5
_PREVIEW_CHARACTERS = 240  # of a cell; the UI shows a table of long texts in a window of its own
_MARKUP = re.compile(r"([\\`*_{}\[\]()#+!|~$>])")


def of_table(table: Table) -> dict[str, Any]:
    """Metadata of an asset's definition: columns, name, an example query, where its files lie."""
    levels = "/".join(f"{name}=*" for name in table.dimensions)
    return {
        "dagster/table_name": table.name,
        "dagster/column_schema": column_schema(table),
        "sql": dg.MetadataValue.md(_command(table, dict.fromkeys(table.dimensions, "…"))),
        "files": f"{table.name}/{levels}/{FILE_NAME}",
    }


def column_schema(table: Table) -> dg.TableSchema:
    """The columns as SQL sees them: the partition dimensions first."""
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
    """Metadata of one materialized partition: its rows, its file, how to ask for it.

    A document-level table counts as a whole: its buckets are only a way to store it.

    Parameters
    ----------
    sample : rows of the same corpus, of which the first are shown.
    """
    path = store.path(table, partition)
    where = {"corpus": partition.corpus, "method": partition.method}
    told = {
        "dagster/row_count": _rows_in_corpus(store, table, partition, written),
        "dagster/partition_row_count": written.rows,
        "dagster/size_bytes": int(store.fs.size(path)),
        PREVIEW: dg.MetadataValue.md(_preview(table, sample)),
        "sql": dg.MetadataValue.md(_command(table, where)),
        "file": dg.MetadataValue.path(path if store.is_local else store.fs.unstrip_protocol(path)),
    }
    return told | ({"failed_requests": written.failed} if written.failed else {})


def _marks(table: Table, column: str) -> list[str]:
    """What a column is besides its type: part of the key, measured."""
    marks = ["key"] if column in table.key else []
    return marks + (["measured"] if column in table.measured else [])


def _rows_in_corpus(
    store: ParquetStore, table: Table, partition: Partition, written: Provenance
) -> int:
    if partition.bucket is None:
        return written.rows
    footers = (store.provenance(table, p) for p in store.partitions(table, partition.corpus))
    return sum(footer.rows for footer in footers if footer)


def _command(table: Table, where: Mapping[str, str | None]) -> str:
    """A shell command that shows the first rows, as Markdown; a bucket is not asked for."""
    conditions = " and ".join(
        f"{name} = '{value}'" for name, value in where.items() if value and name != "bucket"
    )
    query = f"select * from {table.name}\n where {conditions}\n limit {_PREVIEW_ROWS}"
    return f'```shell\ngsum sql "{query}"\n```'


def _preview(table: Table, rows: pa.Table) -> str:
    """The first rows as a Markdown table, long values cut."""
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
    """A value as text that Markdown shows as it stands: a document may hold links and images."""
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    text = " ".join(text[: 4 * _PREVIEW_CHARACTERS].split())  # not all words of a long document
    cut = text if len(text) <= _PREVIEW_CHARACTERS else text[: _PREVIEW_CHARACTERS - 1] + "…"
    return _MARKUP.sub(r"\\\1", cut).replace("&", "&amp;").replace("<", "&lt;")


def _is_unreadable(kind: pa.DataType) -> bool:
    """Vectors and weights say nothing in a preview."""
    return pa.types.is_fixed_size_list(kind) or pa.types.is_binary(kind)
