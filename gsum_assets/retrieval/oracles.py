"""Upper bounds: rankings that use the labels of a benchmark's annotators.

Methods must not read these labels, so leaderboards do not rank the oracles among the methods.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.dense import Dense
from gsum_assets.retrieval.ranking import Scores, best_of_nodes, rank_questions
from gsum_resources.store.arrow import pc

_ABOVE = 4.0  # added to the cosines, -1 to 1, of labelled chunks


class Oracle(NamedTuple):
    """An upper bound.

    Attributes
    ----------
    column : column of `queries` with the labels; questions without labels are left out.
    labelled : returns the positions of the labelled chunks, from a row of `queries` and its scope.
    """

    column: str
    labelled: Callable[[dict, Collection], Sequence[int]]


def _evidence(question: dict, scope: Collection) -> Sequence[int]:
    relevant = set(question["relevant_chunk_ids"])
    return [i for i, chunk_id in enumerate(scope.chunk_ids) if chunk_id in relevant]


def _relevant_documents(question: dict, scope: Collection) -> Sequence[int]:
    relevant = set(question["relevant_document_ids"])
    is_relevant = [document_id in relevant for document_id in scope.document_ids]
    return np.flatnonzero(np.repeat(is_relevant, np.diff(scope.starts))).tolist()


ORACLES: Mapping[str, Oracle] = {
    "oracle-evidence": Oracle("relevant_chunk_ids", _evidence),
    "oracle-documents": Oracle("relevant_document_ids", _relevant_documents),
}


def askable(method: str, queries: pa.Table) -> pa.Table:
    """Return the questions a method can answer: for an oracle those with labels.

    Labelled documents are of no use for a question about a single document, which is left out.
    """
    if method not in ORACLES:
        return queries
    column = ORACLES[method].column
    is_askable = pc.greater(pc.list_value_length(queries[column]), 0)
    if column == "relevant_document_ids":
        is_askable = pc.and_(is_askable, pc.is_null(queries["document_id"]))
    return queries.filter(is_askable)


def rank_by_oracle(
    method: str, queries: pa.Table, questions: Questions, collection: Collection
) -> pa.Table:
    """Return rows of `rankings`: labelled chunks by cosine.

    `questions` are those of `queries`, with embeddings, as the collection.
    """
    oracle = ORACLES[method]
    query_of = {row["query_id"]: row for row in queries.to_pylist()}
    rows = rank_questions(lambda scope: _Labelled(scope, oracle, query_of), questions, collection)
    is_labelled = pc.greater(rows["score"], _ABOVE / 2)
    is_kept = pc.or_(pc.equal(rows["level"], "document"), is_labelled)
    return rows.filter(is_kept).cast(TABLES["rankings"].schema)


class _Labelled:
    """Cosines, with labelled chunks above all others."""

    def __init__(
        self, collection: Collection, oracle: Oracle, query_of: Mapping[str, dict]
    ) -> None:
        self._collection, self._oracle, self._query_of = collection, oracle, query_of
        self._dense = Dense(collection)

    def scores(self, questions: Questions) -> Scores:
        """Return cosines, -1 to 1, and higher values for labelled chunks."""
        nodes = self._dense.scores(questions).nodes.astype(np.float64)
        for row, query_id in zip(nodes, questions.ids, strict=True):
            labelled = self._oracle.labelled(self._query_of[query_id], self._collection)
            row[labelled] += _ABOVE
        return Scores(nodes, best_of_nodes(nodes, self._collection))
