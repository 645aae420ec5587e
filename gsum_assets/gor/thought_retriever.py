"""Thought-Retriever: earlier responses join the retrieval corpus, without a graph.

Feng et al., 2024, as GoR compares itself with it (section 3.1): every response is searched by the
vector of its text, beside the passages that it came from.
"""

import numpy as np
import pyarrow as pa

_DECIMALS = 6  # as in `retrieval.dense`: equal texts score equally on every machine


def thought_retriever(query_embeddings: np.ndarray, nodes: pa.Table, edges: pa.Table) -> np.ndarray:
    """Cosine of each query and each node's text.

    Parameters
    ----------
    query_embeddings : unit vectors, `(n_queries, dim)`.
    nodes : rows of `gor.record_nodes`; their order is that of the columns returned.
    edges : not looked at; every ranking of the record graph is called alike.

    Returns
    -------
    ndarray
        `(n_queries, n_nodes)`, -1 to 1, higher is better.

    Raises
    ------
    ValueError
        If the queries' vectors are of another length than the nodes'.
    """
    flat = nodes["embedding"].combine_chunks().flatten().to_numpy()
    n_nodes, dimension = nodes.num_rows, query_embeddings.shape[1]
    if len(flat) != n_nodes * dimension:
        raise ValueError(
            f"gor: {n_nodes} nodes with {len(flat)} numbers in all do not fit questions of "
            f"{dimension} dimensions; embed both with one model, materialize gor/record_nodes"
        )
    return np.round(query_embeddings @ flat.reshape(n_nodes, dimension).T, _DECIMALS)
