"""Matches of a question's keywords with nodes and line chunks of its scope."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from gsum_assets.jerr.tree_search import Gains
from gsum_assets.retrieval.words import Words

_DECIMALS = 9  # ties are broken by the order of line chunks on every machine


@dataclass(frozen=True, eq=False)
class Matched:
    """Matches of the keywords of one question in a scope.

    Attributes
    ----------
    gains : gains of nodes; the best gains of all keywords sum to at most 1.
    keywords : matching keywords of each node that has gains.
    coverage : weighted share of the keywords in each line chunk, 0 to 1, `(n_chunks,)`.
    """

    gains: Gains
    keywords: Mapping[int, Sequence[str]]
    coverage: np.ndarray


@dataclass(frozen=True, eq=False)
class Scope:
    """The subgraph that a question searches: that of a document, or the whole graph.

    Attributes
    ----------
    node_ids, names : ids and names of the nodes, ordered by id, `(n_nodes,)`.
    children : targets of the edges from each node, ascending.
    chunk_ids : line chunks in reading order, `(n_chunks,)`.
    chunks : indices into `chunk_ids` of the line chunks of each node, at least one.
    in_names, in_texts : counts of each term in names of nodes and in texts of line chunks.
    """

    node_ids: Sequence[str]
    names: Sequence[str]
    children: Sequence[Sequence[int]]
    chunk_ids: Sequence[str]
    chunks: Sequence[Sequence[int]]
    in_names: Mapping[str, Mapping[int, int]]
    in_texts: Mapping[str, Mapping[int, int]]

    def match(self, keywords: Sequence[str], words: Words, text_match: float) -> Matched:
        """Return the matches of a question's keywords with nodes and line chunks.

        A line chunk in which a keyword occurs f times matches it by f / (f + 1). A node matches a
        keyword by that of its line chunk with the best coverage, weighted by `text_match`, and by
        its name with the remaining weight. The words of a keyword have equal weights. The weight of
        a keyword is ln(1 + n / m), where m of n line chunks contain it, and 0 without a match. If
        no keyword matches, as for a question about everything, the gain of a node is its share of
        the line chunks.

        The paper matches nodes by their synopses; with line chunks, 5 nodes include the line chunk
        with the answer for 59.5% instead of 40.5% of the questions of SQuALITY train (line chunks
        of 600, before nodes take turns).

        Parameters
        ----------
        text_match : maximum match of a keyword that is not in a node's name.
        """
        n_nodes, n_chunks = len(self.node_ids), len(self.chunk_ids)
        names, texts = np.zeros((len(keywords), n_nodes)), np.zeros((len(keywords), n_chunks))
        for k, keyword in enumerate(keywords):
            terms = sorted(set(words.split(keyword)))
            for term in terms:
                names[k, list(self.in_names.get(term, ()))] += 1 / len(terms)
                for index, count in self.in_texts.get(term, {}).items():
                    texts[k, index] += count / (count + 1) / len(terms)
        n_holding = np.maximum(np.count_nonzero(texts, axis=1), 1)
        weights = np.log1p(n_chunks / n_holding) * (names.any(axis=1) | texts.any(axis=1))
        weights /= weights.sum() or 1.0
        coverage = (weights @ texts).round(_DECIMALS)
        if not weights.any():
            alike = {
                node: [(0, len(of_node) / n_chunks)] for node, of_node in enumerate(self.chunks)
            }
            return Matched(alike, {}, coverage)
        held = text_match * texts[:, self._best_chunks(coverage)] + (1 - text_match) * names
        gains: dict[int, list[tuple[int, float]]] = defaultdict(list)
        for node, k in np.argwhere(held.T > 0).tolist():
            gains[node].append((k, float(weights[k] * held[k, node])))
        matched = {node: [keywords[k] for k, _ in node_gains] for node, node_gains in gains.items()}
        return Matched(gains, matched, coverage)

    def _best_chunks(self, coverage: np.ndarray) -> np.ndarray:
        """Return the first line chunk of each node with the best coverage, `(n_nodes,)`."""
        nodes, chunks = self._pairs
        order = np.lexsort((chunks, -coverage[chunks], nodes))
        first = np.unique(nodes[order], return_index=True)[1]
        return chunks[order][first]

    @cached_property
    def _pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Pairs of node and line chunk, as two arrays."""
        counts = [len(of_node) for of_node in self.chunks]
        return (
            np.repeat(np.arange(len(counts)), counts),
            np.array([index for of_node in self.chunks for index in of_node], np.int64),
        )


