"""Elements of communities as texts for prompts (2.5), and the chunks that support findings."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa

from gsum_assets.corpus.names import holds, name_key
from gsum_assets.evaluation.budget import CountTokens, lengths
from gsum_assets.graphrag.entity_names import entity_finder
from gsum_assets.graphrag.given_files import Passage
from gsum_assets.graphrag.merge import by_document
from gsum_assets.graphrag.schemas import Finding

_MOST_CITED = 10  # chunks per finding, plus one for each entity that these do not mention


@dataclass(frozen=True)
class Element:
    """An entity, a relationship, a claim, or a report on a child; its size is in word pieces."""

    text: str
    size: int
    entity_ids: Sequence[str]
    chunk_ids: Sequence[str]


@dataclass(frozen=True)
class Elements:
    """All elements of a corpus, by id, and the passage of each chunk.

    `name_keys` lack the sense of a homonym: a finding says "Washington" also of the place.
    """

    entities: Mapping[str, Element]
    relationships: Mapping[str, Element]
    claims: Mapping[str, Sequence[Element]]
    degrees: Mapping[str, int]
    name_keys: Mapping[str, str]
    passage_of: Mapping[str, Passage]

    @cached_property
    def ids_of_name(self) -> Mapping[str, Sequence[str]]:
        """Entities by `name_key`, which homonyms share."""
        ids: dict[str, list[str]] = defaultdict(list)
        for entity_id, key in self.name_keys.items():
            ids[key].append(entity_id)
        return ids

    def within(self, passages: Sequence[Passage], cited: Sequence[Element]) -> list[Element]:
        """Return elements with those of their chunks that overlap the passages, if any does."""

        def overlaps(chunk_id: str) -> bool:
            chunk = self.passage_of[chunk_id]
            return any(
                p.document_id == chunk.document_id and p.start < chunk.end and chunk.start < p.end
                for p in passages
            )

        return [
            replace(e, chunk_ids=[*filter(overlaps, e.chunk_ids)] or e.chunk_ids) for e in cited
        ]

    def of(self, community: Mapping) -> list[Element]:
        """Return the elements of a community: relationships by total degree of their ends (2.5).

        Each comes after its ends and their claims; entities without any come last.
        """
        first = sorted(
            community["relationship_ids"],
            key=lambda i: (
                -sum(self.degrees[e] for e in self.relationships[i].entity_ids),
                self.relationships[i].text,
            ),
        )
        of_first = (end for i in first for end in (*self.relationships[i].entity_ids, i))
        ordered: list[Element] = []
        for i in dict.fromkeys([*of_first, *community["entity_ids"]]):
            if i in self.relationships:
                ordered.append(self.relationships[i])
            else:
                ordered += [self.entities[i], *self.claims.get(i, ())]
        return ordered

    def cited(self, finding: Finding, shown: Sequence[Element]) -> list[Element]:
        """Return the passages with chunks that a finding cites, or else entities that it names."""
        numbers = dict.fromkeys(n for n in finding.references if 1 <= n <= len(shown))
        if named := [shown[n - 1] for n in numbers if shown[n - 1].chunk_ids]:
            return named
        finding_key = name_key(f"{finding.summary} {finding.explanation}")
        ids = dict.fromkeys(e for element in shown for e in element.entity_ids)
        return [self.entities[e] for e in ids if holds(finding_key, self.name_keys[e])]

    def support(self, cited: Sequence[Element]) -> Mapping[str, list[str]]:
        """Return entities, chunks and documents of a finding, preferring chunks with many entities.

        Every entity is mentioned by one of the chunks.
        """
        entity_ids = list(dict.fromkeys(e for element in cited for e in element.entity_ids))
        chunks_of = {e: frozenset(self.entities[e].chunk_ids) for e in entity_ids}
        votes: dict[str, int] = defaultdict(int)
        for element in cited:
            for chunk_id in element.chunk_ids:
                votes[chunk_id] += 1 + sum(chunk_id in chunks_of[e] for e in entity_ids)
        most_cited = sorted(votes, key=lambda c: (-votes[c], c))[:_MOST_CITED]
        for entity_id in entity_ids:
            if chunks_of[entity_id].isdisjoint(most_cited):
                most_cited.append(min(chunks_of[entity_id]))
        return {
            "entity_ids": sorted(entity_ids),
            "chunk_ids": sorted(most_cited),
            "document_ids": sorted({self.passage_of[c].document_id for c in most_cited}),
        }


def elements_of(
    entities: pa.Table,
    relationships: pa.Table,
    claims: pa.Table,
    aliases: pa.Table,
    chunks: pa.Table,
    count_tokens: CountTokens,
) -> Elements:
    """Return the elements of a corpus from the rows of these tables."""
    row_of = {row["entity_id"]: row for row in entities.to_pylist()}
    related = relationships.to_pylist()
    claims_of = claims_by_subject(claims, aliases, row_of)
    texts = [
        *((entity_text(row), [i], row["chunk_ids"]) for i, row in row_of.items()),
        *(
            (relationship_text(row, row_of), [row["source_id"], row["target_id"]], row["chunk_ids"])
            for row in related
        ),
        *(
            (text, [i], [row["chunk_id"]])
            for i, of_entity in claims_of.items()
            for text, row in of_entity.items()
        ),
    ]
    sizes = lengths((text for text, *_ in texts), count_tokens)
    columns = ["chunk_id", "document_id", "start", "end"]
    elements = iter([Element(text, sizes[text], *ids) for text, *ids in texts])
    return Elements(
        {i: next(elements) for i in row_of},
        {row["relationship_id"]: next(elements) for row in related},
        {i: [next(elements) for _ in of_entity] for i, of_entity in claims_of.items()},
        {i: row["degree"] for i, row in row_of.items()},
        {i: row["name_key"].partition(" [")[0] for i, row in row_of.items()},
        {
            row["chunk_id"]: Passage.model_validate(row)
            for row in chunks.select(columns).to_pylist()
        },
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
    """Return the first row of each distinct text of a claim, by the entity that it is about."""
    entity_of = entity_finder(aliases)
    claims_of: dict[str, dict[str, dict]] = defaultdict(dict)
    for row in by_document(claims):
        if entity_id := entity_of(row["subject_key"], row["subject_type"]):
            text = _claim_text(row, entities[entity_id]["name"])
            claims_of[entity_id].setdefault(text, row)
    return claims_of


def _claim_text(claim: Mapping, subject: str) -> str:
    status = "" if claim["status"] == "true" else f", {claim['status']}"
    dates = " to ".join(d for d in (claim["start_date"], claim["end_date"]) if d)
    return f"Claim about {subject}{status}:\n{claim['description']}{f' ({dates})' if dates else ''}"


def claim_id(claim: Mapping) -> str:
    """Return the id of a claim, that of its chunk and its position there."""
    return f"{claim['chunk_id']}-{claim['position']}"


def chunk_of_claim(claim_id: str) -> str:
    """Return the id of the chunk of a claim, from `claim_id`."""
    return claim_id.rpartition("-")[0]
