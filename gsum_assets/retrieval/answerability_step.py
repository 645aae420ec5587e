"""The step that says which questions the documents answer."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from gsum_assets.pipeline.result import Result
from gsum_assets.pipeline.step import Inputs, Step
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.answerability import (
    PACKAGED,
    answerability,
    answerability_by_words,
)
from gsum_assets.retrieval.collection import Questions
from gsum_assets.retrieval.loading import collection_of


def _answerability(inputs: Inputs) -> Result:
    queries = inputs.table("queries")
    if not queries.num_rows:
        return Result(TABLES["answerability"].empty())

    def read(chunk_ids: list[str]) -> list[str]:
        rows = inputs.tables["chunks"].rows_with("chunk_id", chunk_ids)
        texts = dict(zip(rows["chunk_id"].to_pylist(), rows["text"].to_pylist(), strict=True))
        return [texts[chunk_id] for chunk_id in chunk_ids]

    texts = queries["text"].to_pylist()
    if PACKAGED in inputs.model("embedding_model").identity:
        questions = Questions.from_tables(queries, inputs.table("query_embeddings"))
        rows = answerability(questions, texts, collection_of(inputs, keep_indexes=True), read)
    else:
        collection = collection_of(inputs, with_vectors=False)
        rows = answerability_by_words(Questions.from_table(queries), texts, collection, read)
    return Result(rows, shown=lambda: {"answerability": separation(rows, queries)})


def separation(rows: pa.Table, queries: pa.Table) -> Mapping[str, Any]:
    """Return how many questions are refused, and how well that agrees with the source's marks.

    Returns
    -------
    `refused`, and where some are marked as unanswerable, `refused_rightly` and `refused_wrongly` as
    shares of those that are and those that are not, and `auroc`: the probability that a question
    that is answered by its documents has the larger probability, ties and questions that are not
    judged counted as one half and as answerable.
    """
    marks = dict(zip(*(queries[n].to_pylist() for n in ("query_id", "is_answerable")), strict=True))
    refused = np.array([not answered for answered in rows["is_answered"].to_pylist()], bool)
    unanswerable = np.array([marks[q] is False for q in rows["query_id"].to_pylist()], bool)
    shown: dict[str, Any] = {"refused": int(refused.sum())}
    if unanswerable.any() and not unanswerable.all():
        known = [1.0 if p is None else p for p in rows["probability"].to_pylist()]
        probabilities = np.array(known)
        low, high = probabilities[unanswerable][:, None], probabilities[~unanswerable][None]
        shown["refused_rightly"] = float(refused[unanswerable].mean())
        shown["refused_wrongly"] = float(refused[~unanswerable].mean())
        shown["auroc"] = float(((high > low) + 0.5 * (high == low)).mean())
    return shown


ANSWERABILITY = Step(
    _answerability,
    {
        "answerability": "Whether the documents answer each question, judged before any method "
        "answers it, and the most similar passage."
    },
    (
        *("queries", "query_embeddings", "documents", "chunks", "chunk_embeddings"),
        "embedding_model",
    ),
    pool=None,
    code_version="2",
)
