"""The index as answers read it, and rankings of chunks and documents by it."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import pyarrow as pa

from gsum_assets.evaluation.passages import Passage
from gsum_assets.graphrag.communities import cut
from gsum_assets.graphrag.methods import METHODS
from gsum_assets.graphrag.reports import report_text
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.dense import Dense
from gsum_assets.retrieval.ranking import Retriever, Scores, best_of_nodes, rank_questions
from gsum_assets.retrieval.vectors import stacked
from gsum_resources.store.arrow import mapping, pc, rows_by

_DECIMALS = 6  # as in dense retrieval: ties are broken by id on every machine


@dataclass(frozen=True, eq=False)
class Index:
    """Tables of an indexed corpus."""

    entities: pa.Table
    relationships: pa.Table
    communities: pa.Table
    community_reports: pa.Table
    findings: pa.Table
    embeddings: pa.Table

    def reports(self, level: int | None, document_id: str | None) -> list[Passage]:
        """Return the reports of a level's cut, or of all, by number of the community.

        Scores are ratings. The text is the whole report, or its findings from one document, if any.
        """
        scoped = []
        for report in self._reports(level):
            community_id, text = report["community_id"], report["text"]
            if document_id is not None:
                every = self._findings.get(community_id, ())
                findings = [found for found in every if document_id in found["document_ids"]]
                text = report_text(report["title"], "", findings) if findings else ""
            if text:
                scoped.append(Passage(community_id, "report", text, report["rating"], document_id))
        return scoped

    def chunks_of_reports(self, level: int | None) -> tuple[list[str], list[tuple[int, str]]]:
        """Return the communities of `reports`, and pairs of their index and a cited chunk."""
        ids = [report["community_id"] for report in self._reports(level)]
        findings = [
            (n, finding) for n, i in enumerate(ids) for finding in self._findings.get(i, ())
        ]
        return ids, [(n, chunk_id) for n, finding in findings for chunk_id in finding["chunk_ids"]]

    def vectors(self, kind: str, ids: Sequence[str]) -> np.ndarray:
        """Return the embeddings of entities or reports, `(len(ids), dim)`."""
        if not ids:
            return np.empty((0, 0), np.float32)
        rows = self.embeddings.filter(pc.equal(self.embeddings["kind"], kind))
        indices = pc.index_in(pa.array(ids, pa.string()), rows["item_id"].combine_chunks())
        if indices.null_count:
            raise ValueError(
                f"graphrag/embeddings: {indices.null_count} of {len(ids)} {kind} vectors are "
                "missing; materialize graphrag/embeddings again"
            )
        return stacked(rows["embedding"])[indices.to_numpy()]

    def entities_within(self, chunk_ids: Sequence[str]) -> list[str]:
        """Return the ids of the entities mentioned in any of these chunks, in order."""
        inside = set(chunk_ids)
        return [i for i, row in self.by_id.items() if not inside.isdisjoint(row["chunk_ids"])]

    @cached_property
    def by_id(self) -> Mapping[str, dict]:
        """Rows of entities by entity_id."""
        return {row["entity_id"]: row for row in self.entities.to_pylist()}

    @cached_property
    def relationships_of(self) -> Mapping[str, Sequence[dict]]:
        """Rows of relationships by either end."""
        by_entity: dict[str, list[dict]] = defaultdict(list)
        for row in self.relationships.to_pylist():
            by_entity[row["source_id"]].append(row)
            by_entity[row["target_id"]].append(row)
        return by_entity

    @cached_property
    def members(self) -> Mapping[str, frozenset[str]]:
        """Entities of each community."""
        members_of = mapping(self.communities, "community_id", "entity_ids")
        return {i: frozenset(entity_ids) for i, entity_ids in members_of.items()}

    def _reports(self, level: int | None) -> list[dict]:
        """Return the rows of reports of a level's cut, or of all levels, by number."""
        rows = self.communities if level is None else cut(self.communities, level)
        ids = rows.sort_by("number")["community_id"].to_pylist()
        return [self._report_of[i] for i in ids if i in self._report_of]

    @cached_property
    def _report_of(self) -> Mapping[str, dict]:
        return {row["community_id"]: row for row in self.community_reports.to_pylist()}

    @cached_property
    def _findings(self) -> Mapping[str, Sequence[dict]]:
        return rows_by(self.findings, "community_id")


def nearest(
    vector: np.ndarray, vectors: np.ndarray, ids: Sequence[str], n: int
) -> list[tuple[int, float]]:
    """Return indices and cosines of the `n` vectors nearest to `vector`, best first, ties by id."""
    if not ids:
        return []
    cosines = np.round(vectors @ vector, _DECIMALS)
    best = np.lexsort((np.array(ids), -cosines))[:n]
    return [(int(i), float(cosines[i])) for i in best]


def rank(
    method: str, collection: Collection, questions: Questions, index: Index, n_entities: int
) -> pa.Table:
    """Return the rows of the table `rankings` for one method."""
    chosen = METHODS[method]
    build: Callable[[Collection], Retriever] = Dense
    if chosen.reads in ("reports", "relevant"):
        build = partial(ReportsAbout, index=index, level=chosen.level)
    elif chosen.reads == "around":
        build = partial(EntitiesNear, index=index, n_entities=n_entities)

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
