"""Elements of communities as texts for prompts, and their selection by length (2.5)."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from gsum_assets.evaluation.budget import CountTokens, Room, lengths
from gsum_assets.graphrag.merge import by_document
from gsum_assets.graphrag.name_groups import entity_finder


@dataclass(frozen=True)
class Element:
    """An entity, a relationship, a claim, or a report on a child community.

    Attributes
    ----------
    size : length of the text, word pieces.
    chunk_ids : chunks that support it; each mentions at least one of these entities.
    """

    text: str
    size: int
    entity_ids: Sequence[str]
    chunk_ids: Sequence[str]


@dataclass(frozen=True)
class Elements:
    """All elements of a corpus.

    Attributes
    ----------
    claims : claims by entity_id, in reading order.
    """

    entities: Mapping[str, Element]
    relationships: Mapping[str, Element]
    claims: Mapping[str, Sequence[Element]]
    degrees: Mapping[str, int]

    def of(self, community: Mapping) -> list[Element]:
        """Return the elements of a community, most important first.

        Relationships are ordered by the total degree of their ends, each after its ends and their
        claims; entities without a relationship inside the community come last.
        """
        first = sorted(
            community["relationship_ids"],
            key=lambda i: (
                -sum(self.degrees[e] for e in self.relationships[i].entity_ids),
                self.relationships[i].text,
            ),
        )
        of_first = (end for i in first for end in (*self.relationships[i].entity_ids, i))
        ordered = dict.fromkeys([*of_first, *community["entity_ids"]])
        return [element for i in ordered for element in self._about(i)]

    def _about(self, i: str) -> Sequence[Element]:
        """Return a relationship, or an entity and its claims."""
        if i in self.relationships:
            return [self.relationships[i]]
        return [self.entities[i], *self.claims.get(i, ())]


def elements_of(
    entities: pa.Table,
    relationships: pa.Table,
    claims: pa.Table,
    aliases: pa.Table,
    count_tokens: CountTokens,
) -> Elements:
    """Return the elements of a corpus from the rows of these tables."""
    row_of = {row["entity_id"]: row for row in entities.to_pylist()}
    related = {row["relationship_id"]: row for row in relationships.to_pylist()}
    claimed: dict[str, dict[str, Element]] = defaultdict(dict)
    texts = {entity_id: entity_text(row) for entity_id, row in row_of.items()}
    joined = {i: relationship_text(row, row_of) for i, row in related.items()}
    entity_of = entity_finder(aliases)
    claims_of_row = [
        (entity_id, row)
        for row in by_document(claims)
        if (entity_id := entity_of(row["subject_key"], row["subject_type"])) is not None
    ]
    about = [claim_text(row, row_of[entity_id]["name"]) for entity_id, row in claims_of_row]
    sizes = lengths([*texts.values(), *joined.values(), *about], count_tokens)
    for (entity_id, row), text in zip(claims_of_row, about, strict=True):
        claim = Element(text, sizes[text], [entity_id], [row["chunk_id"]])
        claimed[entity_id].setdefault(text, claim)
    return Elements(
        {i: Element(texts[i], sizes[texts[i]], [i], row["chunk_ids"]) for i, row in row_of.items()},
        {
            i: Element(
                joined[i], sizes[joined[i]], [row["source_id"], row["target_id"]], row["chunk_ids"]
            )
            for i, row in related.items()
        },
        {entity_id: list(by_text.values()) for entity_id, by_text in claimed.items()},
        {i: row["degree"] for i, row in row_of.items()},
    )


def entity_text(entity: Mapping) -> str:
    """Return the text of an entity, with its name on a separate line."""
    kind = f" ({entity['type']})" if entity["type"] else ""
    kind = "" if entity["name"].endswith(kind) else kind  # a homonym has it in its name
    return f"{entity['name']}{kind}:\n{entity['description']}".strip()


def relationship_text(relationship: Mapping, entities: Mapping[str, Mapping]) -> str:
    """Return the text of a relationship."""
    source, target = (entities[relationship[end]]["name"] for end in ("source_id", "target_id"))
    return f"{source} and {target}:\n{relationship['description']}".strip()


def claim_text(claim: Mapping, subject: str) -> str:
    """Return the text of a claim."""
    status = "" if claim["status"] == "true" else f", {claim['status']}"
    dates = " to ".join(d for d in (claim["start_date"], claim["end_date"]) if d)
    return f"Claim about {subject}{status}:\n{claim['description']}{f' ({dates})' if dates else ''}"


def fitting(elements: Sequence[Element], room: Room) -> list[Element]:
    """Return the first elements that fit together."""
    fits, used = [], 0
    for element in elements:
        used += element.size + room.mark
        if used > room.tokens:
            break
        fits.append(element)
    return fits


def total(elements: Sequence[Element], room: Room) -> int:
    """Return the length of elements as passages of a prompt, word pieces."""
    return sum(element.size + room.mark for element in elements)
