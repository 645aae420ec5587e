"""Record graphs: the tables of their nodes and edges (section 2.2), and the graph of a document.

A response uses passages and responses of earlier rounds, so the graph is acyclic. Unused nodes
remain, with degree 0.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pyarrow as pa

from gsum_assets.pipeline.embed import vector_column
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.vectors import stacked, vectors_of
from gsum_resources.protocols.models import Embedder
from gsum_resources.store.arrow import pc

NO_SOURCE = -1


def record_graph(
    chunks: pa.Table, chunk_embeddings: pa.Table, responses: pa.Table, embedder: Embedder
) -> tuple[pa.Table, pa.Table]:
    """Return the rows of `gor.record_nodes` and of `gor.record_edges`.

    Nodes are ordered by document, passages by position before responses by round; edges by
    document, round of the response and rank. `responses` are rows of `gor.historical_responses` of
    the same documents, embedded by the embedder of `chunk_embeddings`; rows are in any order.
    """
    responses = responses.sort_by([("document_id", "ascending"), ("round", "ascending")])
    columns = (responses[name].to_pylist() for name in ("document_id", "response_id", "node_ids"))
    edges = [
        {"source_id": source, "target_id": response_id, "document_id": document_id, "rank": rank}
        for document_id, response_id, node_ids in zip(*columns, strict=True)
        for rank, source in enumerate(node_ids, start=1)
    ]
    degree = Counter(edge[end] for edge in edges for end in ("source_id", "target_id"))
    of_chunks = of_responses = np.empty((0, embedder.dimension), np.float32)
    if chunks.num_rows:
        of_chunks = vectors_of(chunk_embeddings, chunks["chunk_id"].to_pylist())
    if responses.num_rows:
        of_responses = embedder.embed(responses["text"].to_pylist())
    tables = [
        pa.table(
            {
                "node_id": rows[id_name],
                "document_id": rows["document_id"],
                "kind": pa.repeat(kind, rows.num_rows),
                "position": rows[position],
                "degree": pa.array([degree[i] for i in rows[id_name].to_pylist()], pa.int32()),
                "text": rows["text"],
                "embedding": vector_column(vectors),
            }
        )
        for kind, rows, id_name, position, vectors in (
            ("chunk", chunks, "chunk_id", "position", of_chunks),
            ("response", responses, "response_id", "round", of_responses),
        )
    ]
    order = [("document_id", "ascending"), ("kind", "ascending"), ("position", "ascending")]
    nodes = pa.concat_tables(tables).sort_by(order)
    return nodes, pa.Table.from_pylist(edges, TABLES["gor.record_edges"].schema)


@dataclass(frozen=True)
class RecordGraph:
    """One document's nodes, edges and, if it is used for training, questions.

    Attributes
    ----------
    node_ids : chunks by position, then responses by round, `(n_nodes,)`.
    kinds : 'chunk' or 'response', `(n_nodes,)`.
    features : embeddings of the nodes' texts, float32 `(n_nodes, dim)`.
    edges : retrieved nodes and the responses that used them, int64 `(2, n_edges)`, each pair once.
    queries, query_ids : embeddings of the questions, float32 `(n_queries, dim)`, and their ids.
    rankings : nodes by similarity to each question's source, best first: the paper's M_i, int64
        `(n_queries, n_nodes)`.
    sources : source node of each question, int64 `(n_queries,)`; NO_SOURCE: a global question.
    """

    document_id: str
    node_ids: np.ndarray
    kinds: np.ndarray
    features: np.ndarray
    edges: np.ndarray
    queries: np.ndarray
    rankings: np.ndarray
    sources: np.ndarray
    query_ids: np.ndarray

    @property
    def n_nodes(self) -> int:
        """Number of nodes: chunks and responses."""
        return len(self.node_ids)

    @property
    def n_queries(self) -> int:
        """Number of training questions."""
        return len(self.queries)


def record_graphs(record_nodes: pa.Table, record_edges: pa.Table) -> list[RecordGraph]:
    """Return the graphs of all documents without questions, ordered by id, from rows in any order.

    Raises `ValueError` if an edge has an end that is not a node, or embeddings differ in length.
    """
    order = ("kind", "position", "node_id")
    documents = _by_document(record_nodes, (*order, "embedding"), order)
    edges = _by_document(record_edges, ("source_id", "target_id"))
    graphs = []
    for document_id, nodes in documents.items():
        ids, features = nodes["node_id"].combine_chunks(), stacked(nodes["embedding"])
        rows, table = edges[document_id], f"gor.record_edges of '{document_id}'"
        ends = [_positions(rows[end], ids, table) for end in ("source_id", "target_id")]
        graphs.append(
            RecordGraph(
                document_id=document_id,
                node_ids=np.array(ids.to_pylist()),
                kinds=np.array(nodes["kind"].to_pylist()),
                features=features,
                edges=np.unique(np.stack(ends), axis=1),
                queries=np.empty((0, features.shape[1]), np.float32),
                rankings=np.empty((0, len(ids)), np.int64),
                sources=np.empty(0, np.int64),
                query_ids=np.empty(0, np.str_),
            )
        )
    return graphs


def training_graphs(
    record_nodes: pa.Table,
    record_edges: pa.Table,
    simulated_queries: pa.Table,
    historical_responses: pa.Table,
    node_rankings: pa.Table,
) -> list[RecordGraph]:
    """Return the graphs of the documents that have questions, ordered by document id.

    Rows are in any order; only questions with a response are used.

    Raises
    ------
    ValueError
        In the cases of `record_graphs`, or if a question does not rank all nodes of its document.
    """
    answered = _by_document(historical_responses, ("query_id", "query_embedding"), ("round",))
    sources = _by_document(simulated_queries, ("query_id", "chunk_id"))
    ranked = _by_document(node_rankings, ("query_id", "node_id", "rank"))
    return [
        _with_questions(g, answered[g.document_id], sources[g.document_id], ranked[g.document_id])
        for g in record_graphs(record_nodes, record_edges)
        if g.document_id in answered
    ]


def _with_questions(
    graph: RecordGraph, answered: pa.Table, simulated: pa.Table, ranked: pa.Table
) -> RecordGraph:
    nodes, queries = pa.array(graph.node_ids), answered["query_id"].combine_chunks()
    table = f"gor.node_rankings of '{graph.document_id}'"
    ranked = ranked.filter(pc.is_in(ranked["query_id"], queries))
    if ranked.num_rows != len(queries) * len(nodes):
        raise ValueError(
            f"{table}: {ranked.num_rows} rows for {len(queries)} questions and {len(nodes)} nodes, "
            "not one for each pair; materialize gor/node_rankings again"
        )
    order = np.lexsort((ranked["rank"].to_numpy(), _positions(ranked["query_id"], queries, table)))
    simulated_ids = simulated["query_id"].combine_chunks()
    rows = _positions(queries, simulated_ids, f"gor.historical_responses of '{graph.document_id}'")
    sources = pc.index_in(simulated["chunk_id"].take(pa.array(rows)), nodes)
    return replace(
        graph,
        queries=stacked(answered["query_embedding"]),
        rankings=_positions(ranked["node_id"], nodes, table)[order].reshape(-1, len(nodes)),
        sources=pc.fill_null(sources, NO_SOURCE).to_numpy().astype(np.int64),
        query_ids=np.array(queries.to_pylist()),
    )


def _by_document(
    table: pa.Table, columns: Sequence[str], order: Sequence[str] = ()
) -> defaultdict[str, pa.Table]:
    """Return `columns` of the rows of each document, documents by id and rows by `order`."""
    order = ("document_id", *order)
    table = table.select(list(dict.fromkeys([*order, *columns])))
    table = table.sort_by([(name, "ascending") for name in order]).combine_chunks()
    names, starts = np.unique(np.array(table["document_id"].to_pylist(), str), return_index=True)
    table, bounds = table.select(list(columns)), [*starts, table.num_rows]
    rows = {
        str(n): table.slice(a, b - a) for n, (a, b) in zip(names, pairwise(bounds), strict=True)
    }
    return defaultdict(lambda: table.slice(0, 0), rows)


def _positions(ids: pa.Array | pa.ChunkedArray, among: pa.Array, table: str) -> np.ndarray:
    """Return the position in `among` of each id of a table."""
    positions = pc.index_in(ids, among)
    if positions.null_count:
        missing = ids.filter(pc.is_null(positions))
        raise ValueError(
            f"{table}: {len(missing)} of {len(ids)} ids are unknown (first: {missing[0]}); "
            "materialize gor/record_nodes and gor/node_rankings again"
        )
    return positions.to_numpy().astype(np.int64)
