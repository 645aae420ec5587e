"""Row-level changes: which rows of a table differ from an earlier one, and how both are merged.

A table about a whole corpus is rewritten after every edit, although most of its rows stay. The
store then writes only the rows that are new, with their positions (`_row`), and the positions of
the base's rows that are gone (`_gone`). Merged, they are the rows that were written, in their
order.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from gsum_resources.store.arrow import decoded_schema, is_dictionary, pc, rows_at

ROW = "_row"
"""Column of a file of changes: position of a new row in the merged table; null: none."""
GONE = "_gone"
"""Column of a file of changes: in its first row, the positions of the base's rows that are gone."""
LEAST_ROWS = 2**11
"""Rows of a table below which it is written as a whole: reading it back costs as much."""
MOST_ROWS = 5_000_000
"""Rows of a table above which it is written as a whole: to compare 100 million rows costs more than
to write them."""
MOST_BYTES = 2**29
"""Bytes of a table above which it is written as a whole: the base is in memory beside it."""

_MOST_SHARE = 1 / 4  # of the rows: above that, merging costs readers more than writing saves
_MOST_RUNS = 10_000  # of rows that moved; more of them, and the order is another one
_VALUES_AT_ONCE = 2**16  # hashed at once: they stay in the processor's cache
_ODD = np.uint64(0x9E3779B97F4A7C15)
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_NULL = np.uint64(0xD6E8FEB86659FD93)


class Difference(NamedTuple):
    """How a table differs from an earlier one, its base.

    Attributes
    ----------
    gone : positions of the base's rows that the table lacks, ascending.
    added : positions of the table's rows that the base lacks, ascending.
    """

    gone: np.ndarray
    added: np.ndarray


NONE = Difference(np.empty(0, np.int64), np.empty(0, np.int64))
"""The difference between equal tables."""


def has_columns_of(first: pa.Schema, second: pa.Schema) -> bool:
    """Return whether two schemas have the same columns, dictionaries counted as their values."""
    return decoded_schema(first).equals(decoded_schema(second))


def difference(base: pa.Table, rows: pa.Table) -> Difference | None:
    """Return how `rows` differ from `base`, which has the same columns; None if in many rows.

    The other rows are equal and have the same order in both. Rows are compared by hashes of 64 bits
    of all columns.
    """
    before, now = np.zeros(base.num_rows, np.uint64), np.zeros(rows.num_rows, np.uint64)
    for old, new in zip(base.columns, rows.columns, strict=True):
        chunks = [chunk for column in (old, new) for chunk in column.chunks if len(chunk)]
        numbers = np.concatenate([np.empty(0, np.uint64), *_numbers(chunks)])
        for hashes, codes in ((before, numbers[: len(old)]), (now, numbers[len(old) :])):
            hashes ^= codes
            _mix(hashes)
    common = _in_order(*_pairs(before, now))
    if common is None:
        return None
    gone = np.delete(np.arange(base.num_rows), common[0])
    added = np.delete(np.arange(rows.num_rows), common[1])
    is_small = max(len(gone), len(added)) <= _MOST_SHARE * rows.num_rows
    return Difference(gone, added) if is_small else None


def changes_of(rows: pa.Table, changes: Difference) -> pa.Table:
    """Return the rows of a file of changes: those that were added, with `_row` and `_gone`.

    If rows are gone and none was added, its single row carries `_gone` alone, and `_row` is null.
    """
    n = len(changes.added)
    if n or not len(changes.gone):
        changed, positions = rows_at(rows, changes.added), pa.array(changes.added, pa.int64())
    else:
        changed, positions = rows.slice(0, 1), pa.nulls(1, pa.int64())
    ends = np.full(len(changed) + 1, len(changes.gone), np.int32)
    ends[0] = 0
    gone = pa.ListArray.from_arrays(pa.array(ends), pa.array(changes.gone, pa.int64()))
    return changed.append_column(ROW, positions).append_column(GONE, gone)


def merged(base: pa.Table, changes: pa.Table) -> pa.Table:
    """Return the rows that were written, from the base and its changes, which have its types."""
    names = [name for name in changes.column_names if name not in (ROW, GONE)]
    positions = changes[ROW].drop_null().to_numpy()
    gone = changes[GONE].combine_chunks().flatten().to_numpy()
    if not len(positions) and not len(gone):
        return base
    remaining = np.delete(np.arange(base.num_rows), gone)
    order = np.empty(len(remaining) + len(positions), np.int64)
    is_new = np.zeros(len(order), bool)
    is_new[positions] = True
    order[is_new] = base.num_rows + np.arange(len(positions))
    order[~is_new] = remaining
    added = changes.select(names).slice(0, len(positions))
    tables = [each.replace_schema_metadata(None) for each in (base, added) if each.num_rows]
    return rows_at(pa.concat_tables(tables).unify_dictionaries(), order)


def _numbers(chunks: list[pa.Array]) -> Iterator[np.ndarray]:
    """Yield a number for each value of some arrays of one type, or of texts and dictionaries."""
    if not chunks:
        return
    kind = chunks[0].type
    if is_dictionary(kind) or pa.types.is_string(kind) or pa.types.is_binary(kind):
        encoded = [c if is_dictionary(c.type) else c.dictionary_encode() for c in chunks]
        chunks = [chunk.indices for chunk in pa.chunked_array(encoded).unify_dictionaries().chunks]
    elif pa.types.is_fixed_size_list(kind) and not any(
        vectors.null_count or vectors.flatten().null_count for vectors in chunks
    ):
        yield from map(_hashes_of_vectors, chunks)
        return
    elif pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind):
        values = np.concatenate([np.empty(0, np.uint64), *_numbers([c.flatten() for c in chunks])])
        for chunk in chunks:
            lengths = pc.fill_null(pc.list_value_length(chunk), 0).to_numpy().astype(np.int64)
            n = int(lengths.sum())
            yield _with_nulls(_hashes_of_lists(values[:n], lengths), chunk)
            values = values[n:]
        return
    for chunk in chunks:
        yield _with_nulls(_bits(chunk), chunk)


