"""The passages that the language model reads."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from gsum_assets.evidence.choose import best_prefix, spread
from gsum_assets.retrieval.contexts import top_contexts
from gsum_assets.tables import TABLES
from gsum_resources.llm.classical.reading import question_aspects


class Budget(NamedTuple):
    """The most passages in a context, and their length in word pieces."""

    k_max: int
    max_tokens: int


def adaptive_contexts(
    queries: pa.Table, probabilities: pa.Table, chunks: pa.Table, budget: Budget
) -> pa.Table:
    """Return rows of `contexts`: for each question the passages of its expected best F1.

    A question without search terms ("Summarize the meeting") gets passages from everywhere, in
    reading order.

    Parameters
    ----------
    queries : `query_id` and `text`.
    probabilities : rows of `evidence.probabilities`.
    chunks : rows of `chunks`, with all that have a probability.
    """
    about = {
        row["chunk_id"]: (row["document_id"], row["position"], row["n_tokens"])
        for row in chunks.select(["chunk_id", "document_id", "position", "n_tokens"]).to_pylist()
    }
    own: dict[str, list[tuple[str, float]]] = {}
    ordered = probabilities.sort_by([("query_id", "ascending"), ("rank", "ascending")])
    for row in ordered.select(["query_id", "chunk_id", "probability"]).to_pylist():
        own.setdefault(row["query_id"], []).append((row["chunk_id"], row["probability"]))
    is_general = {
        row["query_id"]: not question_aspects(row["text"])
        for row in queries.select(["query_id", "text"]).to_pylist()
    }
    chosen: dict[str, list[str]] = {}
    for query_id, ranked in own.items():
        unknown = [chunk_id for chunk_id, _ in ranked if chunk_id not in about]
        if unknown:
            raise ValueError(
                f"contexts: {len(unknown)} ranked chunks are not in the corpus (first: "
                f"'{unknown[0]}'); materialize rankings again"
            )
        chosen[query_id] = _chosen(ranked, about, is_general[query_id], budget)
    return top_contexts(_as_rankings(own, chosen), chunks, budget.k_max)


def _chosen(
    ranked: Sequence[tuple[str, float]],
    about: Mapping[str, tuple[str, int, int]],
    is_general: bool,
    budget: Budget,
) -> list[str]:
    if is_general:
        ranked = sorted(ranked, key=lambda item: about[item[0]][:2])
    ids = [chunk_id for chunk_id, _ in ranked]
    found = np.array([probability for _, probability in ranked])
    tokens = np.array([about[chunk_id][2] for chunk_id in ids])
    if is_general:
        return [ids[i] for i in spread(found, tokens, *budget)]
    return ids[: best_prefix(found, tokens, *budget)]


def _as_rankings(
    own: Mapping[str, Sequence[tuple[str, float]]], chosen: Mapping[str, Sequence[str]]
) -> pa.Table:
    """Return the chosen passages as rows of `rankings`, best first or in reading order."""
    rows = []
    for query_id, ids in chosen.items():
        probability = dict(own[query_id])
        for rank, chunk_id in enumerate(ids, 1):
            rows.append((query_id, "node", rank, chunk_id, probability[chunk_id], 0.0))
    schema = TABLES["rankings"].schema
    names = ("query_id", "level", "rank", "item_id", "score", "latency_s")
    columns = dict(zip(names, zip(*rows, strict=True), strict=True)) if rows else None
    return pa.table(columns, schema=schema) if columns else schema.empty_table()
