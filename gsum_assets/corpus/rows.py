"""Dataclasses to rows of a declared table."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from gsum_resources.table import Table


def rows_of(table: Table, items: Sequence[Any], corpus: str) -> pa.Table:
    """One row per item, its attributes as columns, and the column `corpus`."""
    columns = [
        pa.array([getattr(item, column.name) for item in items], column.type)
        for column in table.columns
    ]
    rows = pa.table(columns, schema=table.schema)
    return rows.append_column("corpus", pa.repeat(pa.scalar(corpus), rows.num_rows))
