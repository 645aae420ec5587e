"""References from the rows of one table to those of another."""

from collections.abc import Sequence

import pyarrow as pa

from gsum_resources.store.arrow import pc

_SEPARATOR = "\n"  # occurs in no id and in no key of a name


def are_among(
    rows: pa.Table, names: Sequence[str], others: pa.Table, other_names: Sequence[str] = ()
) -> pa.ChunkedArray:
    """Return whether another table has each row's values, bool `(n_rows,)`.

    Parameters
    ----------
    names : columns of texts without nulls.
    other_names : names of these columns in `others`, in this order; the same by default.
    """
    wanted, known = _keys(rows, names), _keys(others, other_names or names)
    return pc.is_in(wanted, value_set=known.combine_chunks())


def lacking(
    rows: pa.Table, names: Sequence[str], others: pa.Table, other_names: Sequence[str] = ()
) -> pa.Table:
    """Return the rows whose values another table lacks; see `are_among` for parameters."""
    return rows.filter(pc.invert(are_among(rows, names, others, other_names)))


def times_among(
    rows: pa.Table, names: Sequence[str], others: pa.Table, other_names: Sequence[str] = ()
) -> pa.ChunkedArray:
    """Return how often another table has each row's values; see `are_among` for parameters."""
    counts = pc.value_counts(_keys(others, other_names or names))
    index = pc.index_in(_keys(rows, names), value_set=counts.field("values"))
    return pc.fill_null(pc.take(counts.field("counts"), index), 0)


def unnested(rows: pa.Table, names: Sequence[str], items: str, called: str) -> pa.Table:
    """Return a row for each item of a list column: `names`, and the item as `called`."""
    lists = rows[items].combine_chunks()
    owners = rows.select(list(names)).take(pc.list_parent_indices(lists))
    return owners.append_column(called, pc.list_flatten(lists))


def _keys(rows: pa.Table, names: Sequence[str]) -> pa.ChunkedArray:
    return pc.binary_join_element_wise(*(rows[name] for name in names), _SEPARATOR)
