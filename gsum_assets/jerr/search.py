"""Relevant nodes of each question by tree search or PageRank (paper, 3.4, 4.3)."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from gsum_assets.graphs.pagerank import DECIMALS, WalkGraph, personalized_pagerank
from gsum_assets.jerr.lines import Relevance
from gsum_assets.jerr.matches import Scope, SearchSpace
from gsum_assets.jerr.methods import Method
from gsum_assets.jerr.settings import SearchSettings
from gsum_assets.jerr.tree_search import Gains, tree_search
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.words import Words
from gsum_resources.store.content_hash import hash_texts

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
    relevance: Relevance,
    space: SearchSpace,
    method: Method,
    settings: SearchSettings,
    words: Words,
) -> pa.Table:
    """Search the graph for every question within its scope.

    Parameters
    ----------
    keywords : rows of `jerr.keywords`, which 'published' reads alone.
    """
    keywords_of = dict(
        zip(*(keywords[n].to_pylist() for n in ("query_id", "keywords")), strict=True)
    )
    rows: list[dict] = []
    for query in queries.sort_by("query_id").to_pylist():
        query_id, scope = query["query_id"], space.scope(query["document_id"])
        found_lines, named = relevance.get(query_id, {}), keywords_of.get(query_id, ())
        is_published = method.search == "published"
        matched = scope.by_keywords(named, words) if is_published else {}
        if method.search in ("tree", "published"):
            seed = int(hash_texts([str(settings.seed), query_id], 4), 16)
            gains = matched if is_published else scope.by_relevance(found_lines)
            result = by_simulations(scope, gains, settings, seed, is_published)
        else:
            gains = scope.by_relevance(found_lines) if method.search == "ppr" else {}
            result = by_pagerank(scope, gains, settings.restart)
        named_by = {node: [named[k] for k, _ in of_node] for node, of_node in matched.items()}
        rows += _rows(query_id, scope, result, settings.n_nodes, found_lines, named_by)
    return pa.Table.from_pylist(rows, TABLES["jerr.searches"].schema)


def by_simulations(
    scope: Scope, gains: Gains, settings: SearchSettings, seed: int, is_published: bool = False
) -> Found:
    """Return nodes ordered by mean reward times ln(1 + visits) of a tree search.

    The mean alone would trust a single visit, and visits alone favour nodes with many incoming
    edges. Those with the largest gains are tried first.
    """
    tree = tree_search(scope.children, gains, settings, seed, is_published)
    scores = {
        node: tree.rewards[node] / visits * math.log1p(visits)
        for node, visits in tree.visits.items()
    }
    order = sorted(scores, key=lambda node: (-scores[node], node))
    return Found(order, scores, tree.visits, tree.rewards, tree.path)


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
    weights = np.array([sum(gain for _, gain in gains.get(node, ())) for node in range(n)])
    seeds = np.flatnonzero(weights) if weights.any() else np.arange(n)
    starts = weights[seeds] if weights.any() else np.ones(n)
    ranks = personalized_pagerank(graph, seeds.tolist(), starts, restart).round(DECIMALS)
    order = [node for node in np.argsort(-ranks, kind="stable").tolist() if ranks[node] > 0]
    return Found(order[:_MOST_RANKED], dict(enumerate(ranks.tolist())))


def _rows(
    query_id: str,
    scope: Scope,
    result: Found,
    n_nodes: int,
    relevance: Mapping[str, float],
    keywords: Mapping[int, Sequence[str]],
) -> list[dict]:
    step_of = {node: step for step, node in enumerate(result.path, start=1)}
    rank = {chunk_id: i for i, chunk_id in enumerate(relevance)}
    chunks_of = {node: sorted(scope.chunk_ids[node], key=rank.__getitem__) for node in result.nodes}
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
                "keywords": list(keywords.get(node, ())),
                "chunk_ids": chunks_of[node],
            }
        )
    return rows


def _in_turns(nodes: Sequence[int], chunks_of: Mapping[int, Sequence[str]]) -> list[int]:
    """Return the best node of each line chunk, then the second of each, and so on.

    Nodes of one line chunk match the same text, so the best few would often be of a single one.
    """
    met: Counter[str] = Counter()
    turns = []
    for position, node in enumerate(nodes):
        turns.append((met[chunks_of[node][0]], position, node))
        met[chunks_of[node][0]] += 1
    return [node for *_, node in sorted(turns)]
