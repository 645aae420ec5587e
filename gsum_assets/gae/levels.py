"""The two levels, documents and chunks: every table of the family has rows for both."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from gsum_assets.pipeline.embed import vector_column
from gsum_assets.retrieval.collection import Collection
from gsum_assets.retrieval.vectors import stacked
from gsum_resources.store.arrow import pc


class Level(NamedTuple):
    """The passages of one level, documents or chunks.

    Attributes
    ----------
    name : 'document', or 'node' for chunks.
    ids, texts : ids and texts of the passages, `(n_passages,)`.
    """

    name: str
    ids: Sequence[str]
    texts: Sequence[str]


def levels(collection: Collection) -> Iterator[Level]:
    """Yield the level of documents, then that of chunks."""
    yield Level("document", collection.document_ids, collection.document_texts)
    yield Level("node", collection.chunk_ids, collection.chunk_texts)


def of_level(rows: pa.Table, level: str) -> pa.Table:
    """Return the rows of one level."""
    return rows.filter(pc.equal(rows["level"], level))


def indices_of(named: pa.ChunkedArray, ids: Sequence[str], asset: str) -> np.ndarray:
    """Return the index in `ids` of each id, int64.

    Parameters
    ----------
    asset : name of the asset that holds the ids, for error messages.

    Raises
    ------
    ValueError
        If an id is not in `ids`.
    """
    indices = pc.index_in(named, value_set=pa.array(ids, pa.string()))
    if indices.null_count:
        first = named.filter(pc.is_null(indices))[0].as_py()
        raise ValueError(
            f"{asset}: {indices.null_count} passages are not in the corpus (first: '{first}'); "
            f"materialize {asset} again"
        )
    return indices.to_numpy().astype(np.int64)


def in_order(rows: pa.Table, ids: Sequence[str], asset: str) -> pa.Table:
    """Return one row for each of `ids`, in that order, by `passage_id`.

    Raises
    ------
    ValueError
        If an id has no row.
    """
    id_array = pa.array(ids, pa.string())
    indices = pc.index_in(id_array, value_set=rows["passage_id"].combine_chunks())
    if indices.null_count:
        first = id_array.filter(pc.is_null(indices))[0].as_py()
        raise ValueError(
            f"{asset}: {indices.null_count} of {len(ids)} passages have no row (first: '{first}'); "
            f"materialize {asset} again"
        )
    return rows.take(indices)


def vector_rows(level: str, ids: Sequence[str], vectors: np.ndarray) -> pa.Table:
    """Return the rows of one level of a table with a vector per passage."""
    columns = {
        "level": pa.repeat(level, len(ids)),
        "passage_id": pa.array(ids, pa.string()),
        "embedding": vector_column(vectors),
    }
    return pa.table(columns)


def level_vectors(rows: pa.Table, level: Level, asset: str) -> np.ndarray:
    """Return the vectors of a level in the order of its passages, float32 `(n_passages, dim)`."""
    return stacked(in_order(of_level(rows, level.name), level.ids, asset)["embedding"])
