"""Contexts of local answers: the entities nearest to a question, their reports and chunks.

This follows the local search of Microsoft's package, which the paper does not describe.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np
import pyarrow as pa

from gsum_assets.evaluation.answer import answer_room
from gsum_assets.evaluation.budget import CountTokens, lengths
from gsum_assets.evaluation.passages import Passage
from gsum_assets.graphrag.contexts import best_chunks, within
from gsum_assets.graphrag.elements import (
    claim_id,
    claims_by_subject,
    entity_text,
    relationship_text,
)
from gsum_assets.graphrag.index_tables import Index, Seen
from gsum_assets.graphrag.rank import entities_within, nearest
from gsum_assets.graphrag.settings import AnswerSettings, LocalSettings
from gsum_resources.store.arrow import pc

_LEVEL = 99  # of reports: the finest


class Around:
    """Choice of the entities nearest to a question, what is known of them, reports, and chunks.

    By default chunks have half of the prompt, reports 15%, and entities with their relationships
    and claims the rest; space that one kind leaves is used by the next.
    """

    def __init__(
        self,
        index: Index,
        rankings: pa.Table,
        chunks: pa.Table,
        vectors: Mapping[str, np.ndarray],
        scopes: "Scopes",
        local: LocalSettings,
        settings: AnswerSettings,
        max_words: int,
        count_tokens: CountTokens,
    ) -> None:
        self._index = index
        self._best = best_chunks(rankings, chunks)
        self._vectors = vectors
        self._scopes = scopes
        self._local = local
        self._settings = settings
        self._max_words = max_words
        self._count_tokens = count_tokens

    def __call__(self, query: dict) -> Sequence[Passage]:
        """Return the passages of a row of `queries`, in the order in which they are read."""
        scope = self._scopes.of(query["document_id"])
        vector, n = self._vectors[query["query_id"]], self._local.n_entities
        near: dict[str, float] = {}
        if scope.vectors is not None:
            found = nearest(vector, scope.vectors, scope.ids, n)
            near = {scope.ids[i]: cosine for i, cosine in found}
        share_chunks, share_reports = self._local.share_chunks, self._local.share_reports
        known = _in_turn(
            _relationships(self._index, near, query["document_id"]), _claims(scope.claims, near)
        )
        kinds = (  # each with the share of the prompt reserved for the following kinds
            ([*_entities(self._index, near), *known], share_chunks + share_reports),
            (list(_reports(self._index, near, scope.reports)), share_chunks),
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


class Scopes:
    """What is known of entities, in the whole corpus and in each document.

    Parameters
    ----------
    chunks : rows of `chunks`.
    claims, aliases : rows of `graphrag.claims` and `graphrag.aliases`.
    """

    def __init__(self, index: Index, chunks: pa.Table, claims: pa.Table, aliases: pa.Table) -> None:
        self._index, self._claims, self._aliases = index, claims, aliases
        self._chunks_of: dict[str, list[str]] = {}
        for row in chunks.select(["chunk_id", "document_id"]).to_pylist():
            self._chunks_of.setdefault(row["document_id"], []).append(row["chunk_id"])
        self._scopes: dict[str | None, _Scope] = {}

    def of(self, document_id: str | None) -> "_Scope":
        """Return the scope of a document; None: of the corpus."""
        if document_id not in self._scopes:
            ids, claims = list(self._index.by_id), self._claims
            if document_id is not None:
                ids = entities_within(self._index, self._chunks_of.get(document_id, []))
                claims = claims.filter(pc.equal(claims["document_id"], document_id))
            self._scopes[document_id] = _Scope(
                ids,
                self._index.vectors("entity", ids) if ids else None,
                claims_by_subject(claims, self._aliases, self._index.by_id),
                self._index.reports(_LEVEL, document_id),
            )
        return self._scopes[document_id]


@dataclass(frozen=True)
class _Scope:
    """Entities of a scope, vectors `(n_entities, dim)` if any, claims by entity, and reports."""

    ids: Sequence[str]
    vectors: np.ndarray | None
    claims: Mapping[str, Mapping[str, dict]]
    reports: Sequence[Seen]


def _entities(index: Index, near: Mapping[str, float]) -> Iterator[Passage]:
    """Yield the nearest entities."""
    for entity_id, cosine in near.items():
        yield Passage(entity_id, "entity", entity_text(index.by_id[entity_id]), cosine)


def _relationships(
    index: Index, near: Mapping[str, float], document_id: str | None
) -> Iterator[Passage]:
    """Yield the relationships of the nearest entities, those between them first, by weight."""
    related = {
        row["relationship_id"]: row
        for entity_id in near
        for row in index.relationships_of.get(entity_id, ())
        if document_id is None or document_id in row["document_ids"]
    }

    def n_near(row: dict) -> int:
        return (row["source_id"] in near) + (row["target_id"] in near)

    for row in sorted(
        related.values(), key=lambda row: (-n_near(row), -row["weight"], row["relationship_id"])
    ):
        text = relationship_text(row, index.by_id)
        yield Passage(row["relationship_id"], "relationship", text, row["weight"])


def _claims(
    claims: Mapping[str, Mapping[str, dict]], near: Mapping[str, float]
) -> Iterator[Passage]:
    """Yield claims about the nearest entities, one about each in turn."""
    of_entities = (
        [
            Passage(claim_id(row), "claim", text, cosine)
            for text, row in claims.get(entity_id, {}).items()
        ]
        for entity_id, cosine in near.items()
    )
    yield from _in_turn(*of_entities)


def _in_turn(*groups: Iterable[Passage]) -> Iterator[Passage]:
    """Yield the first of each group, then the second ones, and so on."""
    for row in zip_longest(*groups):
        yield from (passage for passage in row if passage is not None)


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
