"""Entities and relationships from two Parquet files of the corpus folder instead of a model.

The columns are those of Microsoft's GraphRAG, so that its output can be imported. Its ids of text
units differ from our chunk ids: rows without a chunk_id of ours are located by name. The mentions
of a chunk depend only on the files and that chunk, so buckets can be computed separately.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pyarrow as pa

from gsum_assets.corpus.folder import GRAPH_FILES
from gsum_assets.corpus.names import name_key, texts_holding
from gsum_assets.graphrag.chunk_graph import ChunkGraph, tabulated
from gsum_assets.graphrag.entity_names import SENSES, are_homonyms, sense_key
from gsum_assets.graphrag.given_rows import EntityRow, RelationshipRow, Row, good_rows
from gsum_assets.pipeline.corpus_settings import CorpusError
from gsum_assets.pipeline.result import Result
from gsum_resources.text.sentences import join_texts
from gsum_resources.text.vocabulary import words_in

_ENTITIES, _RELATIONSHIPS = GRAPH_FILES
_Value = TypeVar("_Value", str, tuple[str, str])
_EntityRows = Sequence[EntityRow]
_PairRows = Sequence[RelationshipRow]


@dataclass(frozen=True)
class Given:
    """Content of the files.

    Attributes
    ----------
    entities : rows by name_key, of homonyms with their sense; sorted.
    relationships : rows by the sorted name_keys of their ends; sorted.
    failures : a line for each file with invalid rows.
    """

    entities: Mapping[str, _EntityRows]
    relationships: Mapping[tuple[str, ...], _PairRows]
    failures: Sequence[str]


def read_given(folder: Path) -> Given | None:
    """Return the graph in `graph/` of a corpus folder, or None if there is none.

    Invalid rows are left out.

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
    pairs: dict[tuple[str, ...], list[RelationshipRow]] = defaultdict(list)
    for row in relationships:
        pairs[tuple(sorted((name_key(row.source), name_key(row.target))))].append(row)
    return Given(
        dict(sorted(_by_sense(entities).items())),
        dict(sorted(pairs.items())),
        [*entity_errors, *relationship_errors],
    )


def _by_sense(rows: _EntityRows) -> dict[str, list[EntityRow]]:
    """Return the rows of each name; a homonym of the most frequent sense has a key of its own."""
    types: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        types[name_key(row.title)][row.type] += 1
    by_key: dict[str, list[EntityRow]] = defaultdict(list)
    for row in rows:
        key = name_key(row.title)
        first = _commonest(["", *(kind for kind in types[key].elements() if kind in SENSES)])
        by_key[sense_key(key, row.type) if are_homonyms(first, row.type) else key].append(row)
    return by_key


def extracted_from(given: Given, chunks: pa.Table, is_whole: bool = True) -> Result:
    """Return the mentions of a given graph in each chunk, in the form of an extraction result.

    An entity is mentioned in the chunks listed in its rows, or else in those that contain its name,
    and in all chunks of its relationships. A relationship is mentioned in the chunks listed in its
    rows, or else in those that mention both ends. Rows of one name or one pair are combined.

    Parameters
    ----------
    is_whole : whether these are all chunks of the corpus; only then are rows without a chunk
        reported.
    """
    order = [("document_id", "ascending"), ("position", "ascending")]
    columns = ["chunk_id", "document_id", "position", "text", "start", "end"]
    graphs = [ChunkGraph(row) for row in chunks.select(columns).sort_by(order).to_pylist()]
    mentioned, numbers_of_pairs = _located(given, graphs)
    for key, rows in given.entities.items():
        name = _commonest(row.title for row in rows)
        kind, description = _commonest(row.type for row in rows), _description(rows)
        for number in mentioned[key]:
            graphs[number].entity(name, kind, description, 0, "")
    for pair, numbers in zip(given.relationships.values(), numbers_of_pairs, strict=True):
        ends = _commonest((row.source, row.target) for row in pair)
        # clipped to 1 to 10; NaN is 1
        strength = max(round(min(10.0, max(1.0, row.weight))) for row in pair)
        description = _description(pair)
        for number in numbers:
            graphs[number].relationship(ends, description, strength, 0, "")
    failures = list(given.failures)
    for file, what, located in (
        (_ENTITIES, "entities are in no chunk", [mentioned[key] for key in given.entities]),
        (_RELATIONSHIPS, "relationships have both ends in no chunk", numbers_of_pairs),
    ):
        n_missed = sum(not numbers for numbers in located)
        if n_missed and is_whole:
            failures.append(
                f"{file}: {n_missed:,} of {len(located):,} {what} and are left out; write names as "
                "the texts do, and in text_unit_ids and document_ids ids of this corpus"
            )
    return tabulated(graphs)._replace(failures=failures)


