"""Relevance of line chunks to questions, and what is read of the most relevant ones.

Reading the most relevant line chunks is the control of every search of the graph: it reads as much,
and requests neither keywords nor a look-up.
"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from gsum_assets.evaluation.passages import questions_with_passages
from gsum_assets.evaluation.token_usage import NO_USAGE
from gsum_assets.jerr.order import Overlapping
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.bm25 import Bm25Index, Bm25Settings
from gsum_assets.retrieval.collection import Collection, Questions, scopes
from gsum_assets.retrieval.dense import Dense
from gsum_assets.retrieval.hybrid import DENSE_WEIGHT, LEXICAL_WEIGHT, min_max
from gsum_assets.retrieval.words import Words

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

    The dense score of a line chunk is that of its best passage.

    Parameters
    ----------
    is_lexical : BM25 alone.
    """
    ordered = [("document_id", "ascending"), ("position", "ascending")]
    rows = line_chunks.sort_by(ordered).select(["chunk_id", "document_id", "text"]).to_pylist()
    span_of = Overlapping(chunks, line_chunks).span_of
    found: dict[str, Mapping[str, float]] = {}
    for members, scope in scopes(questions, collection):
        documents = frozenset(scope.document_ids)
        own = [row for row in rows if row["document_id"] in documents]
        batch = questions.take(members)
        index = Bm25Index.of([row["text"] for row in own], Bm25Settings(words=words))
        scores = min_max(index.scores(batch.texts))
        if not is_lexical:
            position = {row["chunk_id"]: i for i, row in enumerate(own)}
            line_of = [position[span_of[chunk_id]] for chunk_id in scope.chunk_ids]
            dense = np.full((len(own), len(batch)), -1.0)
            np.maximum.at(dense, line_of, Dense(scope).scores(batch).nodes.T)
            scores = LEXICAL_WEIGHT * scores + DENSE_WEIGHT * min_max(dense.T)
        for query_id, row in zip(batch.ids, scores, strict=True):
            best = (-row).argsort(kind="stable").tolist()
            found[query_id] = {own[i]["chunk_id"]: float(row[i]) for i in best}
    return found


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
