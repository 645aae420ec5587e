"""Contexts: the passages, or nodes with texts written from passages, that the model reads."""

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import pyarrow as pa

from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection
from gsum_resources.store.arrow import pc, rows_at
from gsum_resources.store.content_hash import hash_texts

N_SPANS = 3
"""Random spans that `full_context` takes of a longer text (Graph of Records, appendix)."""
_COLUMNS = ["node_id", "kind", "document_id", "position", "text"]
_AFTER_CHUNKS = 1_000_000  # added to positions of written texts, which follow all passages
CountTokens = Callable[[Sequence[str]], Sequence[int]]


def best_chunks(rankings: pa.Table, k: int) -> pa.Table:
    """Return the rows of the `k` best chunks of each question."""
    is_chunk = pc.equal(rankings["level"], "node")
    return rankings.filter(pc.and_(is_chunk, pc.less_equal(rankings["rank"], k)))


def top_contexts(rankings: pa.Table, chunks: pa.Table, k: int) -> pa.Table:
    """Return the `k` best chunks of each question, as rows of `contexts`.

    Raises `ValueError` if a ranked chunk is not in the corpus.
    """
    best = best_chunks(rankings, k).sort_by([("query_id", "ascending"), ("rank", "ascending")])
    indices = pc.index_in(best["item_id"], value_set=chunks["chunk_id"].combine_chunks())
    if indices.null_count:
        first = best.filter(pc.is_null(indices))["item_id"][0].as_py()
        raise ValueError(
            f"contexts: {indices.null_count} ranked chunks are not in the corpus (first: "
            f"'{first}'); materialize rankings again"
        )
    samples = pa.repeat(pa.scalar(0, pa.int32()), best.num_rows)
    return _rows(best["query_id"], samples, best["rank"], rows_at(chunks, indices), best["score"])


def full_contexts(
    queries: pa.Table, chunks: pa.Table, window_tokens: int, n_spans: int = 1
) -> pa.Table:
    """Return everything in a question's scope, in reading order, or random spans of it.

    `n_spans` spans are drawn if the scope has more than `window_tokens` word pieces, each as a
    separate `sample` that is summarized by itself (Graph of Records, appendix on baselines).
    """
    if not queries.num_rows:  # chunks are not sorted for nothing
        return TABLES["contexts"].empty()
    keys = [("document_id", "ascending"), ("position", "ascending")]
    order = pc.sort_indices(chunks.select(["document_id", "position"]), keys).to_numpy()
    order = order.astype(np.int64)
    owners = chunks["document_id"].to_numpy()[order]
    documents, starts = np.unique(owners, return_index=True)
    bounds = [*starts.tolist(), len(order)]
    scopes: dict[str | None, slice] = {None: slice(0, len(order))}
    scopes |= {document: slice(*bounds[i : i + 2]) for i, document in enumerate(documents)}
    tokens = chunks["n_tokens"].to_numpy()[order]
    contexts: list[tuple[str, int, np.ndarray]] = []
    for query in queries.select(["query_id", "document_id"]).sort_by("query_id").to_pylist():
        scope = scopes.get(query["document_id"], slice(0, 0))
        first = owners[scope.start] if scope.stop else ""
        seed = int(hash_texts([first, query["query_id"]], 4), 16)
        for i, run in enumerate(spans(tokens[scope], window_tokens, n_spans, seed)):
            contexts.append((query["query_id"], i, order[scope][run.start : run.stop]))
    rows = np.concatenate([np.empty(0, np.int64), *(rows for *_, rows in contexts)])
    return _rows(
        pa.array([query_id for query_id, _, read in contexts for _ in read], pa.string()),
        pa.array([sample for _, sample, read in contexts for _ in read], pa.int32()),
        pa.array([i for *_, read in contexts for i in range(1, len(read) + 1)], pa.int32()),
        rows_at(chunks, rows),
        pa.array(np.zeros(len(rows))),
    )


def _rows(
    query_ids: pa.Array | pa.ChunkedArray,
    samples: pa.Array,
    ranks: pa.Array | pa.ChunkedArray,
    chunks: pa.Table,
    scores: pa.Array | pa.ChunkedArray,
) -> pa.Table:
    """Return rows of `contexts`, one for each of the chunks."""
    columns = {
        "query_id": query_ids,
        "sample": samples,
        "rank": ranks,
        "node_id": chunks["chunk_id"],
        "node_kind": pa.repeat("chunk", chunks.num_rows),
        "document_id": chunks["document_id"],
        "position": chunks["position"],
        "score": scores,
        "text": chunks["text"],
    }
    return pa.table(columns, schema=TABLES["contexts"].schema)