def _located(
    given: Given, graphs: Sequence[ChunkGraph]
) -> tuple[dict[str, Set[int]], list[Set[int]]]:
    """Return the numbers of the chunks that mention each entity and each relationship."""
    named = {key: name_key(rows[0].title) for key, rows in given.entities.items()}
    ends = {end for pair in given.relationships for end in pair}
    mentioned: dict[str, Set[int]] = dict(
        texts_holding({*named.values(), *ends}, [graph.text_key for graph in graphs])
    )
    locator = _Locator(graphs)
    containing = {key: mentioned[name] for key, name in named.items()}
    homonyms: dict[str, list[str]] = defaultdict(list)
    for key, rows in given.entities.items():
        mentioned[key] = locator.numbers(rows, containing[key])
        homonyms[named[key]].append(key)

    def naming(end: str) -> Set[int]:
        return set().union(mentioned[end], *(mentioned[key] for key in homonyms[end]))

    numbers_of_pairs = [
        locator.numbers(rows, naming(source) & naming(target))
        for (source, target), rows in given.relationships.items()
    ]
    for pair, numbers in zip(given.relationships, numbers_of_pairs, strict=True):
        for end in pair:
            mentioned[end] = mentioned[end] | (numbers - naming(end))
    return mentioned, numbers_of_pairs


class _Locator:
    """Finds the chunks of rows by their chunk ids, or else passages, or else documents."""

    def __init__(self, graphs: Sequence[ChunkGraph]) -> None:
        self._chunks = [graph.chunk for graph in graphs]
        self._words = [frozenset(words_in(graph.text_key)) for graph in graphs]
        self._number_of = {chunk["chunk_id"]: n for n, chunk in enumerate(self._chunks)}
        self._of_document: dict[str, list[int]] = defaultdict(list)
        for number, chunk in enumerate(self._chunks):
            self._of_document[chunk["document_id"]].append(number)

    def numbers(self, rows: Sequence[Row], named: Collection[int]) -> Set[int]:
        """Return the numbers of the chunks of combined rows.

        Of a passage that contains no name, the chunk is meant that shares most words with the
        description.

        Parameters
        ----------
        named : numbers of the chunks with the names.
        """
        found: set[int] = set()
        wanted = frozenset(words_in(name_key(_description(rows))))
        for row in rows:
            if row.chunk_ids:
                found.update(self._number_of[i] for i in row.chunk_ids if i in self._number_of)
            elif row.passages:
                for passage in row.passages:
                    inside = list(self._inside(passage.document_id, passage.start, passage.end))
                    nearest = sorted(inside, key=lambda n: -len(wanted & self._words[n]))[:1]
                    found.update([n for n in inside if n in named] or nearest)
            else:
                there = row.document_ids
                found.update(
                    n for n in named if not there or self._chunks[n]["document_id"] in there
                )
        return found

    def _inside(self, document_id: str, start: int, end: int) -> Iterator[int]:
        for number in self._of_document[document_id]:
            if self._chunks[number]["start"] < end and start < self._chunks[number]["end"]:
                yield number


def _commonest(values: Iterable[_Value]) -> _Value:
    """Return the most frequent value that is not empty, ties in sorted order."""
    counts = Counter(values)
    return min(counts, key=lambda value: (not value, -counts[value], value))


def _description(rows: Iterable[Row]) -> str:
    return join_texts(sorted({row.description for row in rows} - {""}))
