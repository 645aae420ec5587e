"""Contexts of local answers: the entities nearest to a question, their reports and chunks.

This follows the local search of Microsoft's package, which the paper does not describe.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from gsum_assets.evaluation.answer import answer_room
from gsum_assets.evaluation.budget import CountTokens, lengths
from gsum_assets.evaluation.passages import Passage
from gsum_assets.graphrag.contexts import best_chunks, within
from gsum_assets.graphrag.elements import entity_text, relationship_text
from gsum_assets.graphrag.index_tables import Index, Seen
from gsum_assets.graphrag.rank import entities_within, nearest
from gsum_assets.graphrag.settings import AnswerSettings

_LEVEL = 99  # of reports: the finest


class Around:
    """Choice of the entities nearest to a question, their relationships, reports, and chunks.

    By default chunks have half of the prompt, reports 15%, and entities and relationships the rest;
    space that one kind leaves is used by the next.
    """

    def __init__(
        self,
        index: Index,
        rankings: pa.Table,
        chunks: pa.Table,
        vectors: Mapping[str, np.ndarray],
        settings: AnswerSettings,
        max_words: int,
        count_tokens: CountTokens,
    ) -> None:
        self._index = index
        self._best = best_chunks(rankings, chunks)
        self._chunks_of: dict[str, list[str]] = {}
        for row in chunks.select(["chunk_id", "document_id"]).to_pylist():
            self._chunks_of.setdefault(row["document_id"], []).append(row["chunk_id"])
        self._vectors = vectors
        self._settings = settings
        self._max_words = max_words
        self._count_tokens = count_tokens
        self._scopes: dict[str | None, tuple[list[str], np.ndarray, list[Seen]]] = {}

    def __call__(self, query: dict) -> Sequence[Passage]:
        """Return the passages of a row of `queries`, in the order in which they are read."""
        scope = query["document_id"]
        ids, vectors, seen = self._of_scope(scope)
        vector, n = self._vectors[query["query_id"]], self._settings.n_entities
        near = {ids[i]: cosine for i, cosine in nearest(vector, vectors, ids, n)} if ids else {}
        share_chunks, share_reports = self._settings.share_chunks, self._settings.share_reports
        kinds = (  # each with the share of the prompt reserved for the following kinds
            (list(_entities(self._index, near, scope)), share_chunks + share_reports),
            (list(_reports(self._index, near, seen)), share_chunks),
            (list(self._best.get(query["query_id"], ())), 0.0),
        )
        sizes = lengths((item.text for kind, _ in kinds for item in kind), self._count_tokens)
        room = answer_room(query, self._settings.prompt_tokens, self._max_words, self._count_tokens)
        chosen: list[Passage] = []
        left = room.tokens
        for kind, kept_free in kinds:
            fitting = list(within(kind, sizes, left - int(kept_free * room.tokens), room.mark))
            left -= sum(sizes[item.text] + room.mark for item in fitting)
            chosen += fitting
        return chosen

    def _of_scope(self, document_id: str | None) -> tuple[list[str], np.ndarray, list[Seen]]:
        """Return entities, their vectors `(n_entities, dim)`, and reports of a scope."""
        if document_id not in self._scopes:
            ids = (
                list(self._index.by_id)
                if document_id is None
                else entities_within(self._index, self._chunks_of.get(document_id, []))
            )
            vectors = self._index.vectors("entity", ids) if ids else np.empty((0, 0))
            self._scopes[document_id] = ids, vectors, self._index.reports(_LEVEL, document_id)
        return self._scopes[document_id]


def _entities(index: Index, near: Mapping[str, float], scope: str | None) -> Iterator[Passage]:
    """Yield the nearest entities, then their relationships, those between them first, by weight."""
    for entity_id, cosine in near.items():
        yield Passage(entity_id, "entity", entity_text(index.by_id[entity_id]), cosine)
    related = {
        row["relationship_id"]: row
        for entity_id in near
        for row in index.relationships_of.get(entity_id, ())
        if scope is None or scope in row["document_ids"]
    }

    def n_near(row: dict) -> int:
        return (row["source_id"] in near) + (row["target_id"] in near)

    for row in sorted(
        related.values(), key=lambda row: (-n_near(row), -row["weight"], row["relationship_id"])
    ):
        text = relationship_text(row, index.by_id)
        yield Passage(row["relationship_id"], "relationship", text, row["weight"])


def _reports(index: Index, near: Mapping[str, float], seen: Sequence[Seen]) -> Iterator[Passage]:
    """Yield the reports of communities with most of the nearest entities, ties by rating.

    They have no document_id, like entities, so that they are not sorted among chunks.
    """
    members = index.members
    held = {item.community_id: len(members[item.community_id] & near.keys()) for item in seen}
    for item in sorted(
        seen, key=lambda item: (-held[item.community_id], -item.rating, item.community_id)
    ):
        if held[item.community_id]:
            yield Passage(item.community_id, "report", item.text, item.rating)
