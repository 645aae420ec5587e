"""Rows of tables that tests of several folders build."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from gsum_assets.pipeline.tables import TABLES
from gsum_resources.store.parquet_store import ParquetStore, Partition, Provenance

QUESTION = (
    {"text": "?", "retrieval_text": "?", "kind": "general", "document_id": None}
    | {"references": [], "relevant_document_ids": [], "relevant_chunk_ids": [], "form": "summary"}
    | {"options": [], "split": "dev"}
)
_CONTEXT = {"sample": 0, "node_id": "n", "node_kind": "chunk", "position": None, "score": 0.0}
_SUMMARY = {
    "sample": 0,
    "text": "t",
    "is_refusal": False,
    "model": "m",
    "calls": 1,
    "tokens_in": 1,
    "tokens_out": 1,
}
_SUMMARY |= {"latency_s": 0.0, "cost_usd": 0.0}
_DEFAULTS = {"queries": QUESTION, "contexts": _CONTEXT, "summaries": _SUMMARY}


def rows_of(name: str, rows: Iterable[Mapping[str, object]], **fields: object) -> pa.Table:
    """Return rows of a table; `fields` are the same for all, missing ones have defaults."""
    full = [_DEFAULTS[name] | {**row, **fields} for row in rows]
    return pa.Table.from_pylist(full, TABLES[name].schema)


def question_rows(*rows: Mapping[str, object], **fields: object) -> pa.Table:
    """Return rows of `queries`, as `rows_of` does."""
    return rows_of("queries", rows, **fields)


def blank_row(name: str) -> dict[str, object]:
    """Return a row of a table whose columns are null, empty or 0."""
    empty = {"string": "", "binary": b"", "list<item: string>": [], "bool": False}
    return {f.name: None if f.nullable else empty.get(str(f.type), 0) for f in TABLES[name].schema}


def write_rows(
    store: ParquetStore,
    name: str,
    partition: Partition,
    rows: Iterable[Mapping[str, object]],
    **origin: Any,
) -> None:
    """Write rows of a table, whose other columns are blank, with their origin."""
    full = [blank_row(name) | {**row} for row in rows]
    by = {"asset": name, "time": datetime.now(UTC).isoformat(), **origin}
    table = TABLES[name]
    store.write(
        table, partition, pa.Table.from_pylist(full, table.schema), Provenance("", "1", **by)
    )
