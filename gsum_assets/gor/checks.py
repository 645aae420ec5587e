"""Whether training worked: ranks of the source passages before and after it, and checks.

The rank of the passage that answers a simulated question, among chunks, shows whether the network
generalizes to documents that it was not trained on; "before" is dense retrieval.
"""

from collections.abc import Collection, Sequence

import numpy as np
import pyarrow as pa

from gsum_assets.gor.graphs import NO_SOURCE, RecordGraph
from gsum_assets.pipeline.result import Check, Finding, count
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.statistics.comparisons import SIGNIFICANT, can_differ, compare
from gsum_resources.store.arrow import pc


def source_ranks(
    graph: RecordGraph, embeddings: np.ndarray, temperature: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rank the source of each question that has one; equal scores count as ahead of it.

    From node embeddings, `(n_nodes, dim)`, return the ranks among chunks and among all nodes, from
    1, and the entropy, nats, of the softmax over the similarities to all nodes, divided by
    `temperature`; each `(n_questions,)`.
    """
    with_source = np.flatnonzero(graph.sources != NO_SOURCE)
    scores = graph.queries[with_source] @ embeddings.T  # (n_questions, n_nodes)
    source_scores = scores[np.arange(len(with_source)), graph.sources[with_source]]
    is_ahead = scores >= source_scores[:, None]
    logits = scores / temperature
    logits = logits - logits.max(axis=1, keepdims=True)
    shares = np.exp(logits)
    totals = shares.sum(axis=1)
    entropy = np.log(totals) - (shares * logits).sum(axis=1) / totals
    return is_ahead[:, graph.kinds == "chunk"].sum(axis=1), is_ahead.sum(axis=1), entropy


def source_rank_rows(
    graphs: Sequence[RecordGraph],
    node_embeddings: pa.Table,
    learnt_from: Collection[str],
    temperature: float,
) -> pa.Table:
    """Return the rows of `gor.source_ranks`.

    `learnt_from` are the ids of the documents that the network was trained on.
    """
    schema = TABLES["gor.source_ranks"].schema
    tables = [TABLES["gor.source_ranks"].empty()]
    ids = node_embeddings["node_id"].combine_chunks()
    flat = node_embeddings["embedding"].combine_chunks().flatten().to_numpy()
    for graph in graphs:
        indices = pc.index_in(pa.array(graph.node_ids.tolist()), ids).to_numpy()
        trained = flat.reshape(len(ids), -1)[indices]
        query_ids = graph.query_ids[graph.sources != NO_SOURCE]
        columns = {
            "query_id": query_ids,
            "document_id": [graph.document_id] * len(query_ids),
            "is_learnt": [graph.document_id in learnt_from] * len(query_ids),
        }
        for suffix, vectors in (("_before", graph.features), ("", trained)):
            names = (f"{name}{suffix}" for name in ("chunk_rank", "rank", "entropy"))
            values = source_ranks(graph, vectors, temperature)
            columns |= dict(zip(names, values, strict=True))
        tables.append(pa.table(columns, schema))
    return pa.concat_tables(tables)


def training_helps(ranks: pa.Table) -> Finding:
    """Check that the reciprocal rank of sources in unseen documents beats that of dense retrieval.

    The check passes if nothing was trained or the questions are too few to show a difference.
    """
    unseen = ranks.filter(pc.invert(ranks["is_learnt"]))
    examined = f"{count(unseen.num_rows, 'question')} of documents not learnt from"
    is_untrained = unseen["rank"].equals(unseen["rank_before"])
    if is_untrained or not can_differ(unseen.num_rows):
        return Finding(examined)
    dense, trained = (1 / unseen[name].to_numpy() for name in ("chunk_rank_before", "chunk_rank"))
    comparison = compare(trained.tolist(), dense.tolist())
    is_different = comparison.p_value <= SIGNIFICANT
    if is_different and comparison.difference > 0:
        return Finding(examined)
    change = "falls" if is_different else "does not rise significantly"
    problem = (
        f"{examined}: mean reciprocal rank of the source among chunks {change}, from "
        f"{dense.mean():.3f} by dense retrieval to {trained.mean():.3f} by the network "
        f"(p = {comparison.p_value:.2g}): training finds passages no better than `dense`, which "
        "costs nothing; train on more documents, or take dense"
    )
    offender = {"dense": float(dense.mean()), "trained": float(trained.mean())}
    return Finding(examined, problem, 1, [offender | comparison._asdict()])


TRAINING_HELPS = Check(
    "training_helps",
    "On documents not learnt from, the trained network ranks a question's source among the chunks "
    "higher than dense retrieval does.",
    lambda partition: training_helps(partition.rows()),
    warns=True,
)
