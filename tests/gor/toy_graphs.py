"""Small record graphs with a structure that training can find."""

import numpy as np

from gsum_assets.gor.graphs import RecordGraph


def toy_graph(
    document_id: str,
    n_chunks: int = 8,
    n_queries: int = 4,
    dimension: int = 16,
    k: int = 2,
    noise: float = 0.5,
) -> RecordGraph:
    """Unit vectors drawn by the id; a question is its source chunk's vector and much noise.

    Response i retrieves the k chunks nearest to question i, and rankings are by similarity to the
    source chunk.
    """
    random = np.random.default_rng(list(document_id.encode()))
    chunks = _unit(random.standard_normal((n_chunks, dimension)))
    sources = np.resize(random.permutation(n_chunks), n_queries)
    queries = _unit(chunks[sources] + noise * random.standard_normal((n_queries, dimension)))
    retrieved = np.argsort(-queries @ chunks.T, axis=1)[:, :k]
    responses = _unit(chunks[retrieved].mean(1))
    features = np.concatenate([chunks, responses]).astype(np.float32)
    answers = n_chunks + np.repeat(np.arange(n_queries), retrieved.shape[1])
    return RecordGraph(
        document_id=document_id,
        node_ids=np.array([f"{document_id}-{i}" for i in range(len(features))]),
        kinds=np.array(["chunk"] * n_chunks + ["response"] * n_queries),
        features=features,
        edges=np.unique(np.stack([retrieved.ravel(), answers]), axis=1),
        queries=queries.astype(np.float32),
        rankings=np.argsort(-features[sources] @ features.T, axis=1, kind="stable"),
        sources=sources,
        query_ids=np.array([f"{document_id}-q{i}" for i in range(n_queries)]),
    )


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
