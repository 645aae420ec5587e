"""Nodes, passages and texts written from them: as a collection, and the best of a question."""

from collections.abc import Callable, Sequence
from functools import cache

import pyarrow as pa

from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection
from gsum_resources.store.arrow import pc

_COLUMNS = ["node_id", "kind", "document_id", "position", "text"]
_AFTER_CHUNKS = 1_000_000  # added to positions of written texts, which follow all passages
CountTokens = Callable[[Sequence[str]], Sequence[int]]


def node_collection(documents: pa.Table, nodes: pa.Table, vectors: pa.Table) -> Collection:
    """Return nodes as a collection that the baseline retrievers search.

    Parameters
    ----------
    nodes : `node_id`, `kind`, `document_id`, `position`, `text` of passages, "chunk", and others.
    vectors : `node_id` and `embedding` of each node, in any order.
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
    return _contexts(rankings, nodes, lambda ranked: ranked[:k])


def nodes_within(
    rankings: pa.Table, nodes: pa.Table, budget_tokens: int, count_tokens: CountTokens
) -> pa.Table:
    """Return the best nodes with distinct texts of each question that fit a token budget together.

    A node that does not fit is skipped; later ones may fit, since written texts are shorter than
    passages.

    Parameters
    ----------
    rankings : rows of `rankings`; no node beyond them is considered.
    nodes : `node_id`, `kind`, `document_id`, `position`, `text` of passages, "chunk", and others.
    count_tokens : returns the number of tokens of each text.
    """
    n_tokens = cache(lambda text: count_tokens([text])[0])

    def fitting(ranked: list[dict]) -> list[dict]:
        chosen, left = [], budget_tokens
        for node in ranked:
            if n_tokens(node["text"]) <= left:
                chosen.append(node)
                left -= n_tokens(node["text"])
        return chosen

    return _contexts(rankings, nodes, fitting)


def _contexts(
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
        {
            "query_id": query_id,
            "sample": 0,
            "rank": rank,
            "node_id": node["node_id"],
            "node_kind": node["kind"],
            "document_id": node["document_id"],
            "position": node["position"] if node["kind"] == "chunk" else None,
            "score": node["score"],
            "text": node["text"],
        }
        for query_id, by_text in nodes_of.items()
        for rank, node in enumerate(choose(list(by_text.values())), start=1)
    ]
    return pa.Table.from_pylist(rows, TABLES["contexts"].schema)
