"""Merging of mentions into entities and relationships (2.3)."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from gsum_assets.evaluation.budget import CountTokens
from gsum_assets.graphrag.descriptions import Described, merge_descriptions
from gsum_assets.graphrag.name_groups import PERSON, entity_finder, is_unknown
from gsum_assets.graphrag.persons import take_apart
from gsum_assets.graphrag.prompts import PROMPTS
from gsum_assets.graphrag.settings import MergingSettings
from gsum_assets.pipeline.prompts import Prompts
from gsum_assets.pipeline.result import Result
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.protocols.models import LanguageModel
from gsum_resources.store.content_hash import hash_texts
from gsum_resources.text.entities import UNTYPED

_SURE = 3  # a type of one mention outweighs so many mentions without a sign of any


@dataclass
class _Gathered:
    """The combined mentions of one thing."""

    texts: dict[str, None] = field(default_factory=dict)
    chunks: dict[str, None] = field(default_factory=dict)
    documents: dict[str, None] = field(default_factory=dict)

    def add(self, mention: Mapping) -> None:
        if mention["description"]:
            self.texts[mention["description"]] = None
        self.chunks[mention["chunk_id"]] = None
        self.documents[mention["document_id"]] = None


@dataclass
class _Entity(_Gathered):
    types: Counter[str] = field(default_factory=Counter)
    guesses: Counter[str] = field(default_factory=Counter)

    def ordered_types(self) -> list[tuple[str, int]]:
        """Return types with numbers, the most frequent first, guesses last if they are not most."""
        votes = {kind: n for kind, n in self.types.items() if _SURE * n >= self.guesses.total()}
        return sorted(
            (self.types + self.guesses).items(),
            key=lambda item: (item[0] not in votes, -item[1], item[0]),
        )


@dataclass
class _Pair(_Gathered):
    directions: Counter[tuple[str, str]] = field(default_factory=Counter)
    strengths: list[int] = field(default_factory=list)


def merge_entities(
    mentions: pa.Table,
    relationship_mentions: pa.Table,
    aliases: pa.Table,
    model: LanguageModel,
    settings: MergingSettings,
    count_tokens: CountTokens,
    prompts: Prompts = PROMPTS,
) -> Result:
    """Return one row of `graphrag.entities` for each entity.

    The type is the most frequent one, ties by alphabet; all types are kept as variants. "Thing" by
    the extractive model says nothing, and counts a third. Several descriptions are merged by
    `model`. Pruned names have no entity.
    """
    entity_of = entity_finder(aliases)
    gathered: dict[str, _Entity] = defaultdict(_Entity)
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
    failures = merge_descriptions(things, model, settings, count_tokens, prompts)
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
                "description": thing.text,
                "n_descriptions": len(entity.texts),
                "n_mentions": len(entity.chunks),
                "degree": degree[entity_id],
                "chunk_ids": sorted(entity.chunks),
                "document_ids": sorted(entity.documents),
                **thing.usage,
            }
        )
    _type_by_family(rows, {i for i, entity in gathered.items() if entity.guesses})
    return Result(pa.Table.from_pylist(rows, TABLES["graphrag.entities"].schema), failures)


def _type_by_family(rows: Sequence[dict], guessed: Collection[str]) -> None:
    """Make persons of names of no known type that share a first or last word with a person's."""
    words_of = [
        named.ends or {named.bare}
        for named in (take_apart(row["name"], row["name_key"]) for row in rows)
    ]
    persons = {
        word
        for row, words in zip(rows, words_of, strict=True)
        if row["type"] == PERSON
        for word in words
    }
    for row, words in zip(rows, words_of, strict=True):
        if row["type"] == UNTYPED and row["entity_id"] in guessed and words & persons:
            row["type"] = PERSON


def merge_relationships(
    mentions: pa.Table,
    aliases: pa.Table,
    entities: pa.Table,
    model: LanguageModel,
    settings: MergingSettings,
    count_tokens: CountTokens,
    prompts: Prompts = PROMPTS,
) -> Result:
    """Return one row of `graphrag.relationships` for each pair of entities, in either direction.

    Mentions between two names of one entity are left out. Parameters are those of `merge_entities`.
    """
    entity_of = entity_finder(aliases)
    entity_row_of = {row["entity_id"]: row for row in entities.to_pylist()}
    gathered = _pairs(mentions, entity_of)
    things, ends_of = {}, {}
    for ends, pair in gathered.items():
        relationship_id = hash_texts(["relationship", *ends])
        source, target = min(pair.directions, key=lambda ends: (-pair.directions[ends], ends))
        ends_of[relationship_id] = source, target, pair
        name = f"{entity_row_of[source]['name']} and {entity_row_of[target]['name']}"
        things[relationship_id] = Described(name, list(pair.texts))
    things = dict(sorted(things.items()))
    failures = merge_descriptions(things, model, settings, count_tokens, prompts)
    rows = []
    for relationship_id, thing in things.items():
        source, target, pair = ends_of[relationship_id]
        rows.append(
            {
                "relationship_id": relationship_id,
                "source_id": source,
                "target_id": target,
                "description": thing.text,
                "n_descriptions": len(pair.texts),
                "weight": float(len(pair.strengths)),
                "strength": sum(pair.strengths) / len(pair.strengths),
                "combined_degree": entity_row_of[source]["degree"]
                + entity_row_of[target]["degree"],
                "chunk_ids": sorted(pair.chunks),
                "document_ids": sorted(pair.documents),
                **thing.usage,
            }
        )
    return Result(pa.Table.from_pylist(rows, TABLES["graphrag.relationships"].schema), failures)


def by_document(mentions: pa.Table) -> Iterable[dict]:
    """Return rows sorted by document, in their order within a document."""
    return sorted(mentions.to_pylist(), key=lambda row: row["document_id"])


def _pairs(
    mentions: pa.Table, entity_of: Callable[[str, str | None], str | None]
) -> dict[tuple[str, str], _Pair]:
    """Return the combined mentions of each pair of entities, by their sorted ids."""
    pair_of: dict[tuple[str, str], _Pair] = defaultdict(_Pair)
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
