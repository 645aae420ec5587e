"""Ranking of passages and responses for questions (paper, section 2.4)."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from gsum_assets.gor.methods import EVIDENCE
from gsum_assets.gor.node2vec import anchored_scores, node_vectors
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.contexts import node_collection
from gsum_assets.retrieval.dense import Dense
from gsum_assets.retrieval.ranking import Retriever, Scores, best_of_nodes, rank_questions
from gsum_resources.store.arrow import pc

_ANCHORS = 3  # see `node2vec.py`


def rank(
    method: str,
    documents: pa.Table,
    nodes: pa.Table,
    edges: pa.Table,
    node_embeddings: pa.Table,
    queries: pa.Table,
    query_embeddings: pa.Table,
) -> pa.Table:
    """Return the rows of `rankings`, scored by inner products of questions and node embeddings.

    Parameters
    ----------
    nodes, edges : rows of `gor.record_nodes` and `gor.record_edges`.
    node_embeddings : rows of `gor.node_embeddings`; none of methods without a network, which rank
        by the embeddings of the nodes' texts.

    Returns
    -------
    Rows of all nodes; of `gor-evidence`, which does not mix kinds of nodes, of passages.
    """
    collection = searched(method, documents, nodes, node_embeddings)
    return rank_in(collection, method, nodes, edges, queries, query_embeddings)


def searched(
    method: str, documents: pa.Table, nodes: pa.Table, node_embeddings: pa.Table
) -> Collection:
    """Return the nodes that a method ranks, with their vectors; parameters as in `rank`."""
    if method == EVIDENCE:
        nodes = nodes.filter(pc.equal(nodes["kind"], "chunk"))
    vectors = node_embeddings if node_embeddings.num_rows else nodes
    return node_collection(documents, nodes, vectors)


def rank_in(
    collection: Collection,
    method: str,
    nodes: pa.Table,
    edges: pa.Table,
    queries: pa.Table,
    query_embeddings: pa.Table,
) -> pa.Table:
    """Return the rows of `rankings` over the result of `searched`; parameters as in `rank`."""
    questions = Questions.from_tables(queries, query_embeddings)

    def build(scope: Collection) -> Retriever:
        return Walks.over(scope, nodes, edges) if method == "node2vec" else Dense(scope)

    return rank_questions(build, questions, collection)


@dataclass(frozen=True)
class Walks:
    """Node2Vec over the graphs of one scope."""

    collection: Collection
    nodes: pa.Table
    vectors: np.ndarray

    @classmethod
    def over(cls, collection: Collection, nodes: pa.Table, edges: pa.Table) -> "Walks":
        """Build from the graphs of the nodes in `collection`; `nodes` and `edges` may hold more."""
        indices = pc.index_in(pa.array(collection.chunk_ids), nodes["node_id"].combine_chunks())
        of_document = nodes.take(indices)
        of_scope = pc.is_in(edges["target_id"], of_document["node_id"].combine_chunks())
        return cls(collection, of_document, node_vectors(of_document, edges.filter(of_scope)))

    def scores(self, questions: Questions) -> Scores:
        """Return cosines of the Node2Vec vectors, -1 to 1."""
        assert questions.embeddings is not None
        nodes = anchored_scores(questions.embeddings, self.nodes, self.vectors, _ANCHORS)
        return Scores(nodes, best_of_nodes(nodes, self.collection))
