"""Rankings from scores: two levels, a fixed depth, ties broken by id."""

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from gsum_assets.graphs.nearest import first_of
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection, Questions, alphabetical, scopes

DEPTH = 100
_CELLS_AT_ONCE = 2**23  # scores in memory at a time: 32 MiB in float32 for each array alive


class Scores(NamedTuple):
    """Higher is better: `nodes` `(n_questions, n_chunks)`, `documents` `(.., n_documents)`."""

    nodes: np.ndarray
    documents: np.ndarray


class Retriever(Protocol):
    """Scores everything in the collection for which it was built."""

    def scores(self, questions: Questions) -> Scores:
        """Return one row per question, one column per chunk or document, all finite."""
        ...


def best_of_nodes(nodes: np.ndarray, collection: Collection) -> np.ndarray:
    """Return the score of each document, that of its best chunk, `(n, n_documents)`."""
    return np.maximum.reduceat(nodes, collection.starts[:-1], axis=1)


def top(
    scores: np.ndarray, ids: Sequence[str], depth: int = DEPTH, by_id: np.ndarray | None = None
) -> np.ndarray:
    """Return the best items of each row, best first; equal scores in the order of their ids.

    From scores, `(n_questions, n_items)`, and distinct ids; returns column indices, `(n_questions,
    min(depth, n_items))`. `by_id` are the items in the alphabetical order of their ids, if known.

    Raises `ValueError` if a score is not a finite number.
    """
    if not np.isfinite(scores).all():
        row, column = np.argwhere(~np.isfinite(scores))[0]
        raise ValueError(
            f"ranking: score of '{ids[column]}' for question {row} is {scores[row, column]}; "
            "scores must be finite; check for empty texts or zero vectors"
        )
    if by_id is None:
        by_id = alphabetical(ids)
    best = np.empty((len(scores), min(depth, len(ids))), dtype=np.int64)
    for row, values in zip(best, scores, strict=True):
        row[:] = by_id[first_of(values[by_id], depth)]
    return best


def rank_questions(
    build: Callable[[Collection], Retriever],
    questions: Questions,
    collection: Collection,
    depth: int = DEPTH,
    clock: Callable[[], float] = time.perf_counter,
) -> pa.Table:
    """Rank chunks and documents for every question, each within its scope.

    Returns the table `rankings`, in the order of the questions, then level, then rank. Its
    `latency_s` is the time to score and rank a question without that of the index; questions of one
    scope are scored together and share it. `build` is called once per scope.
    """
    schema = TABLES["rankings"].schema
    tables: list[tuple[int, pa.Table]] = []
    for members, scope in scopes(questions, collection):
        retriever = build(scope)
        block = max(1, _CELLS_AT_ONCE // len(scope.chunk_ids))
        for start in range(0, len(members), block):
            batch = members[start : start + block]
            started = clock()
            scores = retriever.scores(questions.take(batch))
            levels = (
                ("document", scores.documents, scope.document_ids),
                ("node", scores.nodes, scope.chunk_ids),
            )
            best = [top(values, ids, depth, scope.by_id[level]) for level, values, ids in levels]
            latency = (clock() - started) / len(batch)
            for (level, values, ids), items in zip(levels, best, strict=True):
                for index, row, columns in zip(batch, values, items, strict=True):
                    n = len(columns)
                    ranked = {
                        "query_id": pa.repeat(questions.ids[index], n),
                        "level": pa.repeat(level, n),
                        "rank": np.arange(1, n + 1, dtype=np.int32),
                        "item_id": pa.array([ids[i] for i in columns], pa.string()),
                        "score": row[columns].astype(np.float64),
                        "latency_s": np.full(n, latency),
                    }
                    tables.append((index, pa.table(ranked, schema=schema)))
    tables.sort(key=lambda pair: pair[0])  # stable: document before node
    return pa.concat_tables([schema.empty_table(), *(rows for _, rows in tables)]).combine_chunks()
