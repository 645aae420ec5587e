"""Several sizes of line chunks, each with its own index in the same tables (paper, 4.3)."""

from collections.abc import Iterator

import pyarrow as pa

from gsum_assets.jerr.methods import METHODS
from gsum_assets.jerr.settings import ChunkingSettings
from gsum_assets.pipeline.step import Inputs
from gsum_resources.store.arrow import pc


def by_size(*tables: pa.Table) -> Iterator[tuple[int, list[pa.Table]]]:
    """Yield the rows of index tables for each size that the first one has, smallest first."""
    for size in sorted(pc.unique(tables[0]["max_tokens"]).to_pylist()):
        yield size, [rows_of_size(rows, size) for rows in tables]


def rows_of_size(rows: pa.Table, size: int) -> pa.Table:
    """Return the rows of an index table of one size of line chunks."""
    return rows.filter(pc.equal(rows["max_tokens"], size))


def size_of(inputs: Inputs) -> int:
    """Return the size of line chunks that a method uses.

    Raises
    ------
    ValueError
        If line chunks of this size are not indexed.
    """
    settings = ChunkingSettings.model_validate(inputs.settings("jerr.chunking"))
    size = METHODS[inputs.method].max_tokens or settings.max_tokens
    if size not in settings.sizes:
        raise ValueError(
            f"jerr: line chunks of {size} word pieces are not indexed, only of "
            f"{', '.join(map(str, settings.sizes))}; add {size} to `ablations` in corpus.toml, "
            "[jerr.chunking]"
        )
    return size


def sized(inputs: Inputs, *names: str) -> list[pa.Table]:
    """Return the rows of index tables of the size that a method uses."""
    size = size_of(inputs)
    return [rows_of_size(inputs.table(name), size) for name in names]
