"""How well a question finds the passage that it was asked of, before and after training.

A simulated question has one passage that answers it, so its rank shows whether the network learnt
anything that holds for documents that it was not trained on. What counts is the rank among chunks:
"before" is then plain dense retrieval. Among all nodes "before" is low because responses, which
repeat passages, stand ahead of them: leaving them out gains most of what training gains there.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from gsum_assets.gor.graphs import NO_SOURCE, RecordGraph
from gsum_assets.tables import TABLES
from gsum_resources.arrow import pc


class SourceRanks(NamedTuple):
    """Of each question with a source; equal scores count against the source.

    Attributes
    ----------
    among_nodes, among_chunks : rank of the source from 1, int64 `(n_questions,)`.
    entropy : of the softmax over the question's similarities to all nodes of its document, nats,
        `(n_questions,)`.
    """

    among_nodes: np.ndarray
    among_chunks: np.ndarray
    entropy: np.ndarray


def source_ranks(graph: RecordGraph, embeddings: np.ndarray, temperature: float) -> SourceRanks:
    """Rank each question's source by inner product with `embeddings`, `(n_nodes, dim)`.

    Parameters
    ----------
    embeddings : of the nodes, trained ones or the graph's own features.
    temperature : that similarities are divided by for the softmax.
    """
    asked = np.flatnonzero(graph.sources != NO_SOURCE)
    scores = graph.queries[asked] @ embeddings.T  # (n_questions, n_nodes)
    own = scores[np.arange(len(asked)), graph.sources[asked]]
    is_ahead = scores >= own[:, None]
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
    graphs : with their questions.
    node_embeddings : rows of `gor.node_embeddings` with those of all nodes, in any order.
    learnt_from : ids of the documents that the network was trained on.
    temperature : see `source_ranks`.
    """
    schema, parts = TABLES["gor.source_ranks"].schema, []
    ids = node_embeddings["node_id"].combine_chunks()
    flat = node_embeddings["embedding"].combine_chunks().flatten().to_numpy()
    for graph in graphs:
        places = pc.index_in(pa.array(graph.node_ids.tolist()), ids).to_numpy()
        trained = flat.reshape(len(ids), -1)[places]
        before = source_ranks(graph, graph.features, temperature)
        after = source_ranks(graph, trained, temperature)
        asked = np.flatnonzero(graph.sources != NO_SOURCE)
        columns = {
            "query_id": graph.query_ids[asked],
            "document_id": [graph.document_id] * len(asked),
            "is_learnt": [graph.document_id in learnt_from] * len(asked),
            "chunk_rank_before": before.among_chunks,
            "chunk_rank": after.among_chunks,
            "rank_before": before.among_nodes,
            "rank": after.among_nodes,
            "entropy_before": before.entropy,
            "entropy": after.entropy,
        }
        parts.append(pa.table(columns, schema))
    return pa.concat_tables(parts) if parts else schema.empty_table()


def mean_reciprocal_ranks(rows: pa.Table) -> dict[str, float]:
    """Return means over the questions of documents that were learnt from, and of the others.

    Parameters
    ----------
    rows : of `gor.source_ranks`.
    """
    means = {}
    for name, is_learnt in {
        "documents never learnt from": False,
        "documents learnt from": True,
    }.items():
        mine = rows.filter(pc.equal(rows["is_learnt"], is_learnt))
        if mine.num_rows:
            for column, ranked in _RANKED.items():
                mean = float(np.mean(1 / mine[column].to_numpy()))
                means[f"MRR of the source {ranked}, {name}"] = mean
    return means


_RANKED = {
    "chunk_rank_before": "among chunks, dense",
    "chunk_rank": "among chunks, trained",
    "rank_before": "among all nodes, by their texts",
    "rank": "among all nodes, trained",
}
