"""Chunks to vectors."""

import numpy as np
import pyarrow as pa

from gsum_resources.protocols import Embedder


def vector_column(vectors: np.ndarray) -> pa.FixedSizeListArray:
    """`(n_rows, dimension)` float32 as a column of fixed-size vectors."""
    flat = pa.array(np.ascontiguousarray(vectors, np.float32).ravel())
    return pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1])


def embed_chunks(chunks: pa.Table, embedder: Embedder) -> pa.Table:
    """Rows of the table `chunk_embeddings`, in the order of `chunks`, with its `corpus`.

    Raises
    ------
    ValueError
        If the embedder returns a vector that is not finite; names the first chunk.
    """
    vectors = embedder.embed(chunks["text"].to_pylist())
    finite = np.isfinite(vectors).all(axis=1)
    if not finite.all():
        first = chunks["chunk_id"][int(np.argmin(finite))].as_py()
        raise ValueError(
            f"chunk_embeddings: {int((~finite).sum())} of {len(finite)} vectors are not finite "
            f"(first: chunk '{first}'); the embedding model '{embedder.identity}' is broken"
        )
    return chunks.select(["chunk_id", "document_id", "corpus"]).append_column(
        "embedding", vector_column(vectors.reshape(len(finite), embedder.dimension))
    )
