"""Documents that fulfil a condition on their columns and metadata: `--where`."""

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from gsum_assets.pipeline.corpus_settings import CorpusError

COLUMNS = (
    *("document_id", "title", "n_words", "cites", "encoding", "metadata"),
    *("file", "date", "date_source"),
)
"""Columns of the table `documents` that a condition may use."""

_LIMITS: dict[str, Any] = {
    "enable_external_access": "false",
    "lock_configuration": "true",
    "memory_limit": "1GB",
}


def documents_where(documents: pa.Table, condition: str) -> list[str]:
    """Return the ids of the documents that fulfil a condition in DuckDB's SQL, ascending.

    The condition may use `COLUMNS` and the keys of `metadata`; a key whose values are all numbers,
    also as texts, is numeric. Raises `CorpusError` if it is no expression, has a subquery, or
    cannot be evaluated.
    """
    import duckdb

    if not condition.strip():
        raise CorpusError("where: the condition is empty; write one")
    rows = documents.select(list(COLUMNS))
    for name, values in _further_columns(rows).items():
        rows = rows.append_column(pa.field(name, values.type), values)
    query = f"SELECT document_id FROM documents WHERE (\n{condition}\n)"
    with duckdb.connect(config=_LIMITS) as connection:
        connection.register("documents", rows)
        try:
            _require_expression(connection, query)
            found = connection.execute(query).fetchall()
        except duckdb.Error as error:
            message = " ".join(str(error).split("\n\nLINE ")[0].split())
            raise CorpusError(
                f"where: {message}; the columns are {', '.join(rows.column_names)}"
            ) from error
    return sorted(document_id for (document_id,) in found)


def _require_expression(connection: Any, query: str) -> None:
    """Raise an error unless a query is one SELECT whose condition has no subquery."""
    ((serialized,),) = connection.execute("SELECT json_serialize_sql(?)", [query]).fetchall()
    classes = set()

    def noted(part: dict[str, Any]) -> dict[str, Any]:
        classes.add(part.get("class"))
        return part

    parsed = json.loads(serialized, object_hook=noted)
    if parsed["error"]:
        raise CorpusError(f"where: {parsed['error_message']}; write one condition")
    (statement, *others) = parsed["statements"]
    node = statement["node"]
    is_select = node["type"] == "SELECT_NODE" and not node["modifiers"] and not others
    if not is_select or "SUBQUERY" in classes:
        raise CorpusError("where: write one condition on a document, without subqueries")


def _further_columns(documents: pa.Table) -> dict[str, pa.Array]:
    """Return a column for each key of the metadata; DuckDB ignores the case of their names."""
    metadata = [json.loads(text or "{}") for text in documents["metadata"].to_pylist()]
    keys: dict[str, list[str]] = {}
    distinct = {key for values in metadata for key in values}
    for key in sorted(distinct, key=lambda key: (key.casefold(), key)):
        if key.casefold() not in COLUMNS:
            keys.setdefault(key.casefold(), []).append(key)
    return {
        names[0]: _column(
            [next((values[name] for name in names if name in values), None) for values in metadata]
        )
        for names in keys.values()
    }


def _column(values: Sequence[Any]) -> pa.Array:
    """Return values as a column of numbers, truth values, lists of texts, or texts."""
    filled = [value for value in values if value is not None]
    if all(isinstance(value, bool) for value in filled):
        return pa.array(values, pa.bool_())
    if all(isinstance(value, list) for value in filled):
        return pa.array(
            [None if v is None else [*map(_text, v)] for v in values], pa.list_(pa.string())
        )
    numbers = [_number(value) for value in values]
    if sum(number is not None for number in numbers) == len(filled):
        return pa.array(numbers, pa.float64())
    return pa.array([None if value is None else _text(value) for value in values], pa.string())


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _number(value: Any) -> float | None:
    """Return a number, also of its text; None for what is none."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None
