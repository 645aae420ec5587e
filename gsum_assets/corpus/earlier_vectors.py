"""Vectors of the previous run, so that an edit costs what it changes.

A bucket of a large corpus has thousands of chunks. Looking each of them up in the memo of vectors
reads most of that memo, 10 GB of sentences for a million chunks; the bucket's own table has them in
one file.
"""

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from gsum_assets.pipeline.step import Inputs
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.store.arrow import pc
from gsum_resources.store.input_key import InputKey
from gsum_resources.store.lazy import lazy_rows
from gsum_resources.store.lineage import code_version_of

_MODEL = "embedding_model"


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
    earlier = _valid_rows(inputs, name, chunks["chunk_id"])
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
    places = pc.index_in(earlier["chunk_id"], chunks["chunk_id"].combine_chunks())
    return earlier.take(np.argsort(places.to_numpy(), kind="stable"))


def _valid_rows(inputs: Inputs, name: str, chunk_ids: pa.ChunkedArray) -> pa.Table:
    """Return the stored rows of some chunks that a step with the same code and model wrote."""
    table, store = TABLES[name], inputs.store
    if store is None:
        return table.empty()
    code = code_version_of(table, inputs.code_version)
    key, identity = str(InputKey("model", _MODEL)), inputs.model(_MODEL).identity
    partitions = [
        partition
        for partition in store.partitions(table, inputs.corpus)
        if not inputs.buckets or partition.bucket in inputs.buckets
    ]
    valid = [
        partition
        for partition, footer in store.footers(table, partitions).items()
        if footer.code_version == code and footer.inputs.get(key) == identity
    ]
    rows = lazy_rows(store, table, valid).rows_with("chunk_id", chunk_ids.to_pylist())
    return rows.select(table.schema.names)
