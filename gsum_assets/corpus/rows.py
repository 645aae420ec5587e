"""Conversion of dataclasses to rows of a declared table."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from gsum_resources.store.table import Table


def rows_of(table: Table, items: Sequence[Any]) -> pa.Table:
    """Return one row per item, its attributes as columns."""
    columns = [
        pa.array([getattr(item, column.name) for item in items], column.type)
        for column in table.columns
    ]
    return pa.table(columns, schema=table.schema)
