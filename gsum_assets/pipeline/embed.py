"""Embedding of chunks and questions."""

import numpy as np
import pyarrow as pa

from gsum_resources.protocols.models import Embedder


def vector_column(vectors: np.ndarray) -> pa.FixedSizeListArray:
    """Return `(n_rows, dimension)` float32 as a column of fixed-size vectors."""
    flat = pa.array(np.ascontiguousarray(vectors, np.float32).ravel())
    return pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1])


def embed_chunks(chunks: pa.Table, embedder: Embedder) -> pa.Table:
    """Return the rows of the table `chunk_embeddings`, in the order of `chunks`.

    Raise `ValueError` if the embedder returns a vector that is not finite; names the first chunk.
    """
    vectors = embedder.embed(chunks["text"].to_pylist())
    return _with_vectors(chunks.select(["chunk_id", "document_id"]), vectors, embedder)


def embed_questions(queries: pa.Table, embedder: Embedder) -> pa.Table:
    """Return the rows of the table `query_embeddings`, in the order of `queries`.

    Raise `ValueError` if a vector is not finite; it names the first question.
    """
    vectors = embedder.embed_queries(queries["retrieval_text"].to_pylist())
    return _with_vectors(queries.select(["query_id"]), vectors, embedder)


def _with_vectors(rows: pa.Table, vectors: np.ndarray, embedder: Embedder) -> pa.Table:
    """Return the rows, whose first column is their id, with vectors `(n_rows, dimension)`."""
    finite = np.isfinite(vectors).all(axis=1)
    if not finite.all():
        kind = rows.column_names[0].removesuffix("_id")
        first = rows[0][int(np.argmin(finite))].as_py()
        raise ValueError(
            f"{kind}_embeddings: {int((~finite).sum())} of {len(finite)} vectors are not finite "
            f"(first: {kind} '{first}'); the embedding model '{embedder.identity}' is broken"
        )
    return rows.append_column(
        "embedding", vector_column(vectors.reshape(len(finite), embedder.dimension))
    )
