"""Collections of topics whose passages belong together, and graphs over them."""

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from gsum_assets.graphs.pagerank import WalkGraph
from gsum_assets.lightpal.candidates import candidates
from gsum_assets.lightpal.context_scores import context_scores
from gsum_assets.lightpal.passage_edges import passage_edges
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.ranking import Scores
from gsum_resources.protocols import OnRow
from gsum_resources.scoring.unigram import UnigramScorer
from tests.gor.toy_documents import embedding_table

Tables = tuple[pa.Table, pa.Table, pa.Table]
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
                    {
                        "chunk_id": f"{document_id}-c{position:02}",
                        "document_id": document_id,
                        "position": position,
                        "text": " ".join([*own, *common]),
                    }
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


def edges_of(collection: Collection, n_candidates: int = 30, n_edges: int = 5) -> pa.Table:
    """Rows of `lightpal.passage_edges` by the steps of the pipeline."""
    found = candidates(collection, n_candidates)
    scores = context_scores(found, collection, UnigramScorer())
    return passage_edges(found, scores, collection, n_edges)


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
