"""Vectors of the previous run, so that an edit costs what it changes.

A bucket of a large corpus has thousands of chunks. Looking each of them up in the memo of vectors
reads most of that memo, 10 GB of sentences for a million chunks; the bucket's own table has them in
one file.
"""

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from gsum_assets.pipeline.step import Inputs
from gsum_resources.store.arrow import pc


def with_earlier(
    inputs: Inputs, name: str, chunks: pa.Table, compute: Callable[[pa.Table], pa.Table]
) -> pa.Table:
    """Return the rows of a table by chunk, of which only those of new chunks are computed.

    The id of a chunk is a hash of its text, so that its stored rows are valid if the same code and
    the same embedding model wrote them.

    Parameters
    ----------
    inputs : of the step that writes the table, and reads the embedding model.
    name : the table, by bucket, with a column `chunk_id`.
    chunks : rows of `chunks` of the step's buckets.
    compute : returns the rows of some of `chunks`, in their order.

    Returns
    -------
    pa.Table
        Rows in the order of `chunks`.
    """
    stored = inputs.earlier(name, models=["embedding_model"])
    earlier = stored.rows_with("chunk_id", chunks["chunk_id"].to_pylist())
    if not earlier.num_rows:
        return compute(chunks)
    is_known = pc.is_in(chunks["chunk_id"], value_set=pc.unique(earlier["chunk_id"]))
    fresh = compute(chunks.filter(pc.invert(is_known)))
    schema = fresh.schema
    if not fresh.num_rows:
        index = earlier.schema.get_field_index("embedding")
        field = earlier.schema.field(index)
        vectors = pa.list_(pa.float32(), field.type.list_size)
        schema = earlier.schema.set(index, field.with_type(vectors))
    earlier = earlier.cast(schema)  # the names of a file's nested fields count in content hashes
    if fresh.num_rows:
        earlier = pa.concat_tables([earlier, fresh])
    positions = pc.index_in(earlier["chunk_id"], chunks["chunk_id"].combine_chunks())
    return earlier.take(np.argsort(positions.to_numpy(), kind="stable"))
