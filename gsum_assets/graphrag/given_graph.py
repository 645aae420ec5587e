"""Entities, relationships and communities from files of the corpus folder instead of a model.

Microsoft's ids of text units differ from our chunk ids: rows without a chunk_id of ours are located
by name. The mentions of a chunk depend only on the files and that chunk.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pyarrow as pa

from gsum_assets.corpus.folder import GRAPH_FILES
from gsum_assets.corpus.names import name_key, texts_holding
from gsum_assets.graphrag.chunk_graph import ChunkGraph, tabulated
from gsum_assets.graphrag.communities import Community, ranked
from gsum_assets.graphrag.entity_names import SENSES, are_homonyms, sense_key
from gsum_assets.graphrag.given_files import (
    CommunityRow,
    EntityRow,
    GivenReport,
    RelationshipRow,
    Row,
    read_graph,
)
from gsum_assets.pipeline.result import Result
from gsum_resources.store.arrow import mapping
from gsum_resources.text.sentences import join_texts
from gsum_resources.text.vocabulary import words_in

_Value = TypeVar("_Value", str, tuple[str, str])
Locate = Callable[[Sequence[Row], Collection[int]], set[int]]


@dataclass(frozen=True)
class Given:
    """Rows by name_key, of homonyms with their sense, and by the sorted name_keys of both ends."""

    entities: Mapping[str, Sequence[EntityRow]]
    relationships: Mapping[tuple[str, ...], Sequence[RelationshipRow]]
    failures: Sequence[str]


def read_given(folder: Path) -> Given | None:
    """Return the graph of a corpus folder, or None if there is none; errors as of `read_graph`."""
    if (rows := read_graph(folder)) is None:
        return None
    entities, relationships, failures = rows
    types: dict[str, Counter[str]] = defaultdict(Counter)
    for row in entities:
        types[name_key(row.title)][row.type] += 1
    by_key: dict[str, list[EntityRow]] = defaultdict(list)
    for row in entities:  # a homonym of the most frequent sense has a key of its own
        key = name_key(row.title)
        first = _commonest(["", *(kind for kind in types[key].elements() if kind in SENSES)])
        by_key[sense_key(key, row.type) if are_homonyms(first, row.type) else key].append(row)
    pairs: dict[tuple[str, ...], list[RelationshipRow]] = defaultdict(list)
    for row in relationships:
        pairs[tuple(sorted((name_key(row.source), name_key(row.target))))].append(row)
    return Given(dict(sorted(by_key.items())), dict(sorted(pairs.items())), failures)


def extracted_from(given: Given, chunks: pa.Table, is_whole: bool = True) -> Result:
    """Return the mentions of a given graph in each chunk, in the form of an extraction result.

    An entity is mentioned in the chunks listed in its rows, or else in those that contain its name,
    and in all chunks of its relationships; a relationship in those listed in its rows, or else in
    those that mention both ends. Rows without a chunk are reported if these are all chunks of the
    corpus.
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
        for number in numbers:
            graphs[number].relationship(ends, _description(pair), strength, 0, "")
    failures = list(given.failures)
    for file, what, located in (
        (GRAPH_FILES[0], "entities are in no chunk", [mentioned[key] for key in given.entities]),
        (GRAPH_FILES[1], "relationships have both ends in no chunk", numbers_of_pairs),
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
) -> tuple[dict[str, Set[int]], list[set[int]]]:
    """Return the numbers of the chunks that mention each entity and each relationship."""
    named = {key: name_key(rows[0].title) for key, rows in given.entities.items()}
    ends = {end for pair in given.relationships for end in pair}
    mentioned: dict[str, Set[int]] = dict(
        texts_holding({*named.values(), *ends}, [graph.text_key for graph in graphs])
    )
    locate = _locator(graphs)
    containing = {key: mentioned[name] for key, name in named.items()}
    homonyms: dict[str, list[str]] = defaultdict(list)
    for key, rows in given.entities.items():
        mentioned[key] = locate(rows, containing[key])
        homonyms[named[key]].append(key)

    def naming(end: str) -> Set[int]:
        return set().union(mentioned[end], *(mentioned[key] for key in homonyms[end]))

    numbers_of_pairs = [
        locate(rows, naming(source) & naming(target))
        for (source, target), rows in given.relationships.items()
    ]
    for pair, numbers in zip(given.relationships, numbers_of_pairs, strict=True):
        for end in pair:
            mentioned[end] = mentioned[end] | (numbers - naming(end))
    return mentioned, numbers_of_pairs


