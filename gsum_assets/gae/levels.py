"""Documents and chunks: every table of the family has rows for both."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from gsum_assets.corpus.embed import vector_column
from gsum_assets.retrieval.collection import Collection
from gsum_assets.retrieval.vectors import stacked
from gsum_resources.arrow import pc


class Level(NamedTuple):
    """The passages of one level.

    Attributes
    ----------
    name : 'document' or 'node'.
    ids, texts : `(n_passages,)`.
    """

    name: str
    ids: Sequence[str]
    texts: Sequence[str]


def levels(collection: Collection) -> Iterator[Level]:
    """Yield documents, then chunks."""
    yield Level("document", collection.document_ids, collection.document_texts)
    yield Level("node", collection.chunk_ids, collection.chunk_texts)


def of_level(rows: pa.Table, level: str) -> pa.Table:
    """Return the rows of one level."""
    return rows.filter(pc.equal(rows["level"], level))


def places(named: pa.ChunkedArray, ids: Sequence[str], asset: str) -> np.ndarray:
    """Return the place in `ids` of each id, int64.

    Parameters
    ----------
    asset : that holds the ids, for the message.

    Raises
    ------
    ValueError
        If one is not there.
    """
    found = pc.index_in(named, value_set=pa.array(ids, pa.string()))
    if found.null_count:
        first = named.filter(pc.is_null(found))[0].as_py()
        raise ValueError(
            f"{asset}: {found.null_count} passages are not of the corpus (first: '{first}'); "
            f"materialize {asset} again"
        )
    return found.to_numpy().astype(np.int64)


def in_order(rows: pa.Table, ids: Sequence[str], asset: str) -> pa.Table:
    """Return the rows of `passage_id`, one for each of `ids`, in that order.

    Raises
    ------
    ValueError
        If one has no row.
    """
    wanted = pa.array(ids, pa.string())
    found = pc.index_in(wanted, value_set=rows["passage_id"].combine_chunks())
    if found.null_count:
        first = wanted.filter(pc.is_null(found))[0].as_py()
        raise ValueError(
            f"{asset}: {found.null_count} of {len(ids)} passages have no row (first: '{first}'); "
            f"materialize {asset} again"
        )
    return rows.take(found)


def vector_rows(level: str, ids: Sequence[str], vectors: np.ndarray) -> pa.Table:
    """Return one level of a table that has a vector for each passage."""
    columns = {
        "level": pa.repeat(level, len(ids)),
        "passage_id": pa.array(ids, pa.string()),
        "embedding": vector_column(vectors),
    }
    return pa.table(columns)


def level_vectors(rows: pa.Table, level: Level, asset: str) -> np.ndarray:
    """Return the vectors of one level in the order of its passages, float32 `(n_passages, dim)`."""
    return stacked(in_order(of_level(rows, level.name), level.ids, asset)["embedding"])
