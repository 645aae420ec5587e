"""Contexts of answers: reports, chunks, or what is known of the nearest entities (3.3).

`around` follows the local search of Microsoft's package, `relevant_reports` its dynamic selection,
by embeddings in place of a model's ratings.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import zip_longest

import numpy as np
import pyarrow as pa

from gsum_assets.corpus.chunk import n_word_pieces
from gsum_assets.evaluation.answer import answer_room
from gsum_assets.evaluation.budget import CountTokens, Room, lengths, n_fitting
from gsum_assets.evaluation.passages import Choose, Passage
from gsum_assets.graphrag.elements import (
    claim_id,
    claims_by_subject,
    entity_text,
    relationship_text,
)
from gsum_assets.graphrag.rank import Index, nearest
from gsum_resources.store.arrow import pc, rows_by
from gsum_resources.store.content_hash import hash_texts

SHARE_CHUNKS, SHARE_REPORTS = 0.5, 0.15
"""Shares of the prompt of a local answer (the package); entities, relationships and claims have
the rest."""
_FINEST = 99  # level of the reports of local answers


@dataclass(frozen=True)
class AnswerPrompt:
    """Length of the longest prompt, of map and of reduce, and words of a final answer."""

    tokens: int
    max_words: int
    count_tokens: CountTokens = n_word_pieces

    def room(self, query: dict, of_points: bool = False) -> Room:
        """Return the room of the passages in the prompt to answer a row of `queries`."""
        return answer_room(query, self.tokens, self.max_words, self.count_tokens, of_points)


def all_reports(index: Index, level: int | None) -> Choose:
    """Return the choice of all reports of a level, or of all, in the scope, shuffled (2.6)."""

    @cache
    def shuffled(document_id: str | None) -> Sequence[Passage]:
        return sorted(index.reports(level, document_id), key=lambda report: _draw(report.node_id))

    return lambda query: shuffled(query["document_id"])


def relevant_reports(
    index: Index, vectors: Mapping[str, np.ndarray], prompt: AnswerPrompt
) -> Choose:
    """Return the choice of the reports of all levels nearest to a unit vector, in one prompt."""

    @cache
    def in_scope(document_id: str | None) -> tuple:
        reports = index.reports(None, document_id)
        ids = [report.node_id for report in reports]
        sizes = lengths((report.text for report in reports), prompt.count_tokens)
        return reports, ids, index.vectors("report", ids), sizes

    def choose(query: dict) -> Sequence[Passage]:
        reports, ids, of_reports, sizes = in_scope(query["document_id"])
        order = nearest(vectors[query["query_id"]], of_reports, ids, len(ids))
        passages = [replace(reports[i], score=cosine) for i, cosine in order]
        # one that is too long is cut where it is mapped
        return fitting(passages, sizes, prompt.room(query)) or passages[:1]

    return choose


def reports_or(index: Index, choose: Choose, otherwise: Callable[[], Choose]) -> Choose:
    """Return a choice of reports, and `otherwise` of a document or corpus that has none.

    Where all reports failed, `otherwise` might read the whole corpus at the model's price.
    """

    def chosen(query: dict) -> Sequence[Passage]:
        is_covered = query["document_id"] is None and index.communities.num_rows > 0
        reports = choose(query)
        return reports if reports or is_covered else otherwise()(query)

    return chosen


def all_chunks(chunks: pa.Table) -> Choose:
    """Return the choice of all chunks of the scope, shuffled: text summarization (3.3, TS)."""
    shuffled = sorted(chunks.to_pylist(), key=lambda row: _draw(row["chunk_id"]))

    def choose(query: dict) -> Sequence[Passage]:
        scope = query["document_id"]
        return [chunk_passage(row) for row in shuffled if scope in (None, row["document_id"])]

    return choose


def nearest_chunks(rankings: pa.Table, chunks: pa.Table, prompt: AnswerPrompt) -> Choose:
    """Return the choice of the best chunks up to the prompt's length: semantic search (3.3, SS)."""
    best = _best_chunks(rankings, chunks)
    sizes = lengths(chunks["text"].to_pylist(), prompt.count_tokens)
    return lambda query: fitting(best.get(query["query_id"], ()), sizes, prompt.room(query))


def around(
    neighbourhood_of: "Callable[[str | None], Neighbourhood]",
    rankings: pa.Table,
    chunks: pa.Table,
    vectors: Mapping[str, np.ndarray],
    n_entities: int,
    prompt: AnswerPrompt,
) -> Choose:
    """Return the choice of the entities nearest to a question, what is known of them, and chunks.

    Entities with their relationships and claims come first, then reports, then chunks; each kind
    uses the space that those before it leave. Each question has a unit vector `(dim,)`.
    """
    best = _best_chunks(rankings, chunks)

    def choose(query: dict) -> Sequence[Passage]:
        neighbourhood = neighbourhood_of(query["document_id"])
        near = neighbourhood.nearest(vectors[query["query_id"]], n_entities)
        kinds = (  # each with the share of the prompt reserved for the following kinds
            (neighbourhood.known_of(near), SHARE_CHUNKS + SHARE_REPORTS),
            (neighbourhood.reports_on(near), SHARE_CHUNKS),
            (best.get(query["query_id"], ()), 0.0),
        )
        sizes = lengths((item.text for kind, _ in kinds for item in kind), prompt.count_tokens)
        room = prompt.room(query)
        chosen: list[Passage] = []
        left = room.tokens
        for kind, reserved in kinds:
            fits = fitting(kind, sizes, Room(left - int(reserved * room.tokens), room.mark))
            left -= sum(sizes[item.text] + room.mark for item in fits)
            chosen += fits
        return chosen

    return choose


