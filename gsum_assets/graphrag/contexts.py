"""What an answer is made from: reports of a level, all chunks, or the nearest ones (3.3)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from gsum_assets.evaluation.answer import answer_request
from gsum_assets.evaluation.budget import MOST_MARKED, CountTokens, Room, lengths, room_for
from gsum_assets.graphrag.index import Index
from gsum_assets.graphrag.settings import AnswerSettings
from gsum_assets.tables import TABLES
from gsum_resources.content_hash import hash_texts


@dataclass(frozen=True)
class Passage:
    """Something to read.

    Attributes
    ----------
    node_id, node_kind, document_id, position, text : as in `contexts`.
    score : higher is better.
    """

    node_id: str
    node_kind: str
    text: str
    score: float = 0.0
    document_id: str | None = None
    position: int | None = None


Choose = Callable[[dict], Sequence[Passage]]
"""The passages of a row of `queries`, in the order in which they are read."""


def context_rows(queries: pa.Table, choose: Choose) -> pa.Table:
    """Rows of `contexts`, in order of the questions' ids."""
    rows = [
        {"query_id": query["query_id"], "sample": 0, "rank": rank, **vars(passage)}
        for query in queries.sort_by("query_id").to_pylist()
        for rank, passage in enumerate(choose(query), start=1)
    ]
    return pa.Table.from_pylist(rows, TABLES["contexts"].schema)


def all_reports(index: Index, level: int, seed: int) -> Choose:
    """All reports of a level, shuffled; of one document, what they find there (paper, 2.6)."""
    known: dict[str | None, list[Passage]] = {}

    def choose(query: dict) -> Sequence[Passage]:
        scope = query["document_id"]
        if scope not in known:
            seen = index.reports(level, scope)
            known[scope] = [
                Passage(one.community_id, "report", one.text, one.rating, scope)
                for one in sorted(seen, key=lambda one: _draw(seed, one.community_id))
            ]
        return known[scope]

    return choose


def all_chunks(chunks: pa.Table, seed: int) -> Choose:
    """All chunks of the scope, shuffled: text summarization without an index (3.3, TS)."""
    shuffled = sorted(chunks.to_pylist(), key=lambda row: _draw(seed, row["chunk_id"]))

    def choose(query: dict) -> Sequence[Passage]:
        scope = query["document_id"]
        return [chunk_passage(row) for row in shuffled if scope in (None, row["document_id"])]

    return choose


def nearest_chunks(
    rankings: pa.Table,
    chunks: pa.Table,
    settings: AnswerSettings,
    max_words: int,
    count_tokens: CountTokens,
) -> Choose:
    """The best chunks up to the prompt's length: semantic search (3.3, SS)."""
    best = best_chunks(rankings, chunks)
    sizes = lengths(chunks["text"].to_pylist(), count_tokens)

    def choose(query: dict) -> Sequence[Passage]:
        room = answer_room(query, settings, max_words, count_tokens)
        return list(within(best.get(query["query_id"], ()), sizes, room.tokens, room.mark))

    return choose


def best_chunks(rankings: pa.Table, chunks: pa.Table) -> Mapping[str, Sequence[Passage]]:
    """The ranked chunks of each question, best first."""
    known = {row["chunk_id"]: row for row in chunks.to_pylist()}
    found: dict[str, list[Passage]] = {}
    for row in rankings.sort_by("rank").to_pylist():
        if row["level"] == "node":
            passage = chunk_passage(known[row["item_id"]], row["score"])
            found.setdefault(row["query_id"], []).append(passage)
    return found


def within(
    passages: Sequence[Passage], sizes: Mapping[str, int], tokens: int, mark: int
) -> Iterator[Passage]:
    """The first passages, as many as fit together."""
    for passage in passages:
        tokens -= sizes[passage.text] + mark
        if tokens < 0:
            return
        yield passage


def answer_room(
    query: dict, settings: AnswerSettings, max_words: int, count_tokens: CountTokens
) -> Room:
    """What the final prompt of a question leaves to its passages."""
    bare = answer_request(query, (), max_words)
    return room_for(bare, MOST_MARKED, settings.prompt_tokens, count_tokens)


def chunk_passage(row: dict, score: float = 0.0) -> Passage:
    """A row of `chunks` as a passage."""
    return Passage(
        row["chunk_id"], "chunk", row["text"], score, row["document_id"], row["position"]
    )


def _draw(seed: int, item_id: str) -> str:
    """A random place of its own for each: what is new moves nothing else."""
    return hash_texts([str(seed), item_id])
