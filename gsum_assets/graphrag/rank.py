"""Rankings of chunks and documents by the index; global answers read all reports nevertheless."""

import numpy as np
import pyarrow as pa

from gsum_assets.graphrag.index_tables import Index, nearest
from gsum_assets.graphrag.methods import METHODS
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.dense import Dense
from gsum_assets.retrieval.ranking import Retriever, Scores, best_of_nodes, rank_questions

_DECIMALS = 6  # as in dense retrieval: ties are broken by id on every machine


def rank(
    method: str, collection: Collection, questions: Questions, index: Index, n_entities: int
) -> pa.Table:
    """Return the rows of the table `rankings` for one method."""
    chosen = METHODS[method]

    def build(scope: Collection) -> Retriever:
        if chosen.reads in ("reports", "relevant"):
            return ReportsAbout(scope, index, chosen.level)
        return EntitiesNear(scope, index, n_entities) if chosen.reads == "around" else Dense(scope)

    def retriever(scope: Collection) -> Retriever:
        return scope.derived((chosen, index, n_entities), lambda: build(scope))

    return rank_questions(retriever, questions, collection)


class ReportsAbout:
    """Retriever that scores a chunk by the best report that cites it; uncited chunks come last."""

    def __init__(self, collection: Collection, index: Index, level: int | None) -> None:
        self._collection = collection
        ids, cited = index.chunks_of_reports(level)
        row_of = {chunk_id: i for i, chunk_id in enumerate(collection.chunk_ids)}
        pairs = [(report, row_of[chunk_id]) for report, chunk_id in cited if chunk_id in row_of]
        self._cited = np.array(pairs, np.int64).reshape(-1, 2)
        self._vectors = index.vectors("report", ids)

    def scores(self, questions: Questions) -> Scores:
        """Return the cosines of questions and reports, -1 to 1."""
        nodes = np.full((len(questions), len(self._collection.chunk_ids)), -1.0)
        if len(self._cited):
            assert questions.embeddings is not None
            near = np.round(questions.embeddings @ self._vectors.T, _DECIMALS)
            for row, cosines in enumerate(near):
                np.maximum.at(nodes[row], self._cited[:, 1], cosines[self._cited[:, 0]])
        return Scores(nodes, best_of_nodes(nodes, self._collection))


class EntitiesNear:
    """Retriever that scores a chunk by its nearest entities and its own embedding."""

    def __init__(self, collection: Collection, index: Index, n_entities: int) -> None:
        self._collection = collection
        self._dense = Dense(collection)
        self._n_entities = n_entities
        self._ids = index.entities_within(collection.chunk_ids)
        self._vectors = index.vectors("entity", self._ids)
        row_of = {chunk_id: i for i, chunk_id in enumerate(collection.chunk_ids)}
        self._chunk_rows = [
            np.array([row_of[c] for c in index.by_id[i]["chunk_ids"] if c in row_of], np.int64)
            for i in self._ids
        ]

    def scores(self, questions: Questions) -> Scores:
        """Return sums of the cosines of a chunk and of its entities that are among the nearest."""
        nodes = self._dense.scores(questions).nodes.astype(np.float64)
        assert questions.embeddings is not None
        for row, vector in enumerate(questions.embeddings):
            for i, cosine in nearest(vector, self._vectors, self._ids, self._n_entities):
                nodes[row, self._chunk_rows[i]] += max(0.0, cosine)
        nodes = np.round(nodes, _DECIMALS)
        return Scores(nodes, best_of_nodes(nodes, self._collection))
