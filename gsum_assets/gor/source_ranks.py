"""Ranks of the source passages of simulated questions, before and after training.

A simulated question has one passage that answers it, so the rank of that passage shows whether the
network generalizes to documents that it was not trained on. The relevant rank is the one among
chunks, where "before" is dense retrieval. Among all nodes the ranks before training are worse
because responses, which repeat passages, come ahead of them; most of the gain of training there
equals that of leaving responses out.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from gsum_assets.gor.graphs import NO_SOURCE, RecordGraph
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.store.arrow import pc


class SourceRanks(NamedTuple):
    """Ranks of each question's source; nodes with an equal score count as ahead of it.

    Attributes
    ----------
    among_nodes, among_chunks : rank of the source from 1, int64 `(n_questions,)`.
    entropy : entropy of the softmax over the question's similarities to all nodes of its document,
        nats, `(n_questions,)`.
    """

    among_nodes: np.ndarray
    among_chunks: np.ndarray
    entropy: np.ndarray


def source_ranks(graph: RecordGraph, embeddings: np.ndarray, temperature: float) -> SourceRanks:
    """Rank each question's source by inner product with `embeddings`, `(n_nodes, dim)`.

    Parameters
    ----------
    embeddings : node embeddings, either trained ones or the graph's own features.
    temperature : divisor of the similarities in the softmax.
    """
    with_source = np.flatnonzero(graph.sources != NO_SOURCE)
    scores = graph.queries[with_source] @ embeddings.T  # (n_questions, n_nodes)
    source_scores = scores[np.arange(len(with_source)), graph.sources[with_source]]
    is_ahead = scores >= source_scores[:, None]
    logits = scores / temperature
    logits = logits - logits.max(axis=1, keepdims=True)
    shares = np.exp(logits)
    totals = shares.sum(axis=1)
    return SourceRanks(
        among_nodes=is_ahead.sum(axis=1),
        among_chunks=is_ahead[:, graph.kinds == "chunk"].sum(axis=1),
        entropy=np.log(totals) - (shares * logits).sum(axis=1) / totals,
    )


def source_rank_rows(
    graphs: Sequence[RecordGraph],
    node_embeddings: pa.Table,
    learnt_from: Collection[str],
    temperature: float,
) -> pa.Table:
    """Return the rows of `gor.source_ranks`.

    Parameters
    ----------
    graphs : graphs with questions.
    node_embeddings : rows of `gor.node_embeddings` of all nodes, in any order.
    learnt_from : ids of the documents that the network was trained on.
    temperature : see `source_ranks`.
    """
    schema, tables = TABLES["gor.source_ranks"].schema, []
    ids = node_embeddings["node_id"].combine_chunks()
    flat = node_embeddings["embedding"].combine_chunks().flatten().to_numpy()
    for graph in graphs:
        indices = pc.index_in(pa.array(graph.node_ids.tolist()), ids).to_numpy()
        trained = flat.reshape(len(ids), -1)[indices]
        before = source_ranks(graph, graph.features, temperature)
        after = source_ranks(graph, trained, temperature)
        with_source = np.flatnonzero(graph.sources != NO_SOURCE)
        columns = {
            "query_id": graph.query_ids[with_source],
            "document_id": [graph.document_id] * len(with_source),
            "is_learnt": [graph.document_id in learnt_from] * len(with_source),
            "chunk_rank_before": before.among_chunks,
            "chunk_rank": after.among_chunks,
            "rank_before": before.among_nodes,
            "rank": after.among_nodes,
            "entropy_before": before.entropy,
            "entropy": after.entropy,
        }
        tables.append(pa.table(columns, schema))
    return pa.concat_tables(tables) if tables else schema.empty_table()


def mean_reciprocal_ranks(rows: pa.Table) -> dict[str, float]:
    """Return mean reciprocal ranks of questions of training documents and of the others.

    Parameters
    ----------
    rows : rows of `gor.source_ranks`.
    """
    means = {}
    for name, is_learnt in {
        "documents never learnt from": False,
        "documents learnt from": True,
    }.items():
        of_kind = rows.filter(pc.equal(rows["is_learnt"], is_learnt))
        if of_kind.num_rows:
            for column, ranked in _RANKED.items():
                mean = float(np.mean(1 / of_kind[column].to_numpy()))
                means[f"MRR of the source {ranked}, {name}"] = mean
    return means


_RANKED = {
    "chunk_rank_before": "among chunks, dense",
    "chunk_rank": "among chunks, trained",
    "rank_before": "among all nodes, by their texts",
    "rank": "among all nodes, trained",
}
