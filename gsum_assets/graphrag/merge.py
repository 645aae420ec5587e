"""Merging of mentions into entities and relationships (2.3)."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import pyarrow as pa

from gsum_assets.graphrag.descriptions import Described, merge_descriptions
from gsum_assets.graphrag.entity_names import PERSON, entity_finder, is_unknown
from gsum_assets.graphrag.name_forms import parse_person
from gsum_assets.graphrag.prompts import PROMPTS
from gsum_assets.pipeline.prompts import Prompts
from gsum_assets.pipeline.result import Result, result_of
from gsum_resources.protocols.models import LanguageModel
from gsum_resources.store.content_hash import hash_texts
from gsum_resources.text.entities import UNTYPED

_SURE = 3  # a type of one mention outweighs so many mentions without a sign of any

Pair = tuple[str, str]


def merge_entities(
    mentions: pa.Table,
    relationship_mentions: pa.Table,
    aliases: pa.Table,
    model: LanguageModel,
    prompts: Prompts = PROMPTS,
) -> Result:
    """Return one row of `graphrag.entities` for each entity, with descriptions merged by `model`.

    The type is the most frequent one, ties by alphabet; all types are listed as variants.
    """
    entity_of = entity_finder(aliases)
    mentions_of: dict[str, list[dict]] = defaultdict(list)
    for mention in by_document(mentions):
        if entity_id := entity_of(mention["name_key"], mention["type"]):
            mentions_of[entity_id].append(mention)
    own_names = {row["entity_id"]: row for row in aliases.to_pylist() if row["rule"] == "own"}
    degree = Counter(end for pair in _pairs(relationship_mentions, entity_of) for end in pair)
    things = {
        entity_id: Described(own_names[entity_id]["name"], _texts(mentions_of[entity_id]))
        for entity_id in sorted(mentions_of)
    }
    failures = merge_descriptions(things, model, prompts)
    rows, guessed = [], set()
    for entity_id, thing in things.items():
        types, has_guess = _ordered_types(mentions_of[entity_id])
        if has_guess:
            guessed.add(entity_id)
        shared = _shared_columns(thing, mentions_of[entity_id])
        rows.append(
            {
                "entity_id": entity_id,
                "name": thing.name,
                "name_key": own_names[entity_id]["name_key"],
                "type": types[0][0] if types else "",
                "type_variants": [f"{kind}: {n}" for kind, n in types],
                "n_mentions": len(shared["chunk_ids"]),
                "degree": degree[entity_id],
                **shared,
            }
        )
    _type_by_family(rows, guessed)
    return result_of("graphrag", {"entities": rows}, failures)


def _ordered_types(mentions: Sequence[Mapping]) -> tuple[list[tuple[str, int]], bool]:
    """Return types with numbers, most frequent first, guesses last, and whether any is guessed."""
    types, guesses = Counter[str](), Counter[str]()
    for mention in mentions:
        if kind := mention["type"]:
            (guesses if is_unknown(kind, mention["model"]) else types)[kind] += 1
    voted = {kind for kind, n in types.items() if _SURE * n >= guesses.total()}
    counts = (types + guesses).items()
    return sorted(counts, key=lambda c: (c[0] not in voted, -c[1], c[0])), bool(guesses)


def _type_by_family(rows: Sequence[dict], guessed: Collection[str]) -> None:
    """Make persons of names of no known type that share a first or last word with a person's."""
    parsed = (parse_person(row["name"], row["name_key"]) for row in rows)
    words_of = [person.ends or {person.bare} for person in parsed]
    named = zip(rows, words_of, strict=True)
    persons = {word for row, words in named if row["type"] == PERSON for word in words}
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
    """Return one row of `graphrag.relationships` for each pair of entities, in either direction."""
    entity_row_of = {row["entity_id"]: row for row in entities.to_pylist()}
    things, pair_of = {}, {}
    for ends, directed in _pairs(mentions, entity_finder(aliases)).items():
        relationship_id = hash_texts(["relationship", *ends])
        counts = Counter(direction for direction, _ in directed)
        direction = min(counts, key=lambda ends: (-counts[ends], ends))
        of_pair = [mention for _, mention in directed]
        pair_of[relationship_id] = direction, of_pair
        name = " and ".join(entity_row_of[end]["name"] for end in direction)
        things[relationship_id] = Described(name, _texts(of_pair))
    things = dict(sorted(things.items()))
    failures = merge_descriptions(things, model, prompts)
    rows = []
    for relationship_id, thing in things.items():
        (source, target), of_pair = pair_of[relationship_id]
        rows.append(
            {
                "relationship_id": relationship_id,
                "source_id": source,
                "target_id": target,
                "weight": float(len(of_pair)),
                "strength": sum(mention["strength"] for mention in of_pair) / len(of_pair),
                "combined_degree": sum(entity_row_of[end]["degree"] for end in (source, target)),
                **_shared_columns(thing, of_pair),
            }
        )
    return result_of("graphrag", {"relationships": rows}, failures)


def by_document(mentions: pa.Table) -> Iterable[dict]:
    """Return rows sorted by document, in their order within a document."""
    return sorted(mentions.to_pylist(), key=lambda row: row["document_id"])


def _pairs(
    mentions: pa.Table, entity_of: Callable[[str, str | None], str | None]
) -> dict[Pair, list[tuple[Pair, dict]]]:
    """Return the mentions of each pair of entities, by sorted ids, each with source and target."""
    mentions_of: dict[Pair, list[tuple[Pair, dict]]] = defaultdict(list)
    for mention in by_document(mentions):
        source, target = (
            entity_of(mention[f"{end}_key"], mention[f"{end}_type"]) for end in ("source", "target")
        )
        if source and target and source != target:
            pair = min(source, target), max(source, target)
            mentions_of[pair].append(((source, target), mention))
    return mentions_of


def _texts(mentions: Sequence[Mapping]) -> list[str]:
    """Return the distinct descriptions of mentions, in their order."""
    return list(dict.fromkeys(m["description"] for m in mentions if m["description"]))


def _shared_columns(thing: Described, mentions: Sequence[Mapping]) -> dict:
    """Return the columns that entities and relationships share."""
    return {
        "description": thing.text,
        "n_descriptions": len(_texts(mentions)),
        "chunk_ids": sorted({mention["chunk_id"] for mention in mentions}),
        "document_ids": sorted({mention["document_id"] for mention in mentions}),
        **thing.usage,
    }
