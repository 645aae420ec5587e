"""Checks of record graphs and of the networks trained on them."""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from gsum_assets.pipeline.check import Check
from gsum_assets.pipeline.finding import SHOWN, Finding, count, found, together
from gsum_assets.statistics.comparisons import SIGNIFICANT, can_differ, compare
from gsum_resources.store.arrow import pc


def are_chunks_and_responses(nodes: pa.Table, chunks: pa.Table, responses: pa.Table) -> Finding:
    """Check that the nodes are exactly the chunks and the responses of their documents.

    Parameters
    ----------
    nodes : `node_id` and `document_id`.
    chunks, responses : `chunk_id` or `response_id`, and `document_id`, of the same buckets.
    """
    wanted = pa.concat_tables(
        [
            chunks.select(["chunk_id", "document_id"]).rename_columns(["node_id", "document_id"]),
            responses.select(["response_id", "document_id"]).rename_columns(
                ["node_id", "document_id"]
            ),
        ]
    )
    remedy = "materialize gor/record_nodes again"
    return together(
        [
            found(
                count(nodes.num_rows, "node"),
                _absent(nodes, wanted),
                f"are neither a chunk nor a response; {remedy}",
            ),
            found(
                count(wanted.num_rows, "chunk or response", "chunks and responses"),
                _absent(wanted, nodes),
                f"have no node; {remedy}",
            ),
        ]
    )


def join_nodes(edges: pa.Table, nodes: pa.Table) -> Finding:
    """Check that each edge leads from a node to a later response of the same document.

    Parameters
    ----------
    nodes : `node_id`, `document_id`, `kind` and `position` of the same buckets.
    """
    ids = nodes["node_id"].combine_chunks()
    source, target = (pc.index_in(edges[end], ids) for end in ("source_id", "target_id"))

    def of(column: str, rows: pa.ChunkedArray) -> pa.ChunkedArray:
        return nodes[column].take(rows)

    is_older = pc.or_(
        pc.equal(of("kind", source), "chunk"),
        pc.less(of("position", source), of("position", target)),
    )
    is_within = pc.and_(
        pc.equal(of("document_id", source), edges["document_id"]),
        pc.equal(of("document_id", target), edges["document_id"]),
    )
    to_response = pc.equal(of("kind", target), "response")
    right = pc.fill_null(pc.and_(pc.and_(is_older, is_within), to_response), False)
    return found(
        count(edges.num_rows, "edge"),
        edges.select(["document_id", "source_id", "target_id"]).filter(pc.invert(right)),
        "do not lead from a node to a later response of its document; materialize "
        "gor/record_edges again",
    )


def source_comes_first(rankings: pa.Table, queries: pa.Table) -> Finding:
    """Check that no node resembles a question's source passage more than the passage itself.

    Parameters
    ----------
    rankings : `query_id`, `node_id` and `f1`.
    queries : `query_id` and `chunk_id` of simulated questions of the same buckets.
    """
    best = rankings.group_by("query_id", use_threads=False).aggregate([("f1", "max")])
    own = rankings.select(["query_id", "node_id", "f1"]).join(
        queries.select(["query_id", "chunk_id"]).rename_columns(["query_id", "node_id"]),
        ["query_id", "node_id"],
        join_type="inner",
    )
    both = best.join(own, "query_id", join_type="left outer")
    is_first = pc.fill_null(pc.greater_equal(both["f1"], both["f1_max"]), False)
    return found(
        count(both.num_rows, "question"),
        both.select(["query_id", "node_id", "f1", "f1_max"]).filter(pc.invert(is_first)),
        "do not rank their own source first; materialize gor/node_rankings again",
    )


