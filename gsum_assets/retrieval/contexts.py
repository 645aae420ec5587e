"""Contexts from rankings: the passages that the language model reads."""

from collections.abc import Iterator

import pyarrow as pa

from gsum_assets.retrieval.full_context import spans
from gsum_assets.retrieval.settings import RetrievalSettings
from gsum_assets.tables import TABLES
from gsum_resources.arrow import pc, rows_at
from gsum_resources.content_hash import hash_texts


def top_contexts(rankings: pa.Table, chunks: pa.Table, k: int) -> pa.Table:
    """Return the `k` best chunks of each question, as rows of `contexts`.

    Raises
    ------
    ValueError
        If a ranked chunk is not in the corpus.
    """
    best = rankings.filter(
        pc.and_(pc.equal(rankings["level"], "node"), pc.less_equal(rankings["rank"], k))
    ).sort_by([("query_id", "ascending"), ("rank", "ascending")])
    found = pc.index_in(best["item_id"], value_set=chunks["chunk_id"].combine_chunks())
    if found.null_count:
        first = best.filter(pc.is_null(found))["item_id"][0].as_py()
        raise ValueError(
            f"contexts: {found.null_count} ranked chunks are not in the corpus (first: "
            f"'{first}'); materialize rankings again"
        )
    context_chunks = rows_at(chunks, found)
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


def full_contexts(queries: pa.Table, chunks: pa.Table, settings: RetrievalSettings) -> pa.Table:
    """Return everything in a question's scope, in reading order, or random spans of it.

    Spans are drawn if the scope is too long. Each is a separate context (column `sample`).
    """
    ordered = chunks.sort_by([("document_id", "ascending"), ("position", "ascending")]).to_pylist()
    by_document: dict[str | None, list[dict]] = {None: ordered}
    for chunk in ordered:
        by_document.setdefault(chunk["document_id"], []).append(chunk)
    rows = [
        row
        for query in queries.sort_by("query_id").to_pylist()
        for row in _whole(query["query_id"], by_document.get(query["document_id"], []), settings)
    ]
    return pa.Table.from_pylist(rows, TABLES["contexts"].schema)


def _whole(query_id: str, chunks: list[dict], settings: RetrievalSettings) -> Iterator[dict]:
    tokens = [chunk["n_tokens"] for chunk in chunks]
    scope = chunks[0]["document_id"] if chunks else ""
    seed = int(hash_texts([scope, query_id], 4), 16)
    for sample, span in enumerate(spans(tokens, settings.window_tokens, settings.n_spans, seed)):
        for rank, chunk in enumerate((chunks[i] for i in span), start=1):
            yield {
                "query_id": query_id,
                "sample": sample,
                "rank": rank,
                "node_id": chunk["chunk_id"],
                "node_kind": "chunk",
                "document_id": chunk["document_id"],
                "position": chunk["position"],
                "score": 0.0,
                "text": chunk["text"],
            }