def _locator(graphs: Sequence[ChunkGraph]) -> Locate:
    """Return a function from rows, and numbers of the chunks that name them, to their chunks."""
    words = [frozenset(words_in(graph.text_key)) for graph in graphs]
    number_of = {graph.chunk["chunk_id"]: n for n, graph in enumerate(graphs)}
    of_document: dict[str, list[int]] = defaultdict(list)
    for number, graph in enumerate(graphs):
        of_document[graph.chunk["document_id"]].append(number)

    def locate(rows: Sequence[Row], named: Collection[int]) -> set[int]:
        found: set[int] = set()
        wanted = frozenset(words_in(name_key(_description(rows))))
        for row in rows:
            if row.chunk_ids:
                found.update(number_of[i] for i in row.chunk_ids if i in number_of)
            elif row.passages:
                for passage in row.passages:
                    inside = [
                        n
                        for n in of_document[passage.document_id]
                        if graphs[n].chunk["start"] < passage.end
                        and passage.start < graphs[n].chunk["end"]
                    ]
                    # of a passage without the name, the chunk that is worded most alike
                    nearest = sorted(inside, key=lambda n: -len(wanted & words[n]))[:1]
                    found.update([n for n in inside if n in named] or nearest)
            elif row.document_ids:
                found.update(n for i in row.document_ids for n in of_document[i] if n in named)
            else:
                found.update(named)
        return found

    return locate


def _commonest(values: Iterable[_Value]) -> _Value:
    """Return the most frequent value that is not empty, ties in sorted order."""
    counts = Counter(values)
    return min(counts, key=lambda value: (not value, -counts[value], value))


def _description(rows: Iterable[Row]) -> str:
    return join_texts(sorted({row.description for row in rows} - {""}))


def hierarchy(
    given: Sequence[CommunityRow], entities: pa.Table
) -> list[tuple[Community, GivenReport | None]]:
    """Return the communities in the order of `split_components`, each with its report.

    An entity that no community of a level names has one of its own; one that several communities of
    a parent name is in the first of them.
    """
    ids_of: dict[str, set[str]] = defaultdict(set)
    for entity_id, key in mapping(entities, "entity_id", "name_key").items():
        ids_of[key.partition(" [")[0]].add(entity_id)
    row_of = {row.community: row for row in sorted(given, key=lambda row: row.community)}
    children: dict[int, list[int]] = defaultdict(list)
    for number, row in row_of.items():
        children[row.parent if row.parent in row_of else -1].append(number)
    found: list[tuple[Community, GivenReport | None]] = []

    def below(number: int) -> Set[str]:
        own = (ids_of.get(name_key(name), set()) for name in row_of[number].entities)
        return set().union(*own, *map(below, children[number]))

    def divide(numbers: Sequence[int], level: int, left: Set[str], parent: int) -> None:
        for number in numbers:
            if members := below(number) & left:
                left = left - members
                community = Community(level, sorted(members), parent)
                found.append((community, row_of[number].report))
                if any(below(child) & members for child in children[number]):
                    divide(children[number], level + 1, members, len(found) - 1)
        found.extend((Community(level, [entity_id], parent), None) for entity_id in sorted(left))

    divide(children[-1], 0, set().union(*ids_of.values()), -1)
    return [(community, found[i][1]) for community, i in ranked([one for one, _ in found])]
