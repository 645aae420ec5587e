"""Contexts from rankings: the passages that the language model reads."""

import numpy as np
import pyarrow as pa

from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.full_context import spans
from gsum_resources.store.arrow import pc, rows_at
from gsum_resources.store.content_hash import hash_texts


def top_contexts(rankings: pa.Table, chunks: pa.Table, k: int) -> pa.Table:
    """Return the `k` best chunks of each question, as rows of `contexts`.

    Raises
    ------
    ValueError
        If a ranked chunk is not in the corpus.
    """
    best = best_chunks(rankings, k).sort_by([("query_id", "ascending"), ("rank", "ascending")])
    indices = pc.index_in(best["item_id"], value_set=chunks["chunk_id"].combine_chunks())
    if indices.null_count:
        first = best.filter(pc.is_null(indices))["item_id"][0].as_py()
        raise ValueError(
            f"contexts: {indices.null_count} ranked chunks are not in the corpus (first: "
            f"'{first}'); materialize rankings again"
        )
    context_chunks = rows_at(chunks, indices)
    n = best.num_rows
    return pa.table(
        {
            "query_id": best["query_id"],
            "sample": pa.repeat(pa.scalar(0, pa.int32()), n),
            "rank": best["rank"],
            "node_id": best["item_id"],
            "node_kind": pa.repeat("chunk", n),
            "document_id": context_chunks["document_id"],
            "position": context_chunks["position"],
            "score": best["score"],
            "text": context_chunks["text"],
        },
        schema=TABLES["contexts"].schema,
    )


def best_chunks(rankings: pa.Table, k: int) -> pa.Table:
    """Return the rows of the `k` best chunks of each question."""
    is_chunk = pc.equal(rankings["level"], "node")
    return rankings.filter(pc.and_(is_chunk, pc.less_equal(rankings["rank"], k)))


def full_contexts(
    queries: pa.Table, chunks: pa.Table, window_tokens: int, n_spans: int = 1
) -> pa.Table:
    """Return everything in a question's scope, in reading order, or random spans of it.

    `n_spans` spans are drawn if the scope has more than `window_tokens` word pieces. Each is a
    separate context (column `sample`).
    """
    if not queries.num_rows:  # chunks are not sorted for nothing
        return TABLES["contexts"].empty()
    keys = [("document_id", "ascending"), ("position", "ascending")]
    order = (
        pc.sort_indices(chunks.select(["document_id", "position"]), keys)
        .to_numpy()
        .astype(np.int64)
    )
    owners = chunks["document_id"].to_numpy()[order]
    documents, starts = np.unique(owners, return_index=True)
    ends = np.append(starts[1:], len(order))
    scopes: dict[str | None, tuple[int, int]] = {None: (0, len(order))}
    for document_id, first, last in zip(documents, starts.tolist(), ends.tolist(), strict=True):
        scopes[document_id] = first, last
    tokens = chunks["n_tokens"].to_numpy()[order]
    runs_of: list[tuple[str, int, np.ndarray]] = []
    for query in queries.select(["query_id", "document_id"]).sort_by("query_id").to_pylist():
        query_id, scope = query["query_id"], slice(*scopes.get(query["document_id"], (0, 0)))
        first = owners[scope.start] if scope.stop else ""
        seed = int(hash_texts([first, query_id], 4), 16)
        runs = spans(tokens[scope], window_tokens, n_spans, seed)
        runs_of += [(query_id, i, order[scope][run.start : run.stop]) for i, run in enumerate(runs)]
    rows = np.concatenate([np.empty(0, np.int64), *(rows for *_, rows in runs_of)])
    chosen, n = rows_at(chunks, rows), len(rows)
    return pa.table(
        {
            "query_id": pa.array([q for q, _, read in runs_of for _ in read], pa.string()),
            "sample": pa.array([i for _, i, read in runs_of for _ in read], pa.int32()),
            "rank": pa.array(
                [r for *_, read in runs_of for r in range(1, len(read) + 1)], pa.int32()
            ),
            "node_id": chosen["chunk_id"],
            "node_kind": pa.repeat("chunk", n),
            "document_id": chosen["document_id"],
            "position": chosen["position"],
            "score": np.zeros(n),
            "text": chosen["text"],
        },
        schema=TABLES["contexts"].schema,
    )
