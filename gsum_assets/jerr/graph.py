"""The acyclic graph (3.3): merged elements are nodes, relations between them edges."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import pyarrow as pa

from gsum_assets.corpus.names import holds, name_key
from gsum_assets.jerr.acyclic import without_cycles
from gsum_assets.jerr.sizes import of_one_size

_Pair = tuple[str, str]  # node_id of source and target


@dataclass(frozen=True)
class Graph:
    """Rows of `jerr.nodes`, `jerr.edges` and `jerr.left_out_edges` without max_tokens."""

    nodes: pa.Table
    edges: pa.Table
    left_out_edges: pa.Table


@dataclass
class _Mentions:
    """The line chunks, and their documents, that mention something."""

    chunks: set[str] = field(default_factory=set)
    documents: set[str] = field(default_factory=set)

    def add(self, row: Mapping[str, str]) -> None:
        self.chunks.add(row["chunk_id"])
        self.documents.add(row["document_id"])

    @property
    def columns(self) -> dict[str, Any]:
        return {"chunk_ids": sorted(self.chunks), "document_ids": sorted(self.documents)}


@dataclass
class _Related(_Mentions):
    """Relations of a pair of nodes; `sources` are pairs of line chunk and name."""

    sources: set[tuple[str, str]] = field(default_factory=set)

    @cached_property
    def names(self) -> Counter[str]:
        """Number of synopses for each name of the relation."""
        return Counter(name for _, name in self.sources)

    @property
    def relation(self) -> str:
        """The most frequent name, ties by alphabet."""
        return min(self.names, key=lambda name: (-self.names[name], name))

    @property
    def columns(self) -> dict[str, Any]:
        return {"relation": self.relation, "weight": len(self.chunks), **super().columns}


def graph_of(
    elements: pa.Table,
    facts: pa.Table,
    relations: pa.Table,
    merges: pa.Table,
    line_chunks: pa.Table,
) -> Graph:
    """Return nodes with a topological order, edges, and the edges that would close a cycle.

    Relations of one pair of nodes are one edge. Edges from more synopses are accepted first, so
    that the weakest edge of a cycle is left out, with ties broken by ids. A fact belongs to a node
    if its synopsis has the node as an element and the fact names one of the node's written forms.
    A node leads to all line chunks of the documents that mention it whose text has one of these
    forms, so that edges lead from one line chunk to others (ours).
    The result does not depend on the order of rows or of line chunks in a document.

    Raises
    ------
    ValueError
        If an element is not merged, or the end of a relation is not an element.
    """
    merged = _column_by(merges, "element_key", "node_id")
    keys = set(elements["element_key"].to_pylist())
    if unmerged := sorted(keys - merged.keys()):
        raise ValueError(
            f"jerr: {len(unmerged):,} of {len(keys):,} elements are not merged (first: "
            f"{unmerged[0]!r}); materialize jerr/merges"
        )
    node_of = {key: merged[key] for key in keys}
    mentions: dict[str, _Mentions] = defaultdict(_Mentions)
    for row in elements.to_pylist():
        mentions[node_of[row["element_key"]]].add(row)
    related = _related(relations, node_of)
    ids = sorted(mentions)
    number = {node_id: i for i, node_id in enumerate(ids)}
    pairs = sorted(related, key=lambda pair: (-len(related[pair].chunks), pair))
    acyclic = without_cycles(
        len(ids), [(number[source], number[target]) for source, target in pairs]
    )
    cycles = {
        pairs[position]: [ids[node] for node in cycle]
        for position, cycle in acyclic.left_out.items()
    }
    places = {ids[node]: position for position, node in enumerate(acyclic.order)}
    names = _column_by(merges, "node_id", "merged_into")
    named = _naming(line_chunks, elements, node_of)
    edges = [
        {**_ends(pair), **related[pair].columns, "relations": sorted(related[pair].names)}
        for pair in sorted(related.keys() - cycles.keys())
    ]
    return Graph(
        _nodes(mentions, named, _facts(facts, mentions, node_of), names, places),
        pa.Table.from_pylist(edges, of_one_size("jerr.edges")),
        _left_out_edges(related, cycles, names),
    )


def _column_by(rows: pa.Table, key: str, value: str) -> dict[str, str]:
    return dict(zip(rows[key].to_pylist(), rows[value].to_pylist(), strict=True))


def _related(relations: pa.Table, node_of: Mapping[str, str]) -> dict[_Pair, _Related]:
    """Return the relations of each pair of nodes."""
    related: dict[_Pair, _Related] = defaultdict(_Related)
    for row in relations.to_pylist():
        ends = row["source_key"], row["target_key"]
        for end in ends:
            if end not in node_of:
                raise ValueError(
                    f"jerr: the relation {row['relation']!r} of line chunk {row['chunk_id']!r} "
                    f"ends at {end!r}, which is not an element; materialize jerr/relations"
                )
        pair = related[node_of[ends[0]], node_of[ends[1]]]
        pair.add(row)
        pair.sources.add((row["chunk_id"], row["relation"]))
    return related


def _facts(
    facts: pa.Table, mentions: Mapping[str, _Mentions], node_of: Mapping[str, str]
) -> dict[str, list[str]]:
    """Return the sorted statements that name each node, from the synopses that have it."""
    keys_of: dict[str, list[str]] = defaultdict(list)
    for key, node_id in node_of.items():
        keys_of[node_id].append(key)
    statements: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for chunk_id, statement in zip(
        facts["chunk_id"].to_pylist(), facts["statement"].to_pylist(), strict=True
    ):
        statements[chunk_id].append((statement, name_key(statement)))
    return {
        node_id: sorted(
            {
                statement
                for chunk_id in mentioned.chunks
                for statement, text_key in statements[chunk_id]
                if any(holds(text_key, key) for key in keys_of[node_id])
            }
        )
        for node_id, mentioned in mentions.items()
    }


def _naming(
    line_chunks: pa.Table, elements: pa.Table, node_of: Mapping[str, str]
) -> Mapping[str, set[str]]:
    """Return the line chunks whose text names each node that their document mentions."""
    keys_of: dict[str, set[str]] = defaultdict(set)
    for row in elements.select(["document_id", "element_key"]).to_pylist():
        keys_of[row["document_id"]].add(row["element_key"])
    naming: dict[str, set[str]] = defaultdict(set)
    for row in line_chunks.select(["chunk_id", "document_id", "text"]).to_pylist():
        text_key = name_key(row["text"])
        for key in keys_of[row["document_id"]]:
            if holds(text_key, key):
                naming[node_of[key]].add(row["chunk_id"])
    return naming


def _nodes(
    mentions: Mapping[str, _Mentions],
    naming: Mapping[str, set[str]],
    facts: Mapping[str, Sequence[str]],
    names: Mapping[str, str],
    places: Mapping[str, int],
) -> pa.Table:
    rows = [
        {
            "node_id": node_id,
            "name": names[node_id],
            "place": places[node_id],
            "n_mentions": len(mentioned.chunks),
            "facts": facts[node_id],
            **mentioned.columns,
            "chunk_ids": sorted(mentioned.chunks | naming.get(node_id, set())),
        }
        for node_id, mentioned in sorted(mentions.items())
    ]
    return pa.Table.from_pylist(rows, of_one_size("jerr.nodes"))


def _left_out_edges(
    related: Mapping[_Pair, _Related],
    cycles: Mapping[_Pair, Sequence[str]],
    names: Mapping[str, str],
) -> pa.Table:
    rows = []
    for pair, cycle in sorted(cycles.items()):
        line = names[cycle[0]]  # "Korvin -[imprisoned by]-> Tr'en -[fear]-> Korvin"
        for step in pairwise([*cycle, cycle[0]]):
            line += f" -[{related[step].relation}]-> {names[step[1]]}"
        rows.append({**_ends(pair), **related[pair].columns, "cycle_ids": cycle, "cycle": line})
    return pa.Table.from_pylist(rows, of_one_size("jerr.left_out_edges"))


def _ends(pair: _Pair) -> dict[str, str]:
    return dict(zip(("source_id", "target_id"), pair, strict=True))
