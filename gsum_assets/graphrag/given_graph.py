"""Entities and relationships from two Parquet files of the corpus folder instead of a model.

The columns are those of Microsoft's GraphRAG, so that its output can be imported. Its ids of text
units differ from our chunk ids: rows without a chunk_id of ours are located by name. The mentions
of a chunk depend only on the files and that chunk, so buckets can be computed separately.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from gsum_assets.corpus.folder import GRAPH_FILES
from gsum_assets.corpus.names import name_key, texts_holding
from gsum_assets.graphrag.chunk_graph import ChunkGraph, tabulated
from gsum_assets.graphrag.given_rows import (
    EntityRow,
    Location,
    RelationshipRow,
    Row,
    good_rows,
)
from gsum_assets.graphrag.name_groups import SENSES, are_homonyms, sense_key
from gsum_assets.pipeline.corpus_settings import CorpusError
from gsum_assets.pipeline.result import Result
from gsum_resources.text.sentences import join_texts
from gsum_resources.text.vocabulary import words_in

_ENTITIES, _RELATIONSHIPS = GRAPH_FILES
_Value = TypeVar("_Value", str, tuple[str, str])


@dataclass(frozen=True)
class GivenEntity:
    """The combined rows of one name, and their locations."""

    name: str
    type: str
    description: str
    locations: tuple[Location, ...]


@dataclass(frozen=True)
class GivenRelationship:
    """The combined rows of one pair of names; `strength` is 1 (loose) to 10 (essential)."""

    source: str
    target: str
    description: str
    strength: int
    locations: tuple[Location, ...]

    @property
    def ends(self) -> tuple[str, str]:
        """name_key of source and target."""
        return name_key(self.source), name_key(self.target)


@dataclass(frozen=True)
class Given:
    """Content of the files.

    Attributes
    ----------
    entities : entities by name_key, of homonyms with their sense; sorted.
    failures : a line for each file with invalid rows.
    """

    entities: Mapping[str, GivenEntity]
    relationships: Sequence[GivenRelationship]
    failures: Sequence[str]


def read_given(folder: Path) -> Given | None:
    """Return the graph in `graph/` of a corpus folder, or None if there is none.

    Rows of one name or one pair are combined; invalid rows are left out.

    Raises
    ------
    CorpusError
        If only one of the files exists, or a file is not Parquet or lacks a column.
    """
    missing = [name for name in GRAPH_FILES if not (folder / name).is_file()]
    if len(missing) == len(GRAPH_FILES):
        return None
    if missing:
        (other,) = set(GRAPH_FILES) - set(missing)
        raise CorpusError(
            f"{folder / other} exists without {missing[0]}; add that file, or remove the first to "
            "have the graph extracted"
        )
    entities, entity_errors = good_rows(folder, _ENTITIES, EntityRow)
    relationships, relationship_errors = good_rows(folder, _RELATIONSHIPS, RelationshipRow)
    return Given(
        _entities(entities), _relationships(relationships), [*entity_errors, *relationship_errors]
    )


def extracted_from(given: Given, chunks: pa.Table, is_whole: bool = True) -> Result:
    """Return the mentions of a given graph in each chunk, in the form of an extraction result.

    An entity is mentioned in the chunks listed in its rows, or else in those that contain its name,
    and in all chunks of its relationships. A relationship is mentioned in the chunks listed in its
    rows, or else in those that mention both ends.

    Parameters
    ----------
    is_whole : whether these are all chunks of the corpus; only then are rows without a chunk
        reported.
    """
    order = [("document_id", "ascending"), ("position", "ascending")]
    columns = ["chunk_id", "document_id", "position", "text", "start", "end"]
    graphs = [ChunkGraph(row) for row in chunks.select(columns).sort_by(order).to_pylist()]
    mentioned, numbers_of_pairs = _located(given, [graph.chunk for graph in graphs])
    for key, entity in given.entities.items():
        for number in mentioned[key]:
            graphs[number].entity(entity.name, entity.type, entity.description, 0, "")
    for relationship, numbers in zip(given.relationships, numbers_of_pairs, strict=True):
        for number in numbers:
            names = (relationship.source, relationship.target)
            graphs[number].relationship(
                names, relationship.description, relationship.strength, 0, ""
            )
    unfound = _unfound(given, mentioned, numbers_of_pairs) if is_whole else []
    return tabulated(graphs)._replace(failures=[*given.failures, *unfound])


def _located(
    given: Given, chunks: Sequence[Mapping[str, Any]]
) -> tuple[dict[str, Set[int]], list[Set[int]]]:
    """Return the numbers of the chunks that mention each entity and each relationship."""
    ends = {end for relationship in given.relationships for end in relationship.ends}
    texts = [name_key(chunk["text"]) for chunk in chunks]
    words = [frozenset(words_in(text)) for text in texts]
    named = {key: name_key(entity.name) for key, entity in given.entities.items()}
    mentioned: dict[str, Set[int]] = dict(texts_holding({*named.values(), *ends}, texts))
    standing = _finder(chunks, words)
    holding = {key: mentioned[name] for key, name in named.items()}
    for key, entity in given.entities.items():
        mentioned[key] = standing(entity.locations, holding[key], entity.description)
    homonyms: dict[str, list[str]] = defaultdict(list)
    for key, name in named.items():
        homonyms[name].append(key)

    def naming(end: str) -> Set[int]:
        return set().union(mentioned[end], *(mentioned[key] for key in homonyms[end]))

    numbers_of_pairs = [
        standing(
            relationship.locations,
            naming(relationship.ends[0]) & naming(relationship.ends[1]),
            relationship.description,
        )
        for relationship in given.relationships
    ]
    for relationship, numbers in zip(given.relationships, numbers_of_pairs, strict=True):
        for end in relationship.ends:
            mentioned[end] = mentioned[end] | (numbers - naming(end))
    return mentioned, numbers_of_pairs


def _finder(
    chunks: Sequence[Mapping[str, Any]], words: Sequence[Set[str]]
) -> Callable[[Iterable[Location], Collection[int], str], Set[int]]:
    """Return a function to chunk numbers from locations, chunks with the names, and description.

    Of a passage that contains no name, the chunk is meant that shares most words with the
    description.
    """
    of_document: dict[str, list[int]] = defaultdict(list)
    for number, chunk in enumerate(chunks):
        of_document[chunk["document_id"]].append(number)
    number_of = {chunk["chunk_id"]: number for number, chunk in enumerate(chunks)}

    def standing(
        locations: Iterable[Location], named: Collection[int], description: str
    ) -> Set[int]:
        numbers: set[int] = set()
        wanted = frozenset(words_in(name_key(description)))
        for location in locations:
            if location.chunk_ids:
                numbers.update(number_of[i] for i in location.chunk_ids if i in number_of)
            elif location.passages:
                for document_id, start, end in location.passages:
                    inside = [
                        n
                        for n in of_document[document_id]
                        if chunks[n]["start"] < end and start < chunks[n]["end"]
                    ]
                    nearest = sorted(inside, key=lambda n: -len(wanted & words[n]))[:1]
                    numbers.update([n for n in inside if n in named] or nearest)
            elif not location.document_ids:
                numbers.update(named)
            else:
                numbers.update(
                    n for n in named if chunks[n]["document_id"] in location.document_ids
                )
        return numbers

    return standing


def _unfound(
    given: Given,
    mentioned: Mapping[str, Collection[int]],
    numbers_of_pairs: Sequence[Collection[int]],
) -> Iterator[str]:
    """Yield a line for the entities, and one for the relationships, without a chunk."""
    entities = [not mentioned[key] for key in given.entities]
    pairs = [not numbers for numbers in numbers_of_pairs]
    for file, what, are_missed in (
        (_ENTITIES, "entities are in no chunk", entities),
        (_RELATIONSHIPS, "relationships have both ends in no chunk", pairs),
    ):
        if any(are_missed):
            yield (
                f"{file}: {sum(are_missed):,} of {len(are_missed):,} {what} and are left out; "
                "write names as the texts do, and in text_unit_ids and document_ids ids of this "
                "corpus"
            )


def _entities(rows: Iterable[EntityRow]) -> dict[str, GivenEntity]:
    by_key: dict[str, list[EntityRow]] = defaultdict(list)
    rows = list(rows)
    types: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        types[name_key(row.title)][row.type] += 1
    for row in rows:
        key = name_key(row.title)
        first = _commonest(["", *(kind for kind in types[key].elements() if kind in SENSES)])
        by_key[sense_key(key, row.type) if are_homonyms(first, row.type) else key].append(row)
    return {
        key: GivenEntity(
            _commonest(row.title for row in rows_of_entity),
            _commonest(row.type for row in rows_of_entity),
            _united(rows_of_entity),
            _locations(rows_of_entity),
        )
        for key, rows_of_entity in sorted(by_key.items())
    }


def _relationships(rows: Iterable[RelationshipRow]) -> list[GivenRelationship]:
    by_ends: dict[tuple[str, ...], list[RelationshipRow]] = defaultdict(list)
    for row in rows:
        by_ends[tuple(sorted((name_key(row.source), name_key(row.target))))].append(row)
    united = []
    for _, rows_of_pair in sorted(by_ends.items()):
        source, target = _commonest((row.source, row.target) for row in rows_of_pair)
        # clipped to 1 to 10; NaN is 1
        strength = max(round(min(10.0, max(1.0, row.weight))) for row in rows_of_pair)
        united.append(
            GivenRelationship(
                source, target, _united(rows_of_pair), strength, _locations(rows_of_pair)
            )
        )
    return united


def _commonest(values: Iterable[_Value]) -> _Value:
    """Return the most frequent value that is not empty, ties in sorted order."""
    counts = Counter(values)
    return min(counts, key=lambda value: (not value, -counts[value], value))


def _united(rows: Iterable[Row]) -> str:
    return join_texts(sorted({row.description for row in rows} - {""}))


def _locations(rows: Iterable[Row]) -> tuple[Location, ...]:
    return tuple(sorted({row.location() for row in rows}))
