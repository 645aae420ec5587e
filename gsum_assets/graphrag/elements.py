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
    texts = {entity_id: entity_text(row) for entity_id, row in row_of.items()}
    joined = {i: relationship_text(row, row_of) for i, row in related.items()}
    said = claims_by_subject(claims, aliases, row_of)
    about = (text for of_entity in said.values() for text in of_entity)
    sizes = lengths([*texts.values(), *joined.values(), *about], count_tokens)
    return Elements(
        {i: Element(texts[i], sizes[texts[i]], [i], row["chunk_ids"]) for i, row in row_of.items()},
        {
            i: Element(
                joined[i], sizes[joined[i]], [row["source_id"], row["target_id"]], row["chunk_ids"]
            )
            for i, row in related.items()
        },
        {
            i: [
                Element(text, sizes[text], [i], [row["chunk_id"]])
                for text, row in of_entity.items()
            ]
            for i, of_entity in said.items()
        },
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


def claims_by_subject(
    claims: pa.Table, aliases: pa.Table, entities: Mapping[str, Mapping]
) -> Mapping[str, Mapping[str, dict]]:
    """Return the first row of each distinct text of a claim, by the entity that it is about.

    Texts are in reading order. Claims about names that were pruned are left out.
    """
    entity_of = entity_finder(aliases)
    said: dict[str, dict[str, dict]] = defaultdict(dict)
    for row in by_document(claims):
        entity_id = entity_of(row["subject_key"], row["subject_type"])
        if entity_id is not None:
            said[entity_id].setdefault(claim_text(row, entities[entity_id]["name"]), row)
    return said


def claim_text(claim: Mapping, subject: str) -> str:
    """Return the text of a claim."""
    status = "" if claim["status"] == "true" else f", {claim['status']}"
    dates = " to ".join(d for d in (claim["start_date"], claim["end_date"]) if d)
    return f"Claim about {subject}{status}:\n{claim['description']}{f' ({dates})' if dates else ''}"


def claim_id(claim: Mapping) -> str:
    """Return the id of a claim, that of its chunk and its position there."""
    return f"{claim['chunk_id']}-{claim['position']}"


def chunk_of_claim(claim_id: str) -> str:
    """Return the id of the chunk of a claim, from `claim_id`."""
    return claim_id.rpartition("-")[0]


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
