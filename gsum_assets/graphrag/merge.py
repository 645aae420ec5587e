"""Merging of mentions into entities and relationships (2.3)."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from gsum_assets.graphrag.descriptions import Described, merge_descriptions
from gsum_assets.graphrag.entity_names import PERSON, entity_finder, is_unknown
from gsum_assets.graphrag.name_forms import parse_person
from gsum_assets.graphrag.prompts import PROMPTS
from gsum_assets.pipeline.prompts import Prompts
from gsum_assets.pipeline.result import Result
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.protocols.models import LanguageModel
from gsum_resources.store.content_hash import hash_texts
from gsum_resources.text.entities import UNTYPED

_SURE = 3  # a type of one mention outweighs so many mentions without a sign of any


@dataclass
class _Gathered:
    """The combined mentions of an entity or a pair.

    Attributes
    ----------
    types, guesses : types of an entity, by a sign of them and without.
    directions, strengths : of a pair's mentions.
    """

    texts: dict[str, None] = field(default_factory=dict)
    chunks: set[str] = field(default_factory=set)
    documents: set[str] = field(default_factory=set)
    types: Counter[str] = field(default_factory=Counter)
    guesses: Counter[str] = field(default_factory=Counter)
    directions: Counter[tuple[str, str]] = field(default_factory=Counter)
    strengths: list[int] = field(default_factory=list)

    def add(self, mention: Mapping) -> None:
        if mention["description"]:
            self.texts[mention["description"]] = None
        self.chunks.add(mention["chunk_id"])
        self.documents.add(mention["document_id"])

    def ordered_types(self) -> list[tuple[str, int]]:
        """Return types with numbers, the most frequent first, guesses last if they are not most."""
        votes = {kind: n for kind, n in self.types.items() if _SURE * n >= self.guesses.total()}
        return sorted(
            (self.types + self.guesses).items(),
            key=lambda item: (item[0] not in votes, -item[1], item[0]),
        )

    def columns(self, thing: Described) -> dict:
        """Return the columns that entities and relationships share."""
        return {
            "description": thing.text,
            "n_descriptions": len(self.texts),
            "chunk_ids": sorted(self.chunks),
            "document_ids": sorted(self.documents),
            **thing.usage,
        }


def merge_entities(
    mentions: pa.Table,
    relationship_mentions: pa.Table,
    aliases: pa.Table,
    model: LanguageModel,
    prompts: Prompts = PROMPTS,
) -> Result:
    """Return one row of `graphrag.entities` for each entity.

    The type is the most frequent one, ties by alphabet; all types are listed as variants. "Thing"
    by the extractive model says nothing, and counts a third. Several descriptions are merged by
    `model`. Pruned names have no entity.
    """
    entity_of = entity_finder(aliases)
    gathered: dict[str, _Gathered] = defaultdict(_Gathered)
    for mention in by_document(mentions):
        entity_id = entity_of(mention["name_key"], mention["type"])
        if entity_id is None:
            continue
        entity = gathered[entity_id]
        entity.add(mention)
        if mention["type"]:
            is_guess = is_unknown(mention["type"], mention["model"])
            (entity.guesses if is_guess else entity.types)[mention["type"]] += 1
    own_names = {row["entity_id"]: row for row in aliases.to_pylist() if row["rule"] == "own"}
    degree = Counter(end for pair in _pairs(relationship_mentions, entity_of) for end in pair)
    things = {
        entity_id: Described(own_names[entity_id]["name"], list(entity.texts))
        for entity_id, entity in sorted(gathered.items())
    }
    failures = merge_descriptions(things, model, prompts)
    rows = []
    for entity_id, thing in things.items():
        entity = gathered[entity_id]
        types = entity.ordered_types()
        rows.append(
            {
                "entity_id": entity_id,
                "name": thing.name,
                "name_key": own_names[entity_id]["name_key"],
                "type": types[0][0] if types else "",
                "type_variants": [f"{kind}: {n}" for kind, n in types],
                "n_mentions": len(entity.chunks),
                "degree": degree[entity_id],
                **entity.columns(thing),
            }
        )
    _type_by_family(rows, {i for i, entity in gathered.items() if entity.guesses})
    return Result(pa.Table.from_pylist(rows, TABLES["graphrag.entities"].schema), failures)


def _type_by_family(rows: Sequence[dict], guessed: Collection[str]) -> None:
    """Make persons of names of no known type that share a first or last word with a person's."""
    parsed = (parse_person(row["name"], row["name_key"]) for row in rows)
    words_of = [person.ends or {person.bare} for person in parsed]
    is_person = [row["type"] == PERSON for row in rows]
    persons = set().union(
        *(words for words, is_one in zip(words_of, is_person, strict=True) if is_one)
    )
    for row, words in zip(rows, words_of, strict=True):
        if row["type"] == UNTYPED and row["entity_id"] in guessed and words & persons:
            row["type"] = PERSON


def merge_relationships(
    mentions: pa.Table,
    aliases: pa.Table,
    entities: pa.Table,
    model: LanguageModel,
    prompts: Prompts = PROMPTS,
) -> Result:
    """Return one row of `graphrag.relationships` for each pair of entities, in either direction.

    Mentions between two names of one entity are left out. Parameters are those of `merge_entities`.
    """
    entity_row_of = {row["entity_id"]: row for row in entities.to_pylist()}
    things, ends_of = {}, {}
    for ends, pair in _pairs(mentions, entity_finder(aliases)).items():
        relationship_id = hash_texts(["relationship", *ends])
        source, target = min(pair.directions, key=lambda ends: (-pair.directions[ends], ends))
        ends_of[relationship_id] = source, target, pair
        name = f"{entity_row_of[source]['name']} and {entity_row_of[target]['name']}"
        things[relationship_id] = Described(name, list(pair.texts))
    things = dict(sorted(things.items()))
    failures = merge_descriptions(things, model, prompts)
    rows = []
    for relationship_id, thing in things.items():
        source, target, pair = ends_of[relationship_id]
        rows.append(
            {
                "relationship_id": relationship_id,
                "source_id": source,
                "target_id": target,
                "weight": float(len(pair.strengths)),
                "strength": sum(pair.strengths) / len(pair.strengths),
                "combined_degree": sum(entity_row_of[end]["degree"] for end in (source, target)),
                **pair.columns(thing),
            }
        )
    return Result(pa.Table.from_pylist(rows, TABLES["graphrag.relationships"].schema), failures)


def by_document(mentions: pa.Table) -> Iterable[dict]:
    """Return rows sorted by document, in their order within a document."""
    return sorted(mentions.to_pylist(), key=lambda row: row["document_id"])


def _pairs(
    mentions: pa.Table, entity_of: Callable[[str, str | None], str | None]
) -> dict[tuple[str, str], _Gathered]:
    """Return the combined mentions of each pair of entities, by their sorted ids."""
    pair_of: dict[tuple[str, str], _Gathered] = defaultdict(_Gathered)
    for mention in by_document(mentions):
        source, target = (
            entity_of(mention[f"{end}_key"], mention[f"{end}_type"]) for end in ("source", "target")
        )
        if source is None or target is None or source == target:
            continue
        pair = pair_of[min(source, target), max(source, target)]
        pair.add(mention)
        pair.directions[source, target] += 1
        pair.strengths.append(mention["strength"])
    return pair_of