class SearchSpace:
    """The graph of a corpus, and the texts with which keywords are matched."""

    def __init__(
        self, nodes: pa.Table, edges: pa.Table, line_chunks: pa.Table, words: Words
    ) -> None:
        self._nodes = nodes.sort_by("node_id").to_pylist()
        self._edges = edges.select(["source_id", "target_id", "document_ids"]).to_pylist()
        ordered = [("document_id", "ascending"), ("position", "ascending")]
        columns = line_chunks.sort_by(ordered).select(["chunk_id", "document_id", "text"])
        self._chunks = [
            (row["chunk_id"], row["document_id"], Counter(words.split(row["text"])))
            for row in columns.to_pylist()
        ]
        self._of_document = _by_document(
            [row["document_ids"] for row in self._nodes],
            [row["document_ids"] for row in self._edges],
            [(document_id,) for _, document_id, _ in self._chunks],
        )
        self._words = words
        self._scopes: dict[str | None, Scope] = {}

    def scope(self, document_id: str | None) -> Scope:
        """Return the subgraph of a document; None: the whole graph."""
        if document_id not in self._scopes:
            self._scopes[document_id] = self._scope(document_id)
        return self._scopes[document_id]

    def _scope(self, document_id: str | None) -> Scope:
        nodes, edges, own_chunks = self._nodes, self._edges, self._chunks
        if document_id is not None:
            of_nodes, of_edges, of_chunks = self._of_document.get(document_id, ([], [], []))
            nodes = [nodes[i] for i in of_nodes]
            edges = [edges[i] for i in of_edges]
            own_chunks = [own_chunks[i] for i in of_chunks]
        place_of = {row["node_id"]: i for i, row in enumerate(nodes)}
        children: list[list[int]] = [[] for _ in nodes]
        for row in edges:
            children[place_of[row["source_id"]]].append(place_of[row["target_id"]])
        chunks = [(chunk_id, terms) for chunk_id, _, terms in own_chunks]
        chunk_of = {chunk_id: i for i, (chunk_id, _) in enumerate(chunks)}
        return Scope(
            [row["node_id"] for row in nodes],
            [row["name"] for row in nodes],
            [sorted(targets) for targets in children],
            list(chunk_of),
            [sorted(chunk_of[c] for c in row["chunk_ids"] if c in chunk_of) for row in nodes],
            _postings(Counter(self._words.split(row["name"])) for row in nodes),
            _postings(terms for _, terms in chunks),
        )


def _by_document(*documents: Sequence[Iterable[str]]) -> Mapping[str, Sequence[Sequence[int]]]:
    """Return for each document the indices of its rows, in each list of the documents of rows.

    Computed once, since each of thousands of documents has a scope of its own.
    """
    rows_of: dict[str, list[list[int]]] = defaultdict(lambda: [[] for _ in documents])
    for at, of_rows in enumerate(documents):
        for index, names in enumerate(of_rows):
            for name in dict.fromkeys(names):
                rows_of[name][at].append(index)
    return dict(rows_of)


def _postings(texts: Iterable[Counter[str]]) -> Mapping[str, Mapping[int, int]]:
    postings: dict[str, dict[int, int]] = defaultdict(dict)
    for index, terms in enumerate(texts):
        for term, count in terms.items():
            postings[term][index] = count
    return postings
