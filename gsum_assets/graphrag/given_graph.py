"""Takes entities and relationships from two Parquet files of the corpus folder, not from a model.

The columns are those that Microsoft's GraphRAG writes, so that its output can be carried over. Its
ids of text units are not ours: what names no chunk of ours is located by its name. What is said of
a chunk rests on the files and on that chunk alone, so buckets may be made together or apart.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from gsum_assets.corpus.folder import GRAPH_FILES
from gsum_assets.corpus.names import name_key
from gsum_assets.corpus.settings import CorpusError
from gsum_assets.graphrag.extract import ChunkGraph, tabulated
from gsum_assets.graphrag.given_rows import (
    EntityRow,
    Place,
    RelationshipRow,
    Row,
    examples,
    good_rows,
)
from gsum_assets.graphrag.name_index import texts_holding
from gsum_assets.result import Result

_ENTITIES, _RELATIONSHIPS = GRAPH_FILES
_Value = TypeVar("_Value", str, tuple[str, str])


@dataclass(frozen=True)
class GivenEntity:
    """What the rows of one name say, and where each says that it stands."""

    name: str
    type: str
    description: str
    places: tuple[Place, ...]


@dataclass(frozen=True)
class GivenRelationship:
    """What the rows of one pair of names say; `strength` from 1 (loose) to 10 (essential)."""

    source: str
    target: str
    description: str
    strength: int
    places: tuple[Place, ...]

    @property
    def ends(self) -> tuple[str, str]:
        """The name_key of source and target."""
        return name_key(self.source), name_key(self.target)


@dataclass(frozen=True)
class Given:
    """What the files hold.

    Attributes
    ----------
    entities : by name_key, in its order.
    relationships : in the order of their ends.
    problems : a line for each file with rows that cannot be used.
    """

    entities: Mapping[str, GivenEntity]
    relationships: Sequence[GivenRelationship]
    failures: Sequence[str]


def read_given(folder: Path) -> Given | None:
    """The graph in `graph/` of a corpus folder, or None where there is none.

    Rows of one name are united, and so are those of one pair; rows that cannot be used are left
    out.

    Raises
    ------
    CorpusError
        If one of the files stands alone, is not Parquet or lacks a column.
    """
    missing = [name for name in GRAPH_FILES if not (folder / name).is_file()]
    if len(missing) == len(GRAPH_FILES):
        return None
    if missing:
        (there,) = set(GRAPH_FILES) - set(missing)
        raise CorpusError(
            f"{folder / there} stands alone; put {missing[0]} beside it, or remove it to have the "
            "graph extracted"
        )
    entities, entity_slips = good_rows(folder, _ENTITIES, EntityRow)
    relationships, slips = good_rows(folder, _RELATIONSHIPS, RelationshipRow)
    return Given(_entities(entities), _relationships(relationships), [*entity_slips, *slips])


def extracted_from(given: Given, chunks: pa.Table, is_whole: bool = True) -> Result:
    """What a given graph says of each chunk, in the shape of an extraction that asked no model.

    An entity is mentioned in the chunks that its rows name, or else in those that hold its name,
    and wherever a relationship of it is told. A relationship is told in the chunks that its rows
    name, or else in those that mention both ends.

    Parameters
    ----------
    chunks : chunk_id, document_id, position, text of one corpus, in any order.
    is_whole : whether these are all chunks of the corpus: only then what is found nowhere is
        reported.

    Returns
    -------
    Result
        Rows ordered by document, chunk and name.
    """
    order = [("document_id", "ascending"), ("position", "ascending")]
    columns = ["chunk_id", "document_id", "position", "text"]
    graphs = [ChunkGraph(row) for row in chunks.select(columns).sort_by(order).to_pylist()]
    mentioned, told = _located(given, [graph.chunk for graph in graphs])
    for key, entity in given.entities.items():
        for number in mentioned[key]:
            graphs[number].entity(entity.name, entity.type, entity.description, 0, "")
    for one, numbers in zip(given.relationships, told, strict=True):
        for number in numbers:
            names = (one.source, one.target)
            graphs[number].relationship(names, one.description, one.strength, 0, "")
    unfound = _unfound(given, mentioned, told) if is_whole else []
    return tabulated(graphs)._replace(failures=[*given.failures, *unfound])


def _located(
    given: Given, chunks: Sequence[Mapping[str, Any]]
) -> tuple[dict[str, Set[int]], list[Set[int]]]:
    """The numbers of the chunks that mention each entity, and that tell each relationship."""
    ends = {end for one in given.relationships for end in one.ends}
    texts = [name_key(chunk["text"]) for chunk in chunks]
    mentioned: dict[str, Set[int]] = dict(texts_holding({*given.entities, *ends}, texts))
    standing = _finder(chunks)
    for key, entity in given.entities.items():
        mentioned[key] = standing(entity.places, mentioned[key])
    told = [
        standing(one.places, mentioned[one.ends[0]] & mentioned[one.ends[1]])
        for one in given.relationships
    ]
    for one, numbers in zip(given.relationships, told, strict=True):
        for end in one.ends:
            mentioned[end] = mentioned[end] | numbers
    return mentioned, told


def _finder(
    chunks: Sequence[Mapping[str, Any]],
) -> Callable[[Iterable[Place], Collection[int]], Set[int]]:
    """Tells which chunks rows stand in, given the numbers of those that hold the names."""
    number_of = {chunk["chunk_id"]: number for number, chunk in enumerate(chunks)}

    def standing(places: Iterable[Place], named: Collection[int]) -> Set[int]:
        found: set[int] = set()
        for place in places:
            if place.chunk_ids:
                found.update(number_of[i] for i in place.chunk_ids if i in number_of)
            elif not place.document_ids:
                found.update(named)
            else:
                found.update(n for n in named if chunks[n]["document_id"] in place.document_ids)
        return found

    return standing


def _unfound(
    given: Given, mentioned: Mapping[str, Collection[int]], told: Sequence[Collection[int]]
) -> Iterator[str]:
    """A line for the entities, and one for the relationships, that no chunk has."""
    entities = [f"'{one.name}'" for key, one in given.entities.items() if not mentioned[key]]
    pairs = [
        f"'{one.source}' and '{one.target}'"
        for one, numbers in zip(given.relationships, told, strict=True)
        if not numbers
    ]
    for file, what, missed, n_all in (
        (_ENTITIES, "entities are in no chunk", entities, len(given.entities)),
        (_RELATIONSHIPS, "relationships have both ends in no chunk", pairs, len(told)),
    ):
        if missed:
            yield (
                f"{file}: {len(missed):,} of {n_all:,} {what} ({examples(missed)}) and are left "
                "out; write names as the texts do, and in text_unit_ids and document_ids ids of "
                "this corpus"
            )


def _entities(rows: Iterable[EntityRow]) -> dict[str, GivenEntity]:
    by_key: dict[str, list[EntityRow]] = defaultdict(list)
    for row in rows:
        by_key[name_key(row.title)].append(row)
    return {
        key: GivenEntity(
            _commonest(row.title for row in found),
            _commonest(row.type for row in found),
            _united(found),
            _places(found),
        )
        for key, found in sorted(by_key.items())
    }


def _relationships(rows: Iterable[RelationshipRow]) -> list[GivenRelationship]:
    by_ends: dict[tuple[str, ...], list[RelationshipRow]] = defaultdict(list)
    for row in rows:
        by_ends[tuple(sorted((name_key(row.source), name_key(row.target))))].append(row)
    united = []
    for _, found in sorted(by_ends.items()):
        source, target = _commonest((row.source, row.target) for row in found)
        strength = max(_strength(row.weight) for row in found)
        united.append(GivenRelationship(source, target, _united(found), strength, _places(found)))
    return united


def _strength(weight: float) -> int:
    """The weight within 1 to 10; 1 where it is not a number."""
    return round(min(10.0, max(1.0, weight)))


def _commonest(values: Iterable[_Value]) -> _Value:
    """Of the values that say something, the most frequent, then the first in order."""
    counts = Counter(values)
    return min(counts, key=lambda value: (not value, -counts[value], value))


def _united(rows: Iterable[Row]) -> str:
    return " ".join(sorted({row.description for row in rows} - {""}))


def _places(rows: Iterable[Row]) -> tuple[Place, ...]:
    return tuple(sorted({row.place() for row in rows}))
