"""Questions against the nodes of their scope, passages and responses alike (paper, section 2.4)."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from gsum_assets.gor.node2vec import anchored_scores, node_vectors
from gsum_assets.gor.variants import WITHOUT_NETWORK
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.dense import Dense
from gsum_assets.retrieval.ranking import Retriever, Scores, best_of_nodes, rank_questions
from gsum_resources.arrow import pc

_ANCHORS = 3  # see `node2vec.py`
_AFTER_CHUNKS = 1_000_000  # responses follow all passages of their document


def rank(
    variant: str,
    documents: pa.Table,
    nodes: pa.Table,
    edges: pa.Table,
    node_embeddings: pa.Table,
    queries: pa.Table,
    query_embeddings: pa.Table,
) -> pa.Table:
    """Return the rows of the table `rankings`: inner products of questions and node embeddings.

    Parameters
    ----------
    nodes, edges : rows of `gor.record_nodes` and `gor.record_edges`.
    node_embeddings : rows of `gor.node_embeddings`; not read by the variants without a network,
        which rank by the embeddings of the nodes' texts.
    """
    vectors = nodes if variant in WITHOUT_NETWORK else node_embeddings
    collection = node_collection(documents, nodes, vectors)
    questions = Questions.from_tables(queries, query_embeddings)

    def build(scope: Collection) -> Retriever:
        return Walks.over(scope, nodes, edges) if variant == "node2vec" else Dense(scope)

    return rank_questions(build, questions, collection)


def node_collection(documents: pa.Table, nodes: pa.Table, vectors: pa.Table) -> Collection:
    """Return nodes in the form that the baselines search.

    Parameters
    ----------
    nodes : rows of `gor.record_nodes`.
    vectors : `node_id` and `embedding` of each of them, in any order.
    """
    is_response = pc.cast(pc.equal(nodes["kind"], "response"), pa.int32())
    as_chunks = pa.table(
        {
            "chunk_id": nodes["node_id"],
            "document_id": nodes["document_id"],
            "position": pc.add(nodes["position"], pc.multiply(is_response, _AFTER_CHUNKS)),
            "text": nodes["text"],
        }
    )
    as_embeddings = vectors.select(["node_id", "embedding"])
    return Collection.from_tables(
        documents, as_chunks, as_embeddings.rename_columns(["chunk_id", "embedding"])
    )


@dataclass(frozen=True)
class Walks:
    """Node2Vec over the graphs of one scope."""

    collection: Collection
    nodes: pa.Table
    vectors: np.ndarray

    @classmethod
    def over(cls, collection: Collection, nodes: pa.Table, edges: pa.Table) -> "Walks":
        """Walk the graphs of the nodes in `collection`; `nodes` and `edges` may hold more."""
        places = pc.index_in(pa.array(collection.chunk_ids), nodes["node_id"].combine_chunks())
        mine = nodes.take(places)
        of_scope = pc.is_in(edges["target_id"], mine["node_id"].combine_chunks())
        return cls(collection, mine, node_vectors(mine, edges.filter(of_scope)))

    def scores(self, questions: Questions) -> Scores:
        """Return cosines in the space of the walks, -1 to 1."""
        assert questions.embeddings is not None
        nodes = anchored_scores(questions.embeddings, self.nodes, self.vectors, _ANCHORS)
        return Scores(nodes, best_of_nodes(nodes, self.collection))
