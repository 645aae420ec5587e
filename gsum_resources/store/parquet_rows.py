"""Rows as they are stored: of the declared columns, and as Parquet in files."""

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from gsum_resources.store.arrow import decoded, decoded_schema, is_dictionary, pc, repeated
from gsum_resources.store.partition import DIMENSIONS, Partition, StoreError
from gsum_resources.store.table import Table

_DICTIONARY_BYTES = 2**23  # room for 300,000 ids; larger columns are written without a dictionary
_GROUP_ROWS = 2**20  # of a file, pyarrow's default
_GROUP = 2**25  # bytes of rows in a row group


def conform(table: Table, rows: pa.Table, asset: str) -> pa.Table:
    """Return `rows` with exactly the table's columns, in order and of the declared types.

    A variable-length list of floats may be passed as a fixed-size list, as vectors are stored, and
    texts as a dictionary. Raise `StoreError` if the columns do not match; the message names table,
    asset and column.
    """
    where = f"table '{table.name}' written by asset '{asset}'"
    names = [column.name for column in table.columns]
    missing = [name for name in names if name not in rows.column_names]
    unknown = [n for n in rows.column_names if n not in names and n not in DIMENSIONS]
    if missing or unknown:
        raise StoreError(f"{where}: missing columns {missing}, unknown columns {unknown}")
    arrays, fields = [], []
    for column in table.columns:
        array = rows.column(column.name)
        if pa.types.is_fixed_size_list(array.type) and not len(array):  # its length is meaningless
            array = pa.chunked_array([], pa.list_(array.type.value_type))
        if not _is_as_declared(array.type, column.type):
            array = _cast(array, column.type, f"{where}: column '{column.name}'")
        if array.null_count and not column.nullable:
            raise StoreError(
                f"{where}: column '{column.name}' has {array.null_count} nulls, none allowed"
            )
        arrays.append(array)
        fields.append(pa.field(column.name, array.type, column.nullable))
    return pa.table(arrays, schema=pa.schema(fields))


def _cast(array: pa.ChunkedArray, wanted: pa.DataType, where: str) -> pa.ChunkedArray:
    """Widen numbers and cast all-null columns; raise an error for other types."""
    numeric = pa.types.is_integer(array.type) and pa.types.is_integer(wanted)
    numeric |= pa.types.is_floating(array.type) and pa.types.is_floating(wanted)
    string_like = pa.types.is_large_string(array.type) and pa.types.is_string(wanted)
    empty_list = pa.types.is_list(array.type) and pa.types.is_null(array.type.value_type)
    times = pa.types.is_timestamp(array.type) and pa.types.is_timestamp(wanted)
    if not (numeric or string_like or empty_list or times or pa.types.is_null(array.type)):
        raise StoreError(f"{where} has type {array.type}, expected {wanted}")
    try:
        return pc.cast(array, wanted)
    except pa.ArrowInvalid as error:
        raise StoreError(f"{where} does not fit {wanted}: {error}") from error


def _is_as_declared(kind: pa.DataType, declared: pa.DataType) -> bool:
    """Return whether a type is the declared one, as a vector or a dictionary too."""
    is_vector = pa.types.is_fixed_size_list(kind) and pa.types.is_list(declared)
    if is_vector and kind.value_type == declared.value_type:
        return True
    return kind == declared or (is_dictionary(kind) and kind.value_type == declared)


def write_rows(rows: pa.Table, file: Any, row_group_size: int | None = None, **how: Any) -> None:
    """Write rows as Parquet in bounded row groups, dictionaries as texts."""
    n_groups = -(-rows.nbytes // _GROUP) or 1
    row_group_size = row_group_size or min(_GROUP_ROWS, -(-rows.num_rows // n_groups) or 1)
    if not any(is_dictionary(f.type) for f in rows.schema):
        pq.write_table(rows, file, row_group_size=row_group_size, **how)
        return
    with pq.ParquetWriter(file, decoded_schema(rows.schema), **how) as writer:
        for at in range(0, rows.num_rows, row_group_size):
            part = decoded(rows.slice(at, row_group_size))
            writer.write_table(part, row_group_size=row_group_size)


def column_options(schema: pa.Schema) -> dict[str, Any]:
    """Return options of `pq.write_table`: lists of numbers, which hardly shrink, are not packed."""
    compression, texts = {}, []
    for f in schema:
        is_list = pa.types.is_fixed_size_list(f.type) or pa.types.is_list(f.type)
        is_text = not (is_list and pa.types.is_primitive(f.type.value_type))
        leaf = f"{f.name}.list.element" if is_list else f.name  # Parquet's name
        compression[leaf] = "zstd" if is_text else "none"
        texts += [f.name] if is_text else []
    return {
        "compression": compression,
        "use_dictionary": texts,
        "dictionary_pagesize_limit": _DICTIONARY_BYTES,
    }


def rows_of(file: pq.ParquetFile, columns: list[str] | None) -> pa.Table:
    """Return all rows; one row group after the other, as each needs its levels in memory."""
    if file.num_row_groups < 2:
        return file.read(columns=columns)
    groups = (file.read_row_group(i, columns) for i in range(file.num_row_groups))
    return pa.concat_tables(groups)


def with_dimensions(table: Table, partition: Partition, rows: pa.Table, encode: bool) -> pa.Table:
    n = rows.num_rows
    for name in table.dimensions:
        value = getattr(partition, name)
        zeros = pa.repeat(pa.scalar(0, pa.int32()), n)
        column = pa.DictionaryArray.from_arrays(zeros, [value]) if encode else repeated(value, n)
        rows = rows.append_column(name, column)
    return rows.replace_schema_metadata(None)


def concatenate(
    table: Table, tables: Iterable[pa.Table], columns: Sequence[str] | None
) -> pa.Table:
    """Return all rows as one table, without empty tables, whose vectors have no length."""
    tables = list(tables)
    filled = [each for each in tables if each.num_rows] or tables[:1]
    if filled:
        return pa.concat_tables(filled)
    fields = [pa.field(name, pa.string()) for name in table.dimensions]
    chosen = [f for f in table.schema if columns is None or f.name in columns]
    return pa.schema([*chosen, *fields]).empty_table()
