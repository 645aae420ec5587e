"""What lies around the entities nearest to a question: their neighbourhood, reports and chunks.

After the local search of Microsoft's package, which the paper does not describe.
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
    """Chooses entities near a question with their relationships, then reports, then chunks.

    Chunks have half of the prompt, reports a seventh, entities and relationships the rest
    (`settings`); what one of them leaves is the next one's.

    Parameters
    ----------
    vectors : of each question by query_id, `(dim,)`.
    max_words : length of an answer, words.
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
        asked, n = self._vectors[query["query_id"]], self._settings.n_entities
        near = {ids[i]: cosine for i, cosine in nearest(asked, vectors, ids, n)} if ids else {}
        share_chunks, share_reports = self._settings.share_chunks, self._settings.share_reports
        wanted = (  # each with the share of the prompt that those after it have
            (list(_entities(self._index, near, scope)), share_chunks + share_reports),
            (list(_reports(self._index, near, seen)), share_chunks),
            (list(self._best.get(query["query_id"], ())), 0.0),
        )
        sizes = lengths((one.text for kind, _ in wanted for one in kind), self._count_tokens)
        room = answer_room(query, self._settings.prompt_tokens, self._max_words, self._count_tokens)
        chosen: list[Passage] = []
        left = room.tokens
        for kind, kept_free in wanted:
            taken = list(within(kind, sizes, left - int(kept_free * room.tokens), room.mark))
            left -= sum(sizes[one.text] + room.mark for one in taken)
            chosen += taken
        return chosen

    def _of_scope(self, document_id: str | None) -> tuple[list[str], np.ndarray, list[Seen]]:
        """Return entities, their vectors `(n_entities, dim)`, and reports of a document or the corpus."""
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
    """Yield the nearest entities, then their relationships: those between them first, heaviest first."""
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
    """Reports of the communities that hold most of the nearest entities, best rated first.

    Like entities they are of no document, or they would be read among the chunks of theirs.
    """
    members = index.members
    held = {one.community_id: len(members[one.community_id] & near.keys()) for one in seen}
    for one in sorted(
        seen, key=lambda one: (-held[one.community_id], -one.rating, one.community_id)
    ):
        if held[one.community_id]:
            yield Passage(one.community_id, "report", one.text, one.rating)
