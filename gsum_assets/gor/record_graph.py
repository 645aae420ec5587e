"""The record graph: passages and responses, and which nodes each response used (section 2.2).

Responses are retrieved only by later rounds, so the graph is acyclic. Unused nodes remain, with
degree 0.
"""

from collections import Counter

import numpy as np
import pyarrow as pa

from gsum_assets.pipeline.embed import vector_column
from gsum_assets.retrieval.vectors import vectors_of
from gsum_resources.protocols.models import Embedder


def record_graph(
    chunks: pa.Table, chunk_embeddings: pa.Table, responses: pa.Table, embedder: Embedder
) -> tuple[pa.Table, pa.Table]:
    """Return the nodes and edges of every document's graph.

    Parameters
    ----------
    chunks, chunk_embeddings : rows of these tables for one corpus, in any order.
    responses : rows of `gor.historical_responses` of the same documents, in any order.
    embedder : the embedder of `chunk_embeddings`; a memoized one already has the vectors of the
        responses.

    Returns
    -------
    nodes : rows of `gor.record_nodes`, by document, passages by position before responses by
        round.
    edges : rows of `gor.record_edges`, by document, round of the response and rank.

    Raises
    ------
    ValueError
        If a response used a node that is neither a chunk nor an earlier response of its document.
    """
    chunks = chunks.sort_by([("document_id", "ascending"), ("position", "ascending")])
    responses = responses.sort_by([("document_id", "ascending"), ("round", "ascending")])
    edges = _edges(chunks, responses)
    degree = Counter(edges["source_id"].to_pylist()) + Counter(edges["target_id"].to_pylist())
    ids = chunks["chunk_id"].to_pylist() + responses["response_id"].to_pylist()
    vectors = [vectors_of(chunk_embeddings, ids[: chunks.num_rows])] if chunks.num_rows else []
    if responses.num_rows:
        vectors.append(embedder.embed(responses["text"].to_pylist()))
    nodes = pa.table(
        {
            "node_id": pa.array(ids, pa.string()),
            "document_id": _both(chunks["document_id"], responses["document_id"]),
            "kind": pa.array(
                ["chunk"] * chunks.num_rows + ["response"] * responses.num_rows, pa.string()
            ),
            "position": _both(chunks["position"], responses["round"]),
            "degree": pa.array([degree[node_id] for node_id in ids], pa.int32()),
            "text": _both(chunks["text"], responses["text"]),
            "embedding": vector_column(
                np.concatenate(vectors) if vectors else np.empty((0, embedder.dimension))
            ),
        }
    )
    order = [("document_id", "ascending"), ("kind", "ascending"), ("position", "ascending")]
    return nodes.sort_by(order), edges


def _both(left: pa.ChunkedArray, right: pa.ChunkedArray) -> pa.ChunkedArray:
    return pa.chunked_array([*left.chunks, *right.chunks], left.type)


def _edges(chunks: pa.Table, responses: pa.Table) -> pa.Table:
    """Return one edge per retrieved node, by document, round and rank."""
    earlier_nodes = set(
        zip(chunks["document_id"].to_pylist(), chunks["chunk_id"].to_pylist(), strict=True)
    )
    rows = []
    for row in responses.select(["document_id", "response_id", "round", "node_ids"]).to_pylist():
        document_id, target_id = row["document_id"], row["response_id"]
        for rank, source_id in enumerate(row["node_ids"], start=1):
            if (document_id, source_id) not in earlier_nodes:
                raise ValueError(
                    f"gor: the response of round {row['round']} of document '{document_id}' used "
                    f"node '{source_id}', which is neither a chunk nor an earlier response of "
                    "it; materialize gor/historical_responses"
                )
            rows.append((source_id, target_id, document_id, rank))
        earlier_nodes.add((document_id, target_id))
    columns = zip(*rows, strict=True) if rows else ((), (), (), ())
    kinds = (pa.string(), pa.string(), pa.string(), pa.int32())
    names = ("source_id", "target_id", "document_id", "rank")
    arrays = [pa.array(values, kind) for values, kind in zip(columns, kinds, strict=True)]
    return pa.table(arrays, names=list(names))
