"""Subgraph that a question searches, and what its nodes match."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from gsum_assets.jerr.tree_search import Gains
from gsum_assets.retrieval.words import Words


@dataclass(frozen=True, eq=False)
class Scope:
    """The subgraph that a question searches: that of a document, or the whole graph.

    Attributes
    ----------
    node_ids, names : ids and names of the nodes, ordered by id, `(n_nodes,)`.
    children : targets of the edges from each node, ascending.
    chunk_ids : line chunks of each node, at least one, in reading order.
    terms : terms of each node's name and of its synopses.
    """

    node_ids: Sequence[str]
    names: Sequence[str]
    children: Sequence[Sequence[int]]
    chunk_ids: Sequence[Sequence[str]]
    terms: Sequence[frozenset[str]]

    def by_relevance(self, relevance: Mapping[str, float]) -> Gains:
        """Return the most relevant line chunk of each node; the best gain of all is 1."""
        gains: dict[int, list[tuple[int, float]]] = {}
        number = {chunk_id: i for i, chunk_id in enumerate(relevance)}
        for node, chunk_ids in enumerate(self.chunk_ids):
            best = min(chunk_ids, key=number.__getitem__)
            gains[node] = [(number[best], relevance[best])]
        return gains

    def by_keywords(self, keywords: Sequence[str], words: Words) -> Gains:
        """Return the keywords whose words are all in a node's name or synopses (3.4, B).

        The gain is 1 over the number of keywords.
        """
        gains: dict[int, list[tuple[int, float]]] = defaultdict(list)
        for k, keyword in enumerate(keywords):
            if needed := set(words.split(keyword)):
                for node, terms in enumerate(self.terms):
                    if needed <= terms:
                        gains[node].append((k, 1 / len(keywords)))
        return dict(gains)


class SearchSpace:
    """The graph of a corpus, and the texts of its nodes."""

    def __init__(
        self,
        nodes: pa.Table,
        edges: pa.Table,
        line_chunks: pa.Table,
        synopses: pa.Table,
        words: Words,
    ) -> None:
        self._nodes = nodes.sort_by("node_id").to_pylist()
        self._edges = edges.select(["source_id", "target_id", "document_ids"]).to_pylist()
        ordered = [("document_id", "ascending"), ("position", "ascending")]
        rows = line_chunks.sort_by(ordered).select(["chunk_id", "document_id"]).to_pylist()
        self._document_of = {row["chunk_id"]: row["document_id"] for row in rows}
        self._number = {chunk_id: i for i, chunk_id in enumerate(self._document_of)}
        self._terms = {
            row["chunk_id"]: frozenset(words.split(row["synopsis"])) for row in synopses.to_pylist()
        }
        self._of_document = _by_document(self._nodes), _by_document(self._edges)
        self._words = words
        self._scopes: dict[str | None, Scope] = {}

    def scope(self, document_id: str | None) -> Scope:
        """Return the subgraph of a document; None: the whole graph."""
        if document_id not in self._scopes:
            self._scopes[document_id] = self._scope(document_id)
        return self._scopes[document_id]

    def _scope(self, document_id: str | None) -> Scope:
        nodes, edges = self._nodes, self._edges
        if document_id is not None:
            nodes, edges = (rows.get(document_id, []) for rows in self._of_document)
        number = {row["node_id"]: i for i, row in enumerate(nodes)}
        children: list[list[int]] = [[] for _ in nodes]
        for row in edges:
            children[number[row["source_id"]]].append(number[row["target_id"]])
        inside = (document_id,) if document_id is not None else set(self._document_of.values())
        chunk_ids = [
            sorted(
                (c for c in row["chunk_ids"] if self._document_of[c] in inside),
                key=self._number.__getitem__,
            )
            for row in nodes
        ]
        texts = [(self._terms.get(c, frozenset()) for c in of_node) for of_node in chunk_ids]
        return Scope(
            [row["node_id"] for row in nodes],
            [row["name"] for row in nodes],
            [sorted(targets) for targets in children],
            chunk_ids,
            [
                frozenset(self._words.split(row["name"])).union(*of_node)
                for row, of_node in zip(nodes, texts, strict=True)
            ],
        )


def _by_document(rows: Iterable[dict]) -> Mapping[str, list[dict]]:
    """Return the rows of each document, since each of thousands has a scope of its own."""
    rows_of: dict[str, list[dict]] = defaultdict(list)
    for row in rows:
        for document_id in row["document_ids"]:
            rows_of[document_id].append(row)
    return rows_of
