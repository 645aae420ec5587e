"""Record graphs of documents: from tables to `dgl` graphs and to batches of them."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa

from gsum_assets.gor.settings import Direction
from gsum_resources.store.arrow import pc

if TYPE_CHECKING:
    import torch
    from dgl import DGLGraph
    from torch import Tensor

NO_SOURCE = -1
RECORD, FOLLOWS = "record", "follows"
"""Types of edges: of a response and what it used, and of passages that follow one another."""

_NODES = "gor.record_nodes"


@dataclass(frozen=True)
class RecordGraph:
    """One document's nodes, edges and, if it is used for training, questions.

    Attributes
    ----------
    node_ids : chunks by position, then responses by round, `(n_nodes,)`.
    kinds : 'chunk' or 'response', `(n_nodes,)`.
    features : embeddings of the nodes' texts, float32 `(n_nodes, dim)`.
    edges : retrieved nodes and the responses that used them, int64 `(2, n_edges)`, each pair once.
    queries : embeddings of the questions, float32 `(n_queries, dim)`.
    rankings : nodes by similarity to each question's source, best first: the paper's M_i, int64
        `(n_queries, n_nodes)`.
    sources : source node of each question, int64 `(n_queries,)`; NO_SOURCE for a question without
        one, such as a global question.
    query_ids : ids of the questions, `(n_queries,)`.
    positives : the nodes to be found for each question, bool `(n_queries, n_nodes)`, one at least;
        they are ranked among the nodes of those kinds that have a positive. None: the paper's
        objective, the first of each ranking among all nodes.
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
    positives: np.ndarray | None = None

    @property
    def n_nodes(self) -> int:
        """Number of nodes: chunks and responses."""
        return len(self.node_ids)

    @property
    def n_queries(self) -> int:
        """Number of training questions."""
        return len(self.queries)

    @property
    def is_ranked(self) -> np.ndarray:
        """Whether a node is of a kind that has a positive, bool `(n_nodes,)`."""
        if self.positives is None:
            return np.ones(self.n_nodes, bool)
        return np.isin(self.kinds, self.kinds[self.positives.any(0)])

    def as_dgl(self, direction: Direction, neighbours: bool = False) -> "DGLGraph":
        """Return the graph with `features` as `feat`, and a self-loop at each node (A.4).

        Parameters
        ----------
        direction : direction of messages along an edge.
        neighbours : whether passages that follow one another have edges, both ways and of the type
            FOLLOWS; the other edges are then of the type RECORD.
        """
        import dgl
        import torch

        graph = dgl.graph(tuple(torch.from_numpy(self.edges)), num_nodes=self.n_nodes)
        if direction == "to_retrieved":
            graph = dgl.reverse(graph)
        elif direction == "both":
            graph = dgl.to_bidirected(graph)
        graph = dgl.add_self_loop(graph)
        if neighbours:
            before = torch.arange(max(0, int((self.kinds == "chunk").sum()) - 1))
            loops = torch.arange(self.n_nodes)
            ends = torch.cat([before, before + 1, loops]), torch.cat([before + 1, before, loops])
            edges = {("node", RECORD, "node"): graph.edges(), ("node", FOLLOWS, "node"): ends}
            graph = dgl.convert.heterograph(edges, {"node": self.n_nodes})
        graph.ndata["feat"] = torch.tensor(self.features)
        return graph


@dataclass(frozen=True)
class Batch:
    """Several graphs joined into one, with all their questions.

    Attributes
    ----------
    graph : a `dgl.batch` of record graphs.
    queries : embeddings of the questions, `(n_queries, dim)`.
    ranked : the nodes of each question's graph, best first, question after question, as flat
        indices into the matrix `(n_queries, n_nodes)`.
    ranked_shapes : numbers of questions and nodes of each graph, by which `ranked` is split.
    positives : nodes to be found for each question, bool `(n_queries, n_nodes)`; None: the first of
        each ranking.
    is_ranked : nodes of a kind that has a positive, bool `(n_nodes,)`.
    """

    graph: "DGLGraph"
    queries: "Tensor"
    ranked: "Tensor" = field(repr=False)
    ranked_shapes: tuple[tuple[int, int], ...]
    positives: "Tensor | None"
    is_ranked: "Tensor"

    @property
    def features(self) -> "Tensor":
        """Embeddings of the nodes' texts, `(n_nodes, dim)`."""
        return cast("Tensor", self.graph.ndata["feat"])

    def to(self, device: "torch.device | str") -> "Batch":
        """Return the batch moved to a device."""
        graph, queries = self.graph.to(device), self.queries.to(device)
        positives = None if self.positives is None else self.positives.to(device)
        ranked, is_ranked = self.ranked.to(device), self.is_ranked.to(device)
        return Batch(graph, queries, ranked, self.ranked_shapes, positives, is_ranked)


