"""Collections of topics whose passages belong together, and graphs over them."""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa

from gsum_assets.graphs.nearest import nearest
from gsum_assets.graphs.pagerank import WalkGraph
from gsum_assets.lightpal.candidates import (
    candidate_rows,
    hashes_of,
    lists_of,
    numbers_of,
    scores_of_lists,
)
from gsum_assets.lightpal.context_scores import context_scores
from gsum_assets.lightpal.passage_edges import passage_edges
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.ranking import Scores
from gsum_resources.protocols.models import OnRow, PassageScorer
from gsum_resources.scoring.unigram import UnigramScorer
from tests.gor.toy_documents import embedding_table

Tables = tuple[pa.Table, pa.Table, pa.Table]
Row = dict[str, Any]
DIMENSION = 16


def topic_tables(n_topics: int, n_documents: int, n_chunks: int, seed: int = 0) -> Tables:
    """`documents`, `chunks` and `chunk_embeddings`; document `d<topic>-<n>` is of one topic.

    A chunk says 6 of the 24 words of its topic and 6 of 24 common ones; its vector leans towards
    that of its topic.

    Parameters
    ----------
    n_documents, n_chunks : of each topic, and of each document.
    """
    random = np.random.default_rng(seed)
    directions = random.normal(size=(n_topics, DIMENSION))
    chunks, vectors = [], []
    for topic in range(n_topics):
        for document in range(n_documents):
            for position in range(n_chunks):
                own = [f"Topic{topic}word{i}" for i in random.choice(24, 6, replace=False)]
                common = [f"common{i}" for i in random.choice(24, 6, replace=False)]
                document_id = f"d{topic:02}-{document:02}"
                chunks.append(
                    {"chunk_id": f"{document_id}-c{position:02}", "document_id": document_id}
                    | {"position": position, "text": " ".join([*own, *common])}
                )
                vectors.append(directions[topic] + 2 * random.normal(size=DIMENSION))
    units = np.array(vectors, np.float32)
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    table = pa.Table.from_pylist(chunks)
    return documents_of(table), table, embedding_table(table, units)


def documents_of(chunks: pa.Table) -> pa.Table:
    """Rows of `documents` that are cut into these chunks."""
    texts: dict[str, list[str]] = {}
    for row in chunks.to_pylist():
        texts.setdefault(row["document_id"], []).append(row["text"])
    return pa.table(
        {"document_id": list(texts), "text": [" ".join(parts) for parts in texts.values()]}
    )


def candidates(collection: Collection, n: int) -> pa.Table:
    """Rows of `lightpal.candidates`."""
    if not collection.chunk_ids:
        return TABLES["lightpal.candidates"].empty()
    assert collection.embeddings is not None
    return candidate_rows(collection, *nearest(collection.embeddings, collection.starts, n))


def scored(
    candidates: pa.Table, collection: Collection, scorer: PassageScorer | None = None
) -> pa.Table:
    """Rows of `lightpal.context_scores`."""
    return context_scores(lists_of(candidates, collection), collection, scorer or UnigramScorer())


def edges_among(
    candidates: pa.Table, scores: pa.Table, collection: Collection, n_edges: int
) -> pa.Table:
    """Rows of `lightpal.passage_edges`."""
    lists = lists_of(candidates, collection, with_similarities=True)
    return passage_edges(lists, scores_of_lists(scores, lists), collection, n_edges)


def edges_of(collection: Collection, n_candidates: int = 30, n_edges: int = 5) -> pa.Table:
    """Rows of `lightpal.passage_edges` by the steps of the pipeline."""
    found = candidates(collection, n_candidates)
    return edges_among(found, scored(found, collection), collection, n_edges)


def number(passage_id: str) -> int:
    return int(numbers_of(pa.array([passage_id]))[0])


