"""Upper bounds: rankings that use the labels of a benchmark's annotators.

Methods must not read these labels, so leaderboards do not rank the oracles among the methods.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from gsum_assets.evaluation.rouge import counted
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.dense import Dense
from gsum_assets.retrieval.ranking import Scores, best_of_nodes, rank_questions
from gsum_resources.store.arrow import pc

MOST_CHOSEN = 50  # passages that `oracle-greedy` orders by the references
_ABOVE = 4.0  # added to the cosines, -1 to 1, of labelled chunks


class Oracle(NamedTuple):
    """An upper bound.

    Attributes
    ----------
    column : column of `queries` with the labels; questions without labels are left out.
    labelled : returns the positions of the labelled chunks, from a row of `queries` and its scope.
    is_ordered : whether these are already ordered; otherwise by cosine.
    is_filled : whether the other chunks follow, by cosine.
    """

    column: str
    labelled: Callable[[dict, Collection], Sequence[int]]
    is_ordered: bool = False
    is_filled: bool = False


def _evidence(question: dict, scope: Collection) -> Sequence[int]:
    relevant = set(question["relevant_chunk_ids"])
    return [i for i, chunk_id in enumerate(scope.chunk_ids) if chunk_id in relevant]


def _relevant_documents(question: dict, scope: Collection) -> Sequence[int]:
    relevant = set(question["relevant_document_ids"])
    is_relevant = [document_id in relevant for document_id in scope.document_ids]
    return np.flatnonzero(np.repeat(is_relevant, np.diff(scope.starts))).tolist()


def _greedy(question: dict, scope: Collection) -> Sequence[int]:
    """Return passages chosen greedily by the mean recall of ROUGE-1 and ROUGE-2 of references."""
    texts = [counted(text) for text in scope.chunk_texts]
    gram_counts, gram_weights, of_texts = [], [], []
    for reference in map(counted, question["references"]):
        for kind in ("unigrams", "bigrams"):
            grams = getattr(reference, kind)
            for gram, count in grams.items():
                gram_counts.append(count)
                gram_weights.append(1 / sum(grams.values()))
                of_texts.append([getattr(text, kind).get(gram, 0) for text in texts])
    missing, worths = np.array(gram_counts, float), np.array(gram_weights)  # (n_grams,)
    counts = np.array(of_texts, float).reshape(len(gram_counts), len(texts))
    chosen: list[int] = []
    while len(chosen) < min(MOST_CHOSEN, len(texts)):
        gains = worths @ np.minimum(counts, missing[:, None])  # (n_texts,)
        gains[chosen] = 0
        best = int(np.argmax(gains))
        if gains[best] <= 0:
            break
        chosen.append(best)
        missing = np.maximum(missing - counts[:, best], 0)
    return chosen


ORACLES: Mapping[str, Oracle] = {
    "oracle-evidence": Oracle("relevant_chunk_ids", _evidence),
    "oracle-evidence-filled": Oracle("relevant_chunk_ids", _evidence, is_filled=True),
    "oracle-documents": Oracle("relevant_document_ids", _relevant_documents),
    "oracle-greedy": Oracle("references", _greedy, is_ordered=True, is_filled=True),
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
    """Return rows of `rankings`: labelled chunks first, then the others by cosine if filled.

    `questions` are those of `queries`, with embeddings, as the collection.
    """
    oracle = ORACLES[method]
    query_of = {row["query_id"]: row for row in queries.to_pylist()}
    rows = rank_questions(lambda scope: _Labelled(scope, oracle, query_of), questions, collection)
    if oracle.is_filled:
        return rows
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
            if self._oracle.is_ordered:
                row[labelled] = _ABOVE / 2 + np.arange(len(labelled), 0, -1)
            else:
                row[labelled] += _ABOVE
        return Scores(nodes, best_of_nodes(nodes, self._collection))
