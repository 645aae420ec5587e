"""Which nodes and line chunks a question's keywords match, within what it asks about."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from gsum_assets.jerr.tree_search import Gains
from gsum_assets.retrieval.words import Words

_DECIMALS = 9  # ties fall to the order of line chunks on every machine


@dataclass(frozen=True, eq=False)
class Matched:
    """What the keywords of one question match in a scope.

    Attributes
    ----------
    gains : of nodes; the best gains of all keywords sum to 1 at most.
    keywords : of each node that has gains, the keywords.
    coverage : `(n_chunks,)` how much of the keywords a line chunk holds, weighted, 0 to 1.
    """

    gains: Gains
    keywords: Mapping[int, Sequence[str]]
    coverage: np.ndarray


@dataclass(frozen=True, eq=False)
class Scope:
    """The part of a graph that a question looks at: a document's, or all of it.

    Attributes
    ----------
    node_ids, names : `(n_nodes,)`, ordered by id.
    children : nodes that the edges from each node lead to, ascending.
    chunk_ids : line chunks in reading order, `(n_chunks,)`.
    chunks : of each node, the places of its line chunks among these, at least one.
    in_names, in_texts : for a term, the nodes whose name and the line chunks whose text hold it,
        and how often.
    """

    node_ids: Sequence[str]
    names: Sequence[str]
    children: Sequence[Sequence[int]]
    chunk_ids: Sequence[str]
    chunks: Sequence[Sequence[int]]
    in_names: Mapping[str, Mapping[int, int]]
    in_texts: Mapping[str, Mapping[int, int]]

    def match(self, keywords: Sequence[str], words: Words, text_match: float) -> Matched:
        """How nodes and line chunks match a question's keywords.

        A line chunk that holds a keyword f times holds it to f / (f + 1), and a node as far as
        the one of its line chunks that holds most of all keywords; its name makes up the rest. Of
        a keyword of several words each counts alike. A keyword weighs ln(1 + n / m), where m of n
        line chunks hold it; one that nothing matches weighs nothing. Where none is matched, as of
        a question about everything, a node gains by the share of line chunks that it is in.

        The paper matches nodes by their synopses; by the line chunks themselves 5 nodes lead to
        the one that holds the answer for 59.5% instead of 40.5% of the questions of SQuALITY train
        (line chunks of 600, before nodes take turns).

        Parameters
        ----------
        text_match : what a keyword counts at most that is not in a node's name.
        """
        n_nodes, n_chunks = len(self.node_ids), len(self.chunk_ids)
        names, texts = np.zeros((len(keywords), n_nodes)), np.zeros((len(keywords), n_chunks))
        for k, keyword in enumerate(keywords):
            terms = set(words.split(keyword))
            for term in terms:
                names[k, list(self.in_names.get(term, ()))] += 1 / len(terms)
                for place, count in self.in_texts.get(term, {}).items():
                    texts[k, place] += count / (count + 1) / len(terms)
        n_holding = np.maximum(np.count_nonzero(texts, axis=1), 1)
        weights = np.log1p(n_chunks / n_holding) * (names.any(axis=1) | texts.any(axis=1))
        weights /= weights.sum() or 1.0
        coverage = (weights @ texts).round(_DECIMALS)
        if not weights.any():
            alike = {node: [(0, len(own) / n_chunks)] for node, own in enumerate(self.chunks)}
            return Matched(alike, {}, coverage)
        held = text_match * texts[:, self._best_chunks(coverage)] + (1 - text_match) * names
        gains: dict[int, list[tuple[int, float]]] = defaultdict(list)
        for node, k in np.argwhere(held.T > 0).tolist():
            gains[node].append((k, float(weights[k] * held[k, node])))
        matched = {node: [keywords[k] for k, _ in own] for node, own in gains.items()}
        return Matched(gains, matched, coverage)

    def _best_chunks(self, coverage: np.ndarray) -> np.ndarray:
        """Return the line chunk of each node that holds most, `(n_nodes,)`; of equal ones the first."""
        nodes, chunks = self._pairs
        order = np.lexsort((chunks, -coverage[chunks], nodes))
        first = np.unique(nodes[order], return_index=True)[1]
        return chunks[order][first]

    @cached_property
    def _pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Nodes, and their line chunks one by one."""
        counts = [len(own) for own in self.chunks]
        return (
            np.repeat(np.arange(len(counts)), counts),
            np.array([place for own in self.chunks for place in own], np.int64),
        )


class SearchSpace:
    """The graph of a corpus and the texts that its nodes are matched by.

    Parameters
    ----------
    nodes, edges, line_chunks : rows of one size of `jerr.nodes`, `jerr.edges`, `jerr.line_chunks`.
    words : how texts are split into terms.
    """

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
        self._words = words
        self._scopes: dict[str | None, Scope] = {}

    def scope(self, document_id: str | None) -> Scope:
        """What lies in a document; None: in the corpus."""
        if document_id not in self._scopes:
            self._scopes[document_id] = self._scope(document_id)
        return self._scopes[document_id]

    def _scope(self, document_id: str | None) -> Scope:
        def lies_within(documents: Iterable[str]) -> bool:
            return document_id is None or document_id in documents

        nodes = [row for row in self._nodes if lies_within(row["document_ids"])]
        place_of = {row["node_id"]: i for i, row in enumerate(nodes)}
        children: list[list[int]] = [[] for _ in nodes]
        for row in self._edges:
            if lies_within(row["document_ids"]):
                children[place_of[row["source_id"]]].append(place_of[row["target_id"]])
        chunks = [(c, terms) for c, document, terms in self._chunks if lies_within((document,))]
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


def _postings(texts: Iterable[Counter[str]]) -> Mapping[str, Mapping[int, int]]:
    found: dict[str, dict[int, int]] = defaultdict(dict)
    for place, terms in enumerate(texts):
        for term, count in terms.items():
            found[term][place] = count
    return found