def spans(
    chunk_tokens: Sequence[int] | np.ndarray, window_tokens: int, n_spans: int, seed: int
) -> list[range]:
    """Return contiguous runs of chunks that fill the window, at random positions, ascending.

    Every run is as long as the window of `window_tokens` allows. There are `n_spans` of them, or
    fewer if fewer differ: one if the document fits, none without chunks.

    Raises `ValueError` if a chunk alone exceeds the window.
    """
    longest = np.max(chunk_tokens, initial=0)
    if longest > window_tokens:
        raise ValueError(
            f"full_context: a chunk of {longest} tokens exceeds the window of "
            f"{window_tokens}; cut shorter chunks or use a model with a longer window"
        )
    before = np.append(0, np.cumsum(np.asarray(chunk_tokens, dtype=np.int64)))
    # the end of the longest run from each chunk, up to the first run that reaches the end
    stops = np.searchsorted(before, before[:-1] + window_tokens, side="right") - 1
    stops = stops[: np.append(stops == len(chunk_tokens), True).argmax() + 1]
    chosen = np.arange(len(stops))
    if len(stops) > n_spans:
        chosen = np.random.default_rng(seed).choice(len(stops), size=n_spans, replace=False)
    return [range(start, int(stops[start])) for start in sorted(chosen.tolist())]


def node_collection(documents: pa.Table, nodes: pa.Table, vectors: pa.Table) -> Collection:
    """Return nodes as a collection that the baseline retrievers search.

    `nodes` has `node_id`, `kind` ("chunk" for passages), `document_id`, `position` and `text`,
    `vectors` has `node_id` and `embedding` of each, in any order.
    """
    is_written = pc.cast(pc.not_equal(nodes["kind"], "chunk"), pa.int32())
    as_chunks = pa.table(
        {
            "chunk_id": nodes["node_id"],
            "document_id": nodes["document_id"],
            "position": pc.add(nodes["position"], pc.multiply(is_written, _AFTER_CHUNKS)),
            "text": nodes["text"],
        }
    )
    embeddings = vectors.select(["node_id", "embedding"])
    return Collection.from_tables(
        documents, as_chunks, embeddings.rename_columns(["chunk_id", "embedding"])
    )


def top_nodes(rankings: pa.Table, nodes: pa.Table, k: int) -> pa.Table:
    """Return the `k` best nodes with distinct texts of each question, as rows of `contexts`."""
    return _node_contexts(rankings, nodes, lambda ranked: ranked[:k])


def nodes_within(
    rankings: pa.Table, nodes: pa.Table, budget_tokens: int, count_tokens: CountTokens
) -> pa.Table:
    """Return the best nodes with distinct texts of each question that fit a token budget together.

    A node that does not fit is skipped; later, shorter ones may fit.
    """
    n_tokens = cache(lambda text: count_tokens([text])[0])

    def fitting(ranked: list[dict]) -> list[dict]:
        chosen, left = [], budget_tokens
        for node in ranked:
            if n_tokens(node["text"]) <= left:
                chosen.append(node)
                left -= n_tokens(node["text"])
        return chosen

    return _node_contexts(rankings, nodes, fitting)


def _node_contexts(
    rankings: pa.Table, nodes: pa.Table, choose: Callable[[list[dict]], list[dict]]
) -> pa.Table:
    """Return what `choose` selects from each question's ranked nodes with distinct texts.

    A text that equals a passage is read as the passage, which has a source to name.
    """
    ranked = rankings.filter(pc.equal(rankings["level"], "node"))
    ranked = ranked.sort_by([("query_id", "ascending"), ("rank", "ascending")])
    are_ranked = pc.is_in(nodes["node_id"], pc.unique(ranked["item_id"]))
    node_of = {r["node_id"]: r for r in nodes.select(_COLUMNS).filter(are_ranked).to_pylist()}
    nodes_of: dict[str, dict[str, dict]] = {}
    for row in ranked.select(["query_id", "item_id", "score"]).to_pylist():
        node = node_of[row["item_id"]]
        by_text = nodes_of.setdefault(row["query_id"], {})
        best = by_text.setdefault(node["text"], {**node, "score": row["score"]})
        if node["kind"] == "chunk" and best["kind"] != "chunk":
            by_text[node["text"]] = {**node, "score": best["score"]}
    rows = [
        {"query_id": query_id, "sample": 0, "rank": rank, "node_kind": node["kind"]}
        | {name: node[name] for name in ("node_id", "document_id", "score", "text")}
        | {"position": node["position"] if node["kind"] == "chunk" else None}
        for query_id, by_text in nodes_of.items()
        for rank, node in enumerate(choose(list(by_text.values())), start=1)
    ]
    return pa.Table.from_pylist(rows, TABLES["contexts"].schema)
