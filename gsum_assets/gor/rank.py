"""Ranking of passages and responses for questions (paper, section 2.4), and Node2Vec.

Node2Vec (Grover and Leskovec, 2016), a baseline of section 3.1, has the settings of its section 4:
128 dimensions, 10 walks of 80 steps from every node, a window of 10, one pass, p = q = 1. Ours: the
text of a question retrieves a few anchor nodes, whose mean, weighted by similarity, is its vector.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from gsum_assets.gor.methods import WITHOUT_NETWORK
from gsum_assets.pipeline.step import Inputs
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.contexts import node_collection
from gsum_assets.retrieval.dense import Dense
from gsum_assets.retrieval.ranking import Retriever, Scores, best_of_nodes, rank_questions, top
from gsum_resources.store.arrow import pc
from gsum_resources.store.content_hash import hash_texts

_DIMENSIONS, _WALKS, _STEPS, _WINDOW = 128, 10, 80, 10
_ANCHORS = 3  # of 1, 3, 6 and 12 among the best by ROUGE-1 on 32 training meetings of QMSum
_DECIMALS = 6


def rank(inputs: Inputs) -> pa.Table:
    """Return the rows of `rankings`, scored by inner products of questions and node embeddings.

    Methods without a network rank by the embeddings of the nodes' texts, and so does a method whose
    network learnt from nothing.
    """
    nodes, edges = inputs.table("record_nodes"), inputs.table("record_edges")
    tables = ["documents", "record_nodes"]
    if inputs.method not in WITHOUT_NETWORK:
        tables.append("node_embeddings")

    def collection() -> Collection:
        vectors = nodes
        if "node_embeddings" in tables and inputs.table("node_embeddings").num_rows:
            vectors = inputs.table("node_embeddings")
        return node_collection(inputs.table("documents"), nodes, vectors)

    def retriever(scope: Collection) -> Retriever:
        return Node2Vec(scope, edges) if inputs.method == "node2vec" else Dense(scope)

    questions = Questions.from_tables(inputs.table("queries"), inputs.table("query_embeddings"))
    return rank_questions(retriever, questions, inputs.derived(inputs.method, tables, collection))


class Node2Vec:
    """Node2Vec over the graphs of one scope, from rows of `gor.record_edges` of any documents.

    A question gets the vectors of `n_anchors` nodes.
    """

    def __init__(self, collection: Collection, edges: pa.Table, n_anchors: int = _ANCHORS) -> None:
        self._collection, self._n_anchors = collection, n_anchors
        self._vectors = node_vectors(collection.chunk_ids, edges)

    def scores(self, questions: Questions) -> Scores:
        """Return the cosine of each node's vector and the weighted mean of a question's anchors."""
        similar = Dense(self._collection).scores(questions).nodes  # (n_queries, n_nodes)
        anchors = top(similar, self._collection.chunk_ids, self._n_anchors)
        weights = np.clip(np.take_along_axis(similar, anchors, axis=1), 0, None)
        means = (weights[:, :, None] * self._vectors[anchors]).sum(axis=1)  # (n_queries, 128)
        lengths = np.linalg.norm(means, axis=1, keepdims=True)
        cosines = means / np.where(lengths > 0, lengths, 1) @ self._vectors.T
        nodes = np.round(cosines, _DECIMALS)
        return Scores(nodes, best_of_nodes(nodes, self._collection))


def node_vectors(node_ids: Sequence[str], edges: pa.Table) -> np.ndarray:
    """Return unit vectors of the nodes, `(n_nodes, 128)`; zeros for a node without an edge.

    The result is deterministic: one worker, seeded by the ids of the nodes in any order.
    """
    vectors = np.zeros((len(node_ids), _DIMENSIONS), np.float32)
    row_of = {node_id: row for row, node_id in enumerate(node_ids)}
    of_nodes = edges.filter(pc.is_in(edges["target_id"], pa.array(node_ids, pa.string())))
    ends = (of_nodes[end].to_pylist() for end in ("source_id", "target_id"))
    pairs = sorted(pair for pair in zip(*ends, strict=True) if pair[0] in row_of)
    if not pairs:
        return vectors
    import networkx as nx

    try:
        from graspologic.embed import node2vec_embed  # pyright: ignore[reportMissingImports]
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "node2vec: it needs the package graspologic, which requires NumPy < 2; choose other "
            "methods, or install gsum on Python 3.11, where graspologic is installed with it"
        ) from error

    graph = nx.Graph()
    graph.add_edges_from(pairs, weight=1.0)
    embedded, labels = node2vec_embed(
        graph,
        num_walks=_WALKS,
        walk_length=_STEPS,
        dimensions=_DIMENSIONS,
        window_size=_WINDOW,
        workers=1,
        iterations=1,
        interpolate_walk_lengths_by_node_degree=False,
        random_seed=int(hash_texts(sorted(node_ids), 4), 16),
    )
    lengths = np.linalg.norm(embedded, axis=1, keepdims=True)
    vectors[[row_of[label] for label in labels]] = embedded / lengths
    return vectors
