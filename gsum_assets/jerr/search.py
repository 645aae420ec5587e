"""Relevant nodes of each question by tree search or PageRank (paper, 3.4, 4.3)."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pyarrow as pa

from gsum_assets.evaluation.answer import question_text
from gsum_assets.evaluation.token_usage import spent, why
from gsum_assets.graphs.pagerank import DECIMALS, WalkGraph, personalized_pagerank
from gsum_assets.jerr.methods import Method
from gsum_assets.jerr.prompts import PROMPTS, Keywords
from gsum_assets.jerr.rank import Relevance
from gsum_assets.jerr.settings import SearchSettings
from gsum_assets.jerr.tree_search import Gains, Searched, tree_search
from gsum_assets.pipeline.prompts import Prompts
from gsum_assets.pipeline.result import Result
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.words import Words
from gsum_resources.protocols.models import Completion, LanguageModel, Request
from gsum_resources.store.arrow import mapping
from gsum_resources.store.content_hash import hash_texts

RESTART = 0.15
"""Probability of a restart of PageRank (ours)."""
_MOST_RANKED = 1000  # nodes by PageRank: about as many as simulations visit
_MOST_KEYWORDS = 10
_KEYWORD_WORDS = 40  # of a reply
_SEED = "0"


def ask_keywords(queries: pa.Table, model: LanguageModel, prompts: Prompts = PROMPTS) -> Result:
    """Request the keywords of all questions; without a valid reply, they are its own words."""
    questions = queries.sort_by("query_id").to_pylist()
    instructions = prompts.text("keywords")
    bare = Request("facts", instructions, max_words=_KEYWORD_WORDS, schema=Keywords)
    asked = [question_text(row | {"text": row["retrieval_text"]}) for row in questions]
    requests = [
        replace(bare, passages=(text,), document_id=row["document_id"] or "")
        for row, text in zip(questions, asked, strict=True)
    ]
    rows, failures = [], []
    for row, reply in zip(questions, model.complete(requests), strict=True):
        if isinstance(reply, Completion) and isinstance(reply.parsed, Keywords):
            stripped = (" ".join(keyword.split()) for keyword in reply.parsed.keywords)
            keywords = list(dict.fromkeys(filter(None, stripped)))[:_MOST_KEYWORDS]
        else:
            keywords = row["retrieval_text"].split()
            failures.append(f"question '{row['query_id']}': no keywords: {why(reply)}")
        rows.append({"query_id": row["query_id"], "keywords": keywords, **spent(reply)})
    return Result(pa.Table.from_pylist(rows, TABLES["jerr.keywords"].schema), failures)


@dataclass(frozen=True, eq=False)
class Scope:
    """The subgraph that a question searches: that of a document, or the whole graph.

    Nodes are ordered by id, with targets of their edges, line chunks in reading order, and terms of
    their names and synopses.
    """

    node_ids: Sequence[str]
    names: Sequence[str]
    children: Sequence[Sequence[int]]
    chunk_ids: Sequence[Sequence[str]]
    terms: Sequence[frozenset[str]]

    def by_relevance(self, relevance: Mapping[str, float]) -> Gains:
        """Return the most relevant line chunk of each node; the best gain of all is 1."""
        rank = {chunk_id: i for i, chunk_id in enumerate(relevance)}
        best = [min(chunk_ids, key=rank.__getitem__) for chunk_ids in self.chunk_ids]
        return {node: [(rank[chunk], relevance[chunk])] for node, chunk in enumerate(best)}

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


ScopeOf = Callable[[str | None], Scope]


def scopes_of(
    nodes: pa.Table, edges: pa.Table, line_chunks: pa.Table, synopses: pa.Table, words: Words
) -> ScopeOf:
    """Return the function to the subgraph of a document; None: the whole graph."""
    ordered = [("document_id", "ascending"), ("position", "ascending")]
    rows = line_chunks.sort_by(ordered).select(["chunk_id", "document_id"]).to_pylist()
    document_of = {row["chunk_id"]: row["document_id"] for row in rows}
    number_of = {chunk_id: i for i, chunk_id in enumerate(document_of)}
    terms_of = {
        row["chunk_id"]: frozenset(words.split(row["synopsis"])) for row in synopses.to_pylist()
    }
    nodes_within = _by_document(nodes.sort_by("node_id").to_pylist())
    ends = edges.select(["source_id", "target_id", "document_ids"])
    edges_within = _by_document(ends.to_pylist())

    @cache
    def scope(document_id: str | None) -> Scope:
        own = nodes_within[document_id]
        index = {row["node_id"]: i for i, row in enumerate(own)}
        children: list[list[int]] = [[] for _ in own]
        for row in edges_within[document_id]:
            children[index[row["source_id"]]].append(index[row["target_id"]])
        chunk_ids, terms = [], []
        for row in own:
            inside = [c for c in row["chunk_ids"] if document_id in (None, document_of[c])]
            chunk_ids.append(sorted(inside, key=number_of.__getitem__))
            texts = (terms_of.get(chunk_id, frozenset()) for chunk_id in inside)
            terms.append(frozenset(words.split(row["name"])).union(*texts))
        names = [row["name"] for row in own]
        return Scope(list(index), names, [sorted(ends) for ends in children], chunk_ids, terms)

    return scope


def _by_document(rows: Iterable[dict]) -> Mapping[str | None, list[dict]]:
    """Return the rows of each document, as each of thousands has a scope, and by None all rows."""
    rows_of: dict[str | None, list[dict]] = defaultdict(list)
    for row in rows:
        for document_id in (None, *row["document_ids"]):
            rows_of[document_id].append(row)
    return rows_of


def search(
    queries: pa.Table,
    keywords: pa.Table,
    relevance: Relevance,
    scope_of: ScopeOf,
    method: Method,
    settings: SearchSettings,
    words: Words,
) -> pa.Table:
    """Return the rows of `jerr.searches`: the nodes found for each question within its scope."""
    keywords_of = mapping(keywords, "query_id", "keywords")
    is_published = method.search == "published"
    rows: list[dict] = []
    for query in queries.sort_by("query_id").to_pylist():
        query_id, scope = query["query_id"], scope_of(query["document_id"])
        relevant, named = relevance.get(query_id, {}), keywords_of.get(query_id, ())
        matched: Mapping[int, Sequence[str]] = {}
        gains: Gains = {}
        if is_published:
            gains = scope.by_keywords(named, words)
            matched = {node: [named[k] for k, _ in of_node] for node, of_node in gains.items()}
        elif method.search != "pagerank":
            gains = scope.by_relevance(relevant)
        tree = None
        if method.search in ("tree", "published"):
            seed = int(hash_texts([_SEED, query_id], 4), 16)
            tree = tree_search(scope.children, gains, settings.n_simulations, seed, is_published)
        scores = by_reward(tree) if tree else by_pagerank(scope)
        nodes = _by_turns(scope, scores, relevant)
        step_of = {node: step for step, node in enumerate(tree.path if tree else (), start=1)}
        rows += [
            {
                "query_id": query_id,
                "node_id": scope.node_ids[node],
                "name": scope.names[node],
                "place": place,
                "is_chosen": place <= settings.n_nodes,
                "step": step_of.get(node),
                "visits": tree.visits[node] if tree else None,
                "mean_reward": tree.rewards[node] / tree.visits[node] if tree else None,
                "score": scores[node],
                "keywords": matched.get(node, []),
                "chunk_ids": chunk_ids,
            }
            for place, (node, chunk_ids) in enumerate(nodes.items(), start=1)
        ]
    return pa.Table.from_pylist(rows, TABLES["jerr.searches"].schema)


def by_reward(tree: Searched) -> Mapping[int, float]:
    """Return mean reward times ln(1 + visits) of each node, best first."""
    scores = {
        node: tree.rewards[node] / visits * math.log1p(visits)
        for node, visits in sorted(tree.visits.items())
    }
    return dict(sorted(scores.items(), key=lambda item: -item[1]))


def by_pagerank(scope: Scope) -> Mapping[int, float]:
    """Return the PageRank of the best nodes."""
    n = len(scope.node_ids)
    if not n:
        return {}
    sources = [node for node, targets in enumerate(scope.children) for _ in targets]
    targets = [target for of_node in scope.children for target in of_node]
    graph = WalkGraph(n, np.array(sources, int), np.array(targets, int), np.ones(len(targets)))
    ranks = personalized_pagerank(graph, range(n), np.ones(n), RESTART).round(DECIMALS)
    best = np.argsort(-ranks, kind="stable")[:_MOST_RANKED].tolist()
    return {node: float(ranks[node]) for node in best if ranks[node] > 0}


def _by_turns(
    scope: Scope, scores: Iterable[int], relevance: Mapping[str, float]
) -> dict[int, list[str]]:
    """Return the best node of each line chunk, then the second of each, with their line chunks.

    Otherwise the best few would often be of a single line chunk, as they match the same text.
    """
    rank = {chunk_id: i for i, chunk_id in enumerate(relevance)}
    n_before: Counter[str] = Counter()
    turns: list[tuple[int, int, list[str]]] = []
    for node in scores:
        chunk_ids = sorted(scope.chunk_ids[node], key=rank.__getitem__)
        turns.append((n_before[chunk_ids[0]], node, chunk_ids))
        n_before[chunk_ids[0]] += 1
    return {node: chunk_ids for _, node, chunk_ids in sorted(turns, key=lambda turn: turn[0])}