def side_by_side(
    graphs: Sequence[RecordGraph], direction: Direction, neighbours: bool = False
) -> Batch:
    """Join several graphs, at least one, into one batch; all or none of them have positives."""
    import dgl
    import torch

    first = np.cumsum([0, *(graph.n_nodes for graph in graphs)])
    n_nodes, row, flat = int(first[-1]), 0, []
    for graph, at in zip(graphs, first, strict=False):
        rows = row + np.arange(graph.n_queries)
        flat.append((rows[:, None] * n_nodes + at + graph.rankings).ravel())
        row += graph.n_queries
    positives = [torch.from_numpy(g.positives) for g in graphs if g.positives is not None]
    return Batch(
        graph=dgl.batch([graph.as_dgl(direction, neighbours) for graph in graphs]),
        queries=torch.from_numpy(np.concatenate([graph.queries for graph in graphs])),
        ranked=torch.from_numpy(np.concatenate(flat)),
        ranked_shapes=tuple((graph.n_queries, graph.n_nodes) for graph in graphs),
        positives=torch.block_diag(*positives) if positives else None,
        is_ranked=torch.from_numpy(np.concatenate([graph.is_ranked for graph in graphs])),
    )


def record_graphs(record_nodes: pa.Table, record_edges: pa.Table) -> list[RecordGraph]:
    """Return the graphs of all documents without questions, ordered by document id.

    Parameters
    ----------
    record_nodes : node_id, document_id, kind, position, embedding; any order.
    record_edges : source_id, target_id, document_id; any order.

    Raises
    ------
    ValueError
        If an edge has an end that is not a node, or embeddings differ in length.
    """
    order = ("kind", "position", "node_id")
    documents = _by_document(record_nodes, (*order, "embedding"), order)
    edges = _by_document(record_edges, ("source_id", "target_id"))
    graphs = []
    for document_id, nodes in documents.items():
        ids, features = nodes["node_id"].combine_chunks(), _matrix(nodes["embedding"], document_id)
        at, of_document = f"gor.record_edges of '{document_id}'", edges[document_id]
        ends = [_positions(of_document[end], ids, at, _NODES) for end in ("source_id", "target_id")]
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

    For training on global references the same tables hold other rows; a question without a source
    has no chunk_id.

    Parameters
    ----------
    simulated_queries : query_id, document_id, chunk_id.
    historical_responses : query_id, document_id, round, query_embedding; only questions with a
        response are used.
    node_rankings : query_id, document_id, node_id, rank.

    Raises
    ------
    ValueError
        In the cases of `record_graphs`, or if a question does not rank all nodes of its document.
    """
    answered = _by_document(historical_responses, ("query_id", "query_embedding"), ("round",))
    sources = _by_document(simulated_queries, ("query_id", "chunk_id"))
    ranked = _by_document(node_rankings, ("query_id", "node_id", "rank"))
    graphs = record_graphs(record_nodes, record_edges)
    return [
        _with_questions(g, answered[g.document_id], sources[g.document_id], ranked[g.document_id])
        for g in graphs
        if g.document_id in answered
    ]


def _with_questions(
    graph: RecordGraph, answered: pa.Table, simulated: pa.Table, ranked: pa.Table
) -> RecordGraph:
    nodes, queries = pa.array(graph.node_ids), answered["query_id"].combine_chunks()
    at = f"gor.node_rankings of '{graph.document_id}'"
    ranked = ranked.filter(pc.is_in(ranked["query_id"], queries))
    question = _positions(ranked["query_id"], queries, at, "gor.historical_responses")
    counts = np.bincount(question, minlength=len(queries))
    if (wrong := counts != graph.n_nodes).any():
        first = int(wrong.argmax())
        raise ValueError(
            f"{at}: {wrong.sum()} of {len(queries)} questions do not rank each of the "
            f"{graph.n_nodes} nodes once (first: {queries[first]}, {counts[first]} nodes); "
            "materialize gor/node_rankings again"
        )
    order = np.lexsort((ranked["rank"].to_numpy(), question))
    simulated_ids = simulated["query_id"].combine_chunks()
    rows = _positions(queries, simulated_ids, "gor.historical_responses", "gor.simulated_queries")
    sources = pc.index_in(simulated["chunk_id"].take(pa.array(rows)), nodes)
    return replace(
        graph,
        queries=_matrix(answered["query_embedding"], graph.document_id),
        rankings=_positions(ranked["node_id"], nodes, at, _NODES)[order].reshape(-1, graph.n_nodes),
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


def _positions(
    ids: pa.Array | pa.ChunkedArray, among: pa.Array, at: str, elsewhere: str
) -> np.ndarray:
    """Return the position in `among`, a column of table `elsewhere`, of each id of table `at`."""
    positions = pc.index_in(ids, among)
    if positions.null_count:
        missing = ids.filter(pc.is_null(positions))
        raise ValueError(
            f"{at}: {len(missing)} of {len(ids)} ids are not in {elsewhere} (first: {missing[0]}); "
            "materialize both again"
        )
    return positions.to_numpy().astype(np.int64)


def _matrix(column: pa.ChunkedArray, document_id: str) -> np.ndarray:
    """Return a list column as a matrix, float32 `(n_rows, dim)`."""
    lengths = pc.unique(pc.list_value_length(column)).to_pylist()
    if len(lengths) > 1:
        raise ValueError(
            f"gor: embeddings of '{document_id}' have lengths {sorted(lengths)}; they come from "
            "different models; materialize gor/record_nodes again"
        )
    return column.combine_chunks().flatten().to_numpy().reshape(len(column), *lengths)