def _hashes_of_vectors(vectors: pa.FixedSizeListArray) -> np.ndarray:
    """Return a hash for each vector as for other lists, without large temporary arrays."""
    size = vectors.type.list_size
    matrix = vectors.flatten().to_numpy().reshape(len(vectors), size)
    positions = np.arange(1, size + 1, dtype=np.uint64) * _ODD
    sums = np.empty(len(matrix), np.uint64)
    step = max(1, _VALUES_AT_ONCE // max(1, size))
    for at in range(0, len(matrix), step):
        block = matrix[at : at + step].view(f"u{matrix.itemsize}") + positions
        _mix(block.reshape(-1))
        sums[at : at + step] = block.sum(axis=1)
    return sums


def _bits(chunk: pa.Array) -> np.ndarray:
    """Return the bits of numbers; those of nulls are arbitrary but equal."""
    if pa.types.is_timestamp(chunk.type):
        chunk = chunk.cast(pa.int64())
    filled = chunk.fill_null(pa.scalar(0).cast(chunk.type)) if chunk.null_count else chunk
    values = filled.to_numpy(zero_copy_only=False)
    return np.ascontiguousarray(values).view(f"u{values.dtype.itemsize}").astype(np.uint64)


def _with_nulls(numbers: np.ndarray, chunk: pa.Array) -> np.ndarray:
    if chunk.null_count:
        numbers[chunk.is_null().to_numpy(zero_copy_only=False)] = _NULL
    return numbers


def _hashes_of_lists(values: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return a hash for each list: the sum of its values' hashes, each with its position in it."""
    starts = np.cumsum(lengths) - lengths
    within = np.arange(len(values)) - np.repeat(starts, lengths)
    hashed = values + (within.astype(np.uint64) + np.uint64(1)) * _ODD
    _mix(hashed)
    sums = np.zeros(len(lengths), np.uint64)
    if len(values):  # `reduceat` takes an empty list for its successor's first value
        sums[lengths > 0] = np.add.reduceat(hashed, starts[lengths > 0])
    sums += lengths.astype(np.uint64) * _ODD
    return sums


def _mix(values: np.ndarray) -> None:
    """Mix the bits of each number in place (splitmix64's finalizer after its increment)."""
    for at in range(0, len(values), _VALUES_AT_ONCE):
        block = values[at : at + _VALUES_AT_ONCE]
        block += _ODD
        block ^= block >> np.uint64(30)
        block *= _MIX[0]
        block ^= block >> np.uint64(27)
        block *= _MIX[1]
        block ^= block >> np.uint64(31)


def _pairs(before: np.ndarray, now: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions of equal rows in both tables, in the order of the second one.

    The first of several equal rows is paired with the first, the second with the second.
    """
    keys = []
    for hashes in (before, now):
        order = np.argsort(hashes, kind="stable")
        ranked = hashes[order]
        is_first = np.append(True, ranked[1:] != ranked[:-1])[: len(ranked)]
        firsts = np.maximum.accumulate(np.where(is_first, np.arange(len(ranked)), 0))
        keys.append((order, ranked, np.arange(len(ranked)) - firsts))
    (order, ranked, nth), (order_now, ranked_now, nth_now) = keys
    start = np.searchsorted(ranked, ranked_now)
    at = np.minimum(start + nth_now, max(len(ranked) - 1, 0))
    if not len(ranked):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    is_equal = (ranked[at] == ranked_now) & (nth[at] == nth_now)
    old, new = order[at[is_equal]], order_now[is_equal]
    by_new = np.argsort(new)
    return old[by_new], new[by_new]


def _in_order(old: np.ndarray, new: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Return those pairs that have one order in both tables, as many as possible.

    None if too many rows moved.
    """
    if (old[1:] > old[:-1]).all():
        return old, new
    ranks = np.empty(len(old), np.int64)
    ranks[np.argsort(old)] = np.arange(len(old))
    bounds = np.flatnonzero(ranks[1:] != ranks[:-1] + 1) + 1  # rows that moved together are a run
    if len(bounds) >= _MOST_RUNS:
        return None
    starts = np.append(0, bounds)
    lengths = np.diff(np.append(starts, len(old)))
    is_kept = np.zeros(len(starts), bool)
    is_kept[_heaviest_ascending(np.argsort(np.argsort(ranks[starts])), lengths)] = True
    rows_in_order = np.repeat(is_kept, lengths)
    return old[rows_in_order], new[rows_in_order]


def _heaviest_ascending(ranks: np.ndarray, weights: np.ndarray) -> list[int]:
    """Return the indices of the ascending subsequence of `ranks` with the largest weight.

    `ranks` is a permutation. A Fenwick tree holds the best end of a subsequence below each rank.
    """
    n = len(ranks)
    tree = [(0, -1)] * (n + 1)  # weight, and index of the subsequence's last element
    before = [-1] * n
    for index, (rank, weight) in enumerate(zip(ranks.tolist(), weights.tolist(), strict=True)):
        best, at = (0, -1), rank
        while at > 0:
            best = max(best, tree[at])
            at -= at & -at
        before[index] = best[1]
        end, at = (best[0] + weight, index), rank + 1
        while at <= n:
            tree[at] = max(tree[at], end)
            at += at & -at
    _, index = max(tree)
    members = []
    while index >= 0:
        members.append(index)
        index = before[index]
    return members
