"""What lies around the entities nearest to a question: their neighbourhood, reports and chunks.

After the local search of Microsoft's package, which the paper does not describe.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from gsum_assets.evaluation.budget import CountTokens, lengths
from gsum_assets.graphrag.contexts import Choose, Passage, answer_room, best_chunks, within
from gsum_assets.graphrag.elements import entity_text, relationship_text
from gsum_assets.graphrag.index import Index, Seen
from gsum_assets.graphrag.rank import entities_within, nearest
from gsum_assets.graphrag.settings import AnswerSettings

_LEVEL = 99  # of reports: the finest


def around_entities(
    index: Index,
    rankings: pa.Table,
    chunks: pa.Table,
    vectors: Mapping[str, np.ndarray],
    settings: AnswerSettings,
    max_words: int,
    count_tokens: CountTokens,
) -> Choose:
    """Entities near the question with their relationships, then reports, then chunks.

    Chunks have half of the prompt, reports a seventh, entities and relationships the rest
    (`settings`); what one of them leaves is the next one's.

    Parameters
    ----------
    vectors : of each question by query_id, `(dim,)`.
    """
    best = best_chunks(rankings, chunks)
    of_scope: dict[str | None, list[str]] = {None: list(index.by_id)}
    by_document: dict[str, list[str]] = {}
    for row in chunks.select(["chunk_id", "document_id"]).to_pylist():
        by_document.setdefault(row["document_id"], []).append(row["chunk_id"])
    seen: dict[str | None, list[Seen]] = {}

    def choose(query: dict) -> Sequence[Passage]:
        scope = query["document_id"]
        if scope not in of_scope:
            of_scope[scope] = entities_within(index, by_document.get(scope, []))
        if scope not in seen:
            seen[scope] = index.reports(_LEVEL, scope)
        ids = of_scope[scope]
        found = (
            nearest(
                vectors[query["query_id"]], index.vectors("entity", ids), ids, settings.n_entities
            )
            if ids
            else []
        )
        near = {ids[place]: cosine for place, cosine in found}
        kinds = (
            list(_entities(index, near, scope)),
            list(_reports(index, near, seen[scope])),
            list(best.get(query["query_id"], ())),
        )
        sizes = lengths((one.text for kind in kinds for one in kind), count_tokens)
        room = answer_room(query, settings, max_words, count_tokens)
        chosen: list[Passage] = []
        left = room.tokens
        for kind, kept_free in zip(
            kinds,
            (settings.share_chunks + settings.share_reports, settings.share_chunks, 0.0),
            strict=True,
        ):
            free = left - int(kept_free * room.tokens)
            taken = list(within(kind, sizes, free, room.mark))
            left -= sum(sizes[one.text] + room.mark for one in taken)
            chosen += taken
        return chosen

    return choose


def _entities(index: Index, near: Mapping[str, float], scope: str | None) -> Iterator[Passage]:
    """The nearest entities, then their relationships: those between them first, heaviest first."""
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
