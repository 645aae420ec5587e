"""Relevance of line chunks to questions, and rankings of the passages in them."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from gsum_assets.retrieval.bm25 import Bm25Index
from gsum_assets.retrieval.collection import Collection, Questions, scopes
from gsum_assets.retrieval.dense import Dense
from gsum_assets.retrieval.hybrid import DENSE_WEIGHT, LEXICAL_WEIGHT, min_max
from gsum_assets.retrieval.ranking import Retriever, Scores, best_of_nodes
from gsum_assets.retrieval.words import Words
from gsum_resources.store.arrow import rows_by

Relevance = Mapping[str, Mapping[str, float]]
"""Relevance of the line chunks in a question's scope, 0 to 1, best first, by question."""


def relevance(
    collection: Collection,
    questions: Questions,
    chunks: pa.Table,
    line_chunks: pa.Table,
    words: Words,
    is_lexical: bool = False,
) -> Relevance:
    """Return 0.6 BM25 + 0.4 dense of each line chunk, both scaled to 0..1 within the scope.

    The dense score of a line chunk is that of its best passage; `is_lexical`: BM25 alone.
    """
    ordered = [("document_id", "ascending"), ("position", "ascending")]
    rows = line_chunks.sort_by(ordered).select(["chunk_id", "document_id", "text"]).to_pylist()
    span_of = spans_of_passages(chunks, line_chunks)
    relevant: dict[str, Mapping[str, float]] = {}
    for members, scope in scopes(questions, collection):
        documents = frozenset(scope.document_ids)
        own = [row for row in rows if row["document_id"] in documents]
        batch = questions.take(members)
        index = Bm25Index.of([row["text"] for row in own], words)
        scores = min_max(index.scores(batch.texts))
        if not is_lexical:
            position = {row["chunk_id"]: i for i, row in enumerate(own)}
            line_of = [position[span_of[chunk_id]] for chunk_id in scope.chunk_ids]
            dense = np.full((len(own), len(batch)), -1.0)
            np.maximum.at(dense, line_of, Dense(scope).scores(batch).nodes.T)
            scores = LEXICAL_WEIGHT * scores + DENSE_WEIGHT * min_max(dense.T)
        for query_id, row in zip(batch.ids, scores, strict=True):
            best = (-row).argsort(kind="stable").tolist()
            relevant[query_id] = {own[i]["chunk_id"]: float(row[i]) for i in best}
    return relevant


def chunks_by_nodes(searches: pa.Table) -> Mapping[str, Sequence[str]]:
    """Return the line chunks of the nodes of each question: the best of each, then the second."""
    turns: dict[str, list[tuple[int, int, str]]] = defaultdict(list)
    for row in searches.select(["query_id", "place", "chunk_ids"]).to_pylist():
        turns[row["query_id"]] += [
            (turn, row["place"], chunk_id) for turn, chunk_id in enumerate(row["chunk_ids"])
        ]
    return {
        query_id: list(dict.fromkeys(chunk_id for *_, chunk_id in sorted(of_query)))
        for query_id, of_query in turns.items()
    }


def spans_of_passages(chunks: pa.Table, spans: pa.Table) -> dict[str, str]:
    """Return the line chunk or page that has the largest overlap with each passage."""
    columns = ["chunk_id", "document_id", "start", "end"]
    spans_within = rows_by(spans.select(columns), "document_id")
    span_of: dict[str, str] = {}
    for row in chunks.select(columns).to_pylist():
        shared = [
            (min(row["end"], s["end"]) - max(row["start"], s["start"]), -s["start"], s["chunk_id"])
            for s in spans_within[row["document_id"]]
        ]
        if shared:
            span_of[row["chunk_id"]] = max(shared)[-1]
    return span_of


@dataclass(frozen=True)
class ByLineChunks:
    """Retriever that ranks passages by their line chunk, and within one by another retriever.

    `ranked` has the line chunks of each question, best first.
    """

    collection: Collection
    span_of: Mapping[str, str]
    ranked: Mapping[str, Sequence[str] | Mapping[str, float]]
    within: Retriever

    def scores(self, questions: Questions) -> Scores:
        """Return 1 / rank by line chunk, then by `within`; passages in none come last."""
        inner = self.within.scores(questions).nodes
        span_ids = [self.span_of.get(chunk_id, "") for chunk_id in self.collection.chunk_ids]
        nodes = np.empty(inner.shape)
        for row, query_id in enumerate(questions.ids):
            best = {span: i for i, span in enumerate(self.ranked.get(query_id, ()))}
            spans = np.array([best.get(span, len(best)) for span in span_ids])
            order = np.lexsort((np.arange(len(spans)), -inner[row], spans))
            nodes[row, order] = 1 / np.arange(1, len(order) + 1)
        return Scores(nodes, best_of_nodes(nodes, self.collection))
