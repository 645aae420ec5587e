"""Several sizes of line chunks, each with its own index in the same tables (paper, 4.3)."""

from collections.abc import Iterable

import pyarrow as pa

from gsum_assets.pipeline.tables import TABLES
from gsum_resources.store.arrow import pc

SIZE = "max_tokens"  # column with the size


def of_one_size(table: str) -> pa.Schema:
    """Return the schema of an index table without the column of the size."""
    schema = TABLES[table].schema
    return schema.remove(schema.get_field_index(SIZE))


def rows_of_size(rows: pa.Table, size: int) -> pa.Table:
    """Return the rows of an index table of one size of line chunks."""
    return rows.filter(pc.equal(rows[SIZE], size))


def all_sizes(table: str, tables: Iterable[tuple[int, pa.Table]]) -> pa.Table:
    """Return the rows of an index table from those of each size."""
    schema = TABLES[table].schema
    sized = [
        rows.append_column(
            pa.field(SIZE, pa.int32(), nullable=False),
            pa.repeat(pa.scalar(size, pa.int32()), rows.num_rows),
        )
        for size, rows in tables
    ]
    return pa.concat_tables(
        [schema.empty_table(), *(rows.select(schema.names).cast(schema) for rows in sized)]
    ).combine_chunks()