def loss_falls(log: pa.Table) -> Finding:
    """Check that losses are finite and that the last epoch's loss is below the first's."""
    examined = count(log.num_rows, "epoch")
    if log.num_rows < 2:
        return Finding(examined)
    losses = log.sort_by("epoch")["loss"].to_numpy()
    wrong = log.filter(pc.invert(pc.is_finite(log["loss"])))
    if wrong.num_rows:
        return found(examined, wrong, "have a loss that is not finite; lower learning_rate")
    if losses[-1] < losses[0]:
        return Finding(examined)
    problem = (
        f"{examined}: the loss went from {losses[0]:.4g} to {losses[-1]:.4g}; inspect the curves "
        "of gor/training_log, and change learning_rate or epochs"
    )
    return Finding(examined, problem, 1, log.slice(0, SHOWN).to_pylist())


def training_helps(ranks: pa.Table) -> Finding:
    """Check that the network ranks passages of unseen documents better than dense retrieval does.

    The reciprocal ranks of each question's source among the chunks are compared. The check passes
    if nothing was trained or the questions are too few to show a difference.

    Parameters
    ----------
    ranks : rows of `gor.source_ranks` of one method.
    """
    unseen = ranks.filter(pc.invert(ranks["is_learnt"]))
    examined = f"{count(unseen.num_rows, 'question')} of documents not learnt from"
    is_untrained = unseen["rank"].equals(unseen["rank_before"])
    if is_untrained or not can_differ(unseen.num_rows):
        return Finding(examined)
    dense, trained = (1 / unseen[name].to_numpy() for name in ("chunk_rank_before", "chunk_rank"))
    found = compare(trained.tolist(), dense.tolist())
    is_different = found.p_value <= SIGNIFICANT
    if is_different and found.difference > 0:
        return Finding(examined)
    change = "falls" if is_different else "does not rise significantly"
    problem = (
        f"{examined}: mean reciprocal rank of the source among chunks {change}, from "
        f"{dense.mean():.3f} by dense retrieval to {trained.mean():.3f} by the network "
        f"(p = {found.p_value:.2g}): training finds passages no better than `dense`, which costs "
        "nothing; train on more documents, or take dense"
    )
    offender = {"dense": float(dense.mean()), "trained": float(trained.mean())}
    return Finding(examined, problem, 1, [offender | found._asdict()])


def _absent(rows: pa.Table, others: pa.Table) -> pa.Table:
    """Return the nodes of `rows` that are not in `others`."""
    known = pc.is_in(rows["node_id"], value_set=others["node_id"].combine_chunks())
    return rows.select(["node_id", "document_id"]).filter(pc.invert(known))


CHECKS: Mapping[str, Sequence[Check]] = {
    "gor.record_nodes": [
        Check(
            "are_chunks_and_responses",
            "The nodes are the chunks and the responses of their documents.",
            lambda partition: are_chunks_and_responses(
                partition.rows(columns=["node_id", "document_id"]),
                partition.rows("chunks", ["chunk_id", "document_id"]),
                partition.rows("gor.historical_responses", ["response_id", "document_id"]),
            ),
        )
    ],
    "gor.record_edges": [
        Check(
            "join_nodes",
            "Each edge leads from a node to a later response of the same document.",
            lambda partition: join_nodes(
                partition.rows(),
                partition.rows("gor.record_nodes", ["node_id", "document_id", "kind", "position"]),
            ),
        )
    ],
    "gor.node_rankings": [
        Check(
            "source_comes_first",
            "No node is more similar to a question's source passage than that passage itself.",
            lambda partition: source_comes_first(
                partition.rows(columns=["query_id", "node_id", "f1"]),
                partition.rows("gor.simulated_queries", ["query_id", "chunk_id"]),
            ),
        )
    ],
    "gor.training_log": [
        Check(
            "loss_falls",
            "Losses are finite, and the last epoch's loss is below the first's.",
            lambda partition: loss_falls(partition.rows()),
            warns=True,
        )
    ],
    "gor.source_ranks": [
        Check(
            "training_helps",
            "On documents not learnt from, the trained network ranks a question's source among "
            "the chunks higher than dense retrieval does.",
            lambda partition: training_helps(partition.rows()),
            warns=True,
        )
    ],
}