class Neighbourhood:
    """What is known of the entities of a document; None: of the whole corpus."""

    def __init__(
        self,
        index: Index,
        chunks: pa.Table,
        claims: pa.Table,
        aliases: pa.Table,
        document_id: str | None,
    ) -> None:
        ids = list(index.by_id)
        if document_id is not None:
            inside = chunks.filter(pc.equal(chunks["document_id"], document_id))
            ids = index.entities_within(inside["chunk_id"].to_pylist())
            claims = claims.filter(pc.equal(claims["document_id"], document_id))
        self._index, self._document_id, self._ids = index, document_id, ids
        self._vectors = index.vectors("entity", ids)
        self._claims = claims_by_subject(claims, aliases, index.by_id)
        reports = index.reports(_FINEST, document_id)
        self._reports = [replace(report, document_id=None) for report in reports]

    def nearest(self, vector: np.ndarray, n: int) -> Mapping[str, float]:
        """Return the entities nearest to a unit vector `(dim,)` with their cosines."""
        return {self._ids[i]: cosine for i, cosine in nearest(vector, self._vectors, self._ids, n)}

    def known_of(self, near: Mapping[str, float]) -> Sequence[Passage]:
        """Return entities, then their relationships and claims in turn.

        Relationships between two of the entities come first, then the heaviest.
        """
        by_id = self._index.by_id
        related = {}
        for entity_id in near:
            for row in self._index.relationships_of.get(entity_id, ()):
                if self._document_id in (None, *row["document_ids"]):
                    n_near = (row["source_id"] in near) + (row["target_id"] in near)
                    related[-n_near, -row["weight"], row["relationship_id"]] = row
        relationships = (
            Passage(key[-1], "relationship", relationship_text(row, by_id), row["weight"])
            for key, row in sorted(related.items())
        )
        claims = (
            [
                Passage(claim_id(row), "claim", text, cosine)
                for text, row in self._claims.get(entity_id, {}).items()
            ]
            for entity_id, cosine in near.items()
        )
        entities = (Passage(i, "entity", entity_text(by_id[i]), near[i]) for i in near)
        return [*entities, *_in_turn(relationships, _in_turn(*claims))]

    def reports_on(self, near: Mapping[str, float]) -> Sequence[Passage]:
        """Return the reports of communities with most of these entities, ties by rating.

        They have no document_id, like entities, so that they are not sorted among chunks.
        """
        members = self._index.members
        n_near = {one.node_id: len(members[one.node_id] & near.keys()) for one in self._reports}
        about = (report for report in self._reports if n_near[report.node_id])
        return sorted(about, key=lambda one: (-n_near[one.node_id], -one.score, one.node_id))


def _in_turn(*groups: Iterable[Passage]) -> Iterator[Passage]:
    """Yield the first of each group, then the second ones, and so on."""
    for row in zip_longest(*groups):
        yield from (passage for passage in row if passage is not None)


def _best_chunks(rankings: pa.Table, chunks: pa.Table) -> Mapping[str, Sequence[Passage]]:
    """Return the ranked chunks of each question, best first."""
    is_ranked = pc.is_in(chunks["chunk_id"], value_set=pc.unique(rankings["item_id"]))
    chunk_of = {row["chunk_id"]: row for row in chunks.filter(is_ranked).to_pylist()}
    nodes = rankings.filter(pc.equal(rankings["level"], "node")).sort_by("rank")
    return {
        query_id: [chunk_passage(chunk_of[row["item_id"]], row["score"]) for row in rows]
        for query_id, rows in rows_by(nodes, "query_id").items()
    }


def fitting(passages: Sequence[Passage], sizes: Mapping[str, int], room: Room) -> Sequence[Passage]:
    """Return the first passages that fit together, by the length of each text."""
    return passages[: n_fitting([sizes[passage.text] for passage in passages], room)]


def chunk_passage(row: dict, score: float = 0.0) -> Passage:
    """Return a row of `chunks` as a passage."""
    identity = row["document_id"], row["position"]
    return Passage(row["chunk_id"], "chunk", row["text"], score, *identity)


def _draw(item_id: str) -> str:
    """Return a random sort key that does not depend on other items."""
    return hash_texts(["0", item_id])  # "0" is the seed
