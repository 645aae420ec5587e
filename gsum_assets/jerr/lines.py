"""Baseline without the graph: line chunks chosen by BM25, with the same token budget.

The graph's methods show synopses of the line chunks of nodes and read again those that the model
names. This baseline shows synopses of the best line chunks by BM25 and reads the first ones in
full.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import pyarrow as pa

from gsum_assets.evaluation.passages import Choose, Passage
from gsum_assets.evaluation.question_contexts import questions_with_passages
from gsum_assets.evaluation.token_usage import NO_USAGE
from gsum_assets.jerr.contexts import Room
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.bm25 import Bm25Index, Bm25Settings
from gsum_assets.retrieval.words import Words


def ranked_lines(
    queries: pa.Table, line_chunks: pa.Table, words: Words
) -> Mapping[str, Sequence[str]]:
    """Return the line chunks in each question's scope, best first by BM25."""
    ordered = [("document_id", "ascending"), ("position", "ascending")]
    rows = line_chunks.sort_by(ordered).select(["chunk_id", "document_id", "text"]).to_pylist()
    questions: dict[str | None, list[dict]] = defaultdict(list)
    for query in queries.to_pylist():
        questions[query["document_id"]].append(query)
    scopes: dict[str | None, list[dict]] = defaultdict(list, {None: rows})
    for row in rows:
        scopes[row["document_id"]].append(row)
    ranked: dict[str, Sequence[str]] = {}
    for document_id, scope_queries in questions.items():
        if document_id not in scopes or not (scope := scopes[document_id]):
            continue
        index = Bm25Index([row["text"] for row in scope], Bm25Settings(words=words))
        scores = index.scores([query["retrieval_text"] for query in scope_queries])
        for query, best_first in zip(
            scope_queries, (-scores).argsort(axis=1, kind="stable"), strict=True
        ):
            ranked[query["query_id"]] = [scope[i]["chunk_id"] for i in best_first.tolist()]
    return ranked


def line_contexts(ranked: Mapping[str, Sequence[str]], synopses: pa.Table, room: Room) -> Choose:
    """Return the choice of synopses of the line chunks found, best first, as many as fit."""
    synopsis_of = {
        row["chunk_id"]: Passage(
            row["chunk_id"], "synopsis", row["synopsis"], 0, row["document_id"], row["position"]
        )
        for row in synopses.to_pylist()
    }

    def choose(query: dict) -> Sequence[Passage]:
        ids = ranked.get(query["query_id"], ())
        return list(room.fitting(query, [synopsis_of[i] for i in ids if i in synopsis_of]))

    return choose


def first_in_full(contexts: pa.Table, queries: pa.Table, n_reread: int) -> pa.Table:
    """Return rows of `jerr.look_ups` without a model: the best line chunks are read again."""
    rows = [
        {
            "query_id": question.query_id,
            "chunk_ids": [row["node_id"] for row in question.passages[:n_reread]],
            "n_shown": len(question.passages),
            **NO_USAGE,
        }
        for question in questions_with_passages(contexts, queries)
    ]
    return pa.Table.from_pylist(rows, TABLES["jerr.look_ups"].schema)
