"""Which nodes and line chunks a question's keywords match, within what it asks about."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from gsum_assets.jerr.tree_search import Gains
from gsum_assets.retrieval.words import Words

@dataclass(frozen=True, eq=False)
class Matched:
    """What the keywords of one question match in a scope.

    Attributes
    ----------
    gains : of nodes; the best gains of all keywords sum to 1 at most.
    keywords : of each node that has gains, the keywords.
    coverage : `(n_chunks,)` share of the keywords, weighted, that a line chunk's synopsis and
        facts hold.
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
    chunks : of each node, the places of its line chunks among these.
    names_hold, texts_hold : terms with the nodes whose name, and the line chunks whose synopsis or
        facts hold them.
    """

    node_ids: Sequence[str]
    names: Sequence[str]
    children: Sequence[Sequence[int]]
    chunk_ids: Sequence[str]
    chunks: Sequence[Sequence[int]]
    names_hold: Mapping[str, Sequence[int]]
    texts_hold: Mapping[str, Sequence[int]]

    @cached_property
    def _holders(self) -> Sequence[np.ndarray]:
        """Nodes of each line chunk."""
        found: list[list[int]] = [[] for _ in self.chunk_ids]
        for node, places in enumerate(self.chunks):
            for place in places:
                found[place].append(node)
        return [np.array(nodes, np.int64) for nodes in found]

    def match(self, keywords: Sequence[str], words: Words, text_match: float) -> Matched:
        """How nodes and line chunks match a question's keywords.

        A keyword of several words matches by the share of them. It weighs ln(1 + n / m), where m
        of n line chunks hold it; one that nothing matches weighs nothing. Where none is matched, as
        of a question about everything, a node gains by the share of line chunks that it is in.

        Parameters
        ----------
        text_match : what a word counts that stands in a node's synopses and not in its name.
        """
        n_nodes, n_chunks = len(self.node_ids), len(self.chunk_ids)
        by_node, by_chunk, weights = [], [], []
        for keyword in keywords:
            terms = dict.fromkeys(words.split(keyword))
            nodes, chunks = np.zeros(n_nodes), np.zeros(n_chunks)
            for term in terms:
                in_text, strength = self.texts_hold.get(term, ()), np.zeros(n_nodes)
                chunks[list(in_text)] += 1 / len(terms)
                for place in in_text:
                    strength[self._holders[place]] = text_match
                strength[list(self.names_hold.get(term, ()))] = 1
                nodes += strength / len(terms)
            n_holding = max(np.count_nonzero(chunks), 1)
            is_found = nodes.any() or chunks.any()
            weights.append(np.log1p(n_chunks / n_holding) if is_found else 0.0)
            by_node.append(nodes)
            by_chunk.append(chunks)
        share = np.array(weights) / (sum(weights) or 1.0)
        gains: dict[int, list[tuple[int, float]]] = defaultdict(list)
        for k, nodes in enumerate(by_node):
            for node in np.flatnonzero(nodes).tolist():
                gains[node].append((k, float(share[k] * nodes[node])))
        if not gains and n_chunks:
            gains = {node: [(0, len(own) / n_chunks)] for node, own in enumerate(self.chunks)}
            return Matched(gains, {}, np.zeros(n_chunks))
        matched = {node: [keywords[k] for k, _ in own] for node, own in gains.items()}
        coverage = share @ np.array(by_chunk) if by_chunk else np.zeros(n_chunks)
        return Matched(dict(sorted(gains.items())), matched, coverage)


class SearchSpace:
    """The graph of a corpus and the texts that its nodes are matched by.

    Parameters
    ----------
    nodes, edges, synopses, facts : rows of one size of `jerr.nodes`, `jerr.edges`,
        `jerr.synopses` and `jerr.atomic_facts`.
    words : how texts are split into terms.
    """

    def __init__(
        self, nodes: pa.Table, edges: pa.Table, synopses: pa.Table, facts: pa.Table, words: Words
    ) -> None:
        self._nodes = nodes.sort_by("node_id").to_pylist()
        self._edges = edges.select(["source_id", "target_id", "document_ids"]).to_pylist()
        self._synopses = synopses.sort_by(
            [("document_id", "ascending"), ("position", "ascending")]
        ).to_pylist()
        self._words = words
        said: dict[str, list[str]] = defaultdict(list)
        for row in facts.select(["chunk_id", "statement"]).to_pylist():
            said[row["chunk_id"]].append(row["statement"])
        self._terms = {
            row["chunk_id"]: set(words.split(" ".join([row["synopsis"], *said[row["chunk_id"]]])))
            for row in self._synopses
        }
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
        chunk_ids = [
            row["chunk_id"] for row in self._synopses if lies_within((row["document_id"],))
        ]
        chunk_of = {chunk_id: i for i, chunk_id in enumerate(chunk_ids)}
        return Scope(
            [row["node_id"] for row in nodes],
            [row["name"] for row in nodes],
            [sorted(targets) for targets in children],
            chunk_ids,
            [sorted(chunk_of[c] for c in row["chunk_ids"] if c in chunk_of) for row in nodes],
            _postings(self._words.split(row["name"]) for row in nodes),
            _postings(self._terms[chunk_id] for chunk_id in chunk_ids),
        )


def _postings(texts: Iterable[Iterable[str]]) -> Mapping[str, Sequence[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for place, terms in enumerate(texts):
        for term in set(terms):
            found[term].append(place)
    return found
