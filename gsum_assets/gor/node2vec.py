"""Node2Vec over the record graph: nodes on the same random walks have similar vectors.

Grover and Leskovec, 2016, with the settings of their section 4: 128 dimensions, 10 walks of 80
steps from every node, a window of 10, one pass, p = q = 1. These vectors depend on the graph and
not on the texts, and neither that paper nor GoR, which uses it as a baseline (section 3.1), says
how a question is compared with them. Our reading: the question's text retrieves a few anchor nodes,
and the question's vector is the mean of their vectors, weighted by similarity. Their number was
chosen on 32 training meetings of QMSum, 32 general and 202 specific questions, six nodes read:
ROUGE-1 of 1, 3, 6 and 12 anchors is 30.4, 30.8, 30.7, 30.5 and 26.8, 26.7, 26.5, 26.2. The texts'
own vectors over the same nodes (method `thought-retriever`) give 33.5 and 27.4.
"""

import numpy as np
import pyarrow as pa

from gsum_assets.retrieval.ranking import top
from gsum_resources.store.content_hash import hash_texts

DIMENSIONS = 128
_WALKS, _STEPS, _WINDOW = 10, 80, 10
_DECIMALS = 6


def node_vectors(nodes: pa.Table, edges: pa.Table) -> np.ndarray:
    """Return unit vectors of the nodes, `(n_nodes, 128)`; zeros for a node without an edge.

    The result is deterministic: one worker, seeded by the ids of the nodes in any order.
    """
    ids = nodes["node_id"].to_pylist()
    vectors = np.zeros((len(ids), DIMENSIONS), np.float32)
    row_of = {node_id: i for i, node_id in enumerate(ids)}
    ends = zip(edges["source_id"].to_pylist(), edges["target_id"].to_pylist(), strict=True)
    pairs = sorted(pair for pair in ends if row_of.keys() >= set(pair))
    if not pairs:
        return vectors
    import networkx as nx
    from graspologic.embed import node2vec_embed

    graph = nx.Graph()
    graph.add_edges_from(pairs, weight=1.0)
    embedded, labels = node2vec_embed(
        graph,
        num_walks=_WALKS,
        walk_length=_STEPS,
        dimensions=DIMENSIONS,
        window_size=_WINDOW,
        workers=1,
        iterations=1,
        interpolate_walk_lengths_by_node_degree=False,
        random_seed=int(hash_texts(sorted(ids), 4), 16),
    )
    lengths = np.linalg.norm(embedded, axis=1, keepdims=True)
    vectors[[row_of[label] for label in labels]] = embedded / lengths
    return vectors


def anchored_scores(
    query_embeddings: np.ndarray, nodes: pa.Table, vectors: np.ndarray, n_anchors: int
) -> np.ndarray:
    """Return the cosine of each node's vector and the weighted mean of a question's anchors.

    Parameters
    ----------
    vectors : of the nodes, from `node_vectors`.
    """
    similar = text_scores(query_embeddings, nodes)  # (n_queries, n_nodes)
    anchors = top(similar, nodes["node_id"].to_pylist(), n_anchors)  # (n_queries, n_anchors)
    weights = np.clip(np.take_along_axis(similar, anchors, axis=1), 0, None)
    means = (weights[:, :, None] * vectors[anchors]).sum(axis=1)  # (n_queries, 128)
    lengths = np.linalg.norm(means, axis=1, keepdims=True)
    return np.round(means / np.where(lengths > 0, lengths, 1) @ vectors.T, _DECIMALS)


def text_scores(query_embeddings: np.ndarray, nodes: pa.Table) -> np.ndarray:
    """Return the cosine of each query and each node's text, `(n_queries, n_nodes)`.

    Raises
    ------
    ValueError
        If the queries' vectors are of another length than the nodes'.
    """
    flat = nodes["embedding"].combine_chunks().flatten().to_numpy()
    n_nodes, dimension = nodes.num_rows, query_embeddings.shape[1]
    if len(flat) != n_nodes * dimension:
        raise ValueError(
            f"gor: {n_nodes} nodes with {len(flat)} numbers in total do not match questions of "
            f"{dimension} dimensions; embed both with one model and materialize gor/record_nodes"
        )
    return np.round(query_embeddings @ flat.reshape(n_nodes, dimension).T, _DECIMALS)
