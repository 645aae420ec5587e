"""Relevant nodes of each question by tree search, PageRank (paper, 3.4, 4.3), or matches only."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from gsum_assets.graphs.pagerank import DECIMALS, WalkGraph, personalized_pagerank
from gsum_assets.jerr.matches import Matched, Scope, SearchSpace
from gsum_assets.jerr.methods import Method
from gsum_assets.jerr.settings import SearchSettings
from gsum_assets.jerr.tree_search import Gains, tree_search
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.words import Words
from gsum_resources.store.content_hash import hash_texts

_NOTHING = ((0, 0.0),)  # gains of a node without a matching keyword
_MOST_RANKED = 1000  # nodes kept by PageRank: about as many as simulations visit


@dataclass(frozen=True)
class Found:
    """Nodes of a scope in order of their scores.

    Attributes
    ----------
    visits, rewards : number of simulations through each node and their total reward; None without
        simulations.
    path : path with the best reward.
    """

    nodes: Sequence[int]
    scores: Mapping[int, float]
    visits: Mapping[int, int] | None = None
    rewards: Mapping[int, float] | None = None
    path: Sequence[int] = ()


def search(
    queries: pa.Table,
    keywords: pa.Table,
    space: SearchSpace,
    method: Method,
    settings: SearchSettings,
    words: Words,
) -> pa.Table:
    """Search the graph for every question within its scope."""
    keywords_of = dict(
        zip(*(keywords[n].to_pylist() for n in ("query_id", "keywords")), strict=True)
    )
    n_nodes = method.n_nodes or settings.n_nodes
    rows: list[dict] = []
    for query in queries.sort_by("query_id").to_pylist():
        scope = space.scope(query["document_id"])
        matched = scope.match(keywords_of[query["query_id"]], words, settings.text_match)
        if method.search == "tree":
            seed = int(hash_texts([str(settings.seed), query["query_id"]], 4), 16)
            search_result = by_simulations(scope, matched, settings, seed)
        elif method.search == "match":
            search_result = by_match(matched)
        else:
            gains = matched.gains if method.search == "ppr" else {}
            search_result = by_pagerank(scope, gains, settings.restart)
        rows += _rows(query["query_id"], scope, matched, search_result, n_nodes)
    return pa.Table.from_pylist(rows, TABLES["jerr.searches"].schema)


def by_simulations(scope: Scope, matched: Matched, settings: SearchSettings, seed: int) -> Found:
    """Return nodes ordered by mean reward times ln(1 + visits) of a tree search.

    The mean alone would trust a single visit, and visits alone favour nodes with many incoming
    edges. Every node is a root, and those with the largest gains are tried first. In a small scope
    nodes without matches are therefore visited, too, and come last.
    """
    gains = {node: matched.gains.get(node, _NOTHING) for node in range(len(scope.node_ids))}
    tree = tree_search(scope.children, gains, settings, seed)
    scores = {
        node: tree.rewards[node] / visits * math.log1p(visits)
        for node, visits in tree.visits.items()
    }
    order = sorted(scores, key=lambda node: (-scores[node], node))
    return Found(order, scores, tree.visits, tree.rewards, tree.path)


def by_match(matched: Matched) -> Found:
    """Return nodes ordered by their gains alone: the baseline without search."""
    scores = {
        node: sum(gain for _, gain in node_gains) for node, node_gains in matched.gains.items()
    }
    return Found(sorted(scores, key=lambda node: (-scores[node], node)), scores)


def by_pagerank(scope: Scope, gains: Gains, restart: float) -> Found:
    """Return nodes ordered by Personalized PageRank, with restarts in proportion to gains.

    Without gains restarts are uniform, which is PageRank.
    """
    n = len(scope.node_ids)
    if not n:
        return Found([], {})
    sources = [node for node, targets in enumerate(scope.children) for _ in targets]
    targets = [target for of_node in scope.children for target in of_node]
    graph = WalkGraph(n, np.array(sources, int), np.array(targets, int), np.ones(len(targets)))
    seeds = list(gains) or list(range(n))
    weights = [sum(gain for _, gain in gains.get(node, ())) or 1.0 for node in seeds]
    ranks = personalized_pagerank(graph, seeds, np.array(weights), restart).round(DECIMALS)
    order = [node for node in np.argsort(-ranks, kind="stable").tolist() if ranks[node] > 0]
    return Found(order[:_MOST_RANKED], dict(enumerate(ranks.tolist())))


def _rows(query_id: str, scope: Scope, matched: Matched, result: Found, n_nodes: int) -> list[dict]:
    step_of = {node: step for step, node in enumerate(result.path, start=1)}
    chunks_of = {
        node: sorted(scope.chunks[node], key=lambda c: (-matched.coverage[c], c))
        for node in result.nodes
    }
    rows = []
    for position, node in enumerate(_in_turns(result.nodes, chunks_of), start=1):
        visits = result.visits[node] if result.visits else None
        total = result.rewards[node] if result.rewards else 0.0
        rows.append(
            {
                "query_id": query_id,
                "node_id": scope.node_ids[node],
                "name": scope.names[node],
                "place": position,
                "is_chosen": position <= n_nodes,
                "step": step_of.get(node),
                "visits": visits,
                "mean_reward": total / visits if visits else None,
                "score": result.scores[node],
                "keywords": list(matched.keywords.get(node, ())),
                "chunk_ids": [scope.chunk_ids[c] for c in chunks_of[node]],
            }
        )
    return rows


def _in_turns(nodes: Sequence[int], chunks_of: Mapping[int, Sequence[int]]) -> list[int]:
    """Return the best node of each line chunk, then the second of each, and so on.

    Nodes of one line chunk match the same text, so the best few would often be of a single one: on
    SQuALITY train 5 nodes include the line chunk with the answer for 69.5% of the questions instead
    of 53.0% (line chunks of 600; by Personalized PageRank 64.0% instead of 59.5%).
    """
    met: Counter[int] = Counter()
    turns = []
    for position, node in enumerate(nodes):
        turns.append((met[chunks_of[node][0]], position, node))
        met[chunks_of[node][0]] += 1
    return [node for *_, node in sorted(turns)]