def pairs_of(candidates: pa.Table, scores: pa.Table | None = None) -> list[Row]:
    """Each passage with each candidate, its rank, and its similarity, or score if given."""
    rows = candidates.to_pylist()
    values = [row["similarities"] for row in rows]
    if scores is not None:
        names = ["level", "passage_id", "candidates_hash"]
        assert scores.select(names).equals(candidates.select(names))
        values = scores["scores"].to_pylist()
    ids = {row["passage_number"]: row["passage_id"] for row in rows}
    return [
        {"level": row["level"], "passage_id": row["passage_id"], "rank": rank}
        | {"candidate_id": ids[other], "value": value}
        for row, of in zip(rows, values, strict=True)
        for rank, (other, value) in enumerate(zip(row["candidates"], of, strict=True), 1)
    ]


def _hash_of(candidates: Sequence[int]) -> int:
    return int(hashes_of(np.array([candidates], np.int64).reshape(1, -1))[0])


def candidate_table(pairs: Iterable[Row], table: str = "candidates") -> pa.Table:
    """The opposite of `pairs_of`; pairs of a passage follow one another."""
    name = {"candidates": "similarities", "context_scores": "scores"}[table]
    rows = [
        {"level": level, "passage_id": passage_id, "passage_number": number(passage_id)}
        | {"candidates": [number(pair["candidate_id"]) for pair in found]}
        | {"candidates_hash": _hash_of([number(pair["candidate_id"]) for pair in found])}
        | {name: [pair.get("value") for pair in found]}
        for (level, passage_id), of in groupby(pairs, lambda p: (p["level"], p["passage_id"]))
        for found in [list(of)]
    ]
    return pa.Table.from_pylist(rows, TABLES[f"lightpal.{table}"].schema)


def ends_of(edges: pa.Table, ids: Iterable[str]) -> list[Row]:
    """Each edge with the ids of both ends, of which `ids` are all, its rank and its weight."""
    known = {number(passage_id): passage_id for passage_id in ids}
    return [
        {name: row[name] for name in ("graph", "level", "scope", "source_id")}
        | {"target_id": known[target], "rank": rank, "weight": weight}
        for row in edges.to_pylist()
        for rank, (target, weight) in enumerate(zip(row["targets"], row["weights"], strict=True), 1)
    ]


def edge_table(edges: Iterable[Row]) -> pa.Table:
    """The opposite of `ends_of`; edges of a passage are in the order of their ranks."""
    names = ("graph", "level", "scope", "source_id")
    found: dict[tuple, list[Row]] = {}
    for edge in edges:
        found.setdefault(tuple(edge[name] for name in names), []).append(edge)
    rows = [
        dict(zip(names, key, strict=True))
        | {"targets": [number(edge["target_id"]) for edge in of]}
        | {"weights": [edge["weight"] for edge in of]}
        for key, of in found.items()
    ]
    return pa.Table.from_pylist(rows, TABLES["lightpal.passage_edges"].schema)


class TableScorer:
    """A scorer whose value of a candidate after a context is `value(context, candidate)`."""

    identity = "table"
    is_pairwise = True

    def __init__(self, value: Callable[[str, str], float]) -> None:
        self._value = value
        self.contexts: list[str] = []

    def score(
        self,
        contexts: Sequence[str],
        candidates: Sequence[Sequence[str]],
        on_row: OnRow | None = None,
    ) -> list[np.ndarray]:
        self.contexts += contexts
        return [
            np.array([self._value(context, text) for text in row], float)
            for context, row in zip(contexts, candidates, strict=True)
        ]


class Fixed:
    """A retriever whose scores are given, the same for chunks and for documents."""

    def __init__(self, *rows: Sequence[float] | np.ndarray) -> None:
        self._rows = np.array(rows)

    def scores(self, questions: Questions) -> Scores:
        return Scores(self._rows[: len(questions)], self._rows[: len(questions)])


def walk_graph(n_nodes: int, *edges: tuple[int, int], both_ways: bool = False) -> WalkGraph:
    """A graph whose edges weigh 1."""
    rows = np.array([*edges, *((b, a) for a, b in edges if both_ways)], int).reshape(-1, 2)
    return WalkGraph(n_nodes, rows[:, 0], rows[:, 1], np.ones(len(rows)))


EMPTY = Collection([], [], [], [], np.array([0]), np.empty((0, DIMENSION), np.float32))
"""A collection of nothing."""
