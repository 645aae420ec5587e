"""Tree search against all paths of small graphs, and on shapes that it must end on."""

import math
import random
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from gsum_assets.jerr import tree_search as module
from gsum_assets.jerr.tree_search import DEPTH, DISCOUNT, NEW_PATH_EVERY, Gains, tree_search

Graph = tuple[list[list[int]], dict[int, list[tuple[int, float]]]]

MOST_PATHS = sum(math.comb(8, length) for length in range(1, DEPTH + 1))
"""In a graph of 8 nodes, each of which leads to all later ones."""
MANY = 50_000


@st.composite
def graphs(draw: Any) -> Graph:
    """Up to 8 nodes in an order drawn, some edges that lead on in it, gains that sum to 1."""
    order = draw(st.permutations(range(draw(st.integers(0, 8)))))
    is_edge = iter(draw(st.lists(st.booleans(), min_size=28, max_size=28)))
    children: list[list[int]] = [[] for _ in order]
    for i, node in enumerate(order):
        children[node] = [later for later in order[i + 1 :] if next(is_edge)]
    shares = st.dictionaries(st.integers(0, 3), st.sampled_from([0.1, 0.5, 1]))
    gains = {node: [(k, share / 4) for k, share in draw(shares).items()] for node in order}
    return children, {node: of_node for node, of_node in gains.items() if of_node}


def roots(children: Sequence[Sequence[int]], gains: Gains) -> set[int]:
    return set(gains) or set(range(len(children))) - {end for ends in children for end in ends}


def all_paths(children: Sequence[Sequence[int]], gains: Gains) -> Iterator[tuple[int, ...]]:
    waiting: list[tuple[int, ...]] = [(root,) for root in roots(children, gains)]
    while waiting:
        path = waiting.pop()
        yield path
        if len(path) < DEPTH:
            waiting += [(*path, child) for child in children[path[-1]]]


def reward_of(gains: Gains, path: Sequence[int]) -> float:
    found: dict[int, list[float]] = {}
    for step, node in enumerate(path):
        for keyword, gain in gains.get(node, ()):
            found.setdefault(keyword, []).append(gain * DISCOUNT**step)
    return math.fsum(map(max, found.values()))


@hypothesis_settings(max_examples=60)
@given(graphs())
def test_best_path_equals_exhaustive_search(graph):
    found = tree_search(*graph, NEW_PATH_EVERY * MOST_PATHS, 1)
    best = min(
        ((-reward_of(graph[1], path), len(path), path) for path in all_paths(*graph)),
        default=(0.0, 0, ()),
    )
    assert (found.best_reward, found.path) == (-best[0], best[2])


@given(graphs(), st.integers(1, 60), st.integers(0, 9))
def test_visits_are_on_paths_from_the_roots_whatever_the_order_of_children(graph, n, seed):
    children, gains = graph
    found = tree_search(children, gains, n, seed)
    assert set(found.visits) <= {node for path in all_paths(*graph) for node in path}
    assert all(end in children[start] for start, end in pairwise(found.path))
    assert len(found.path) <= DEPTH
    assert set(found.path[:1]) <= roots(children, gains)
    assert set(found.rewards) == set(found.visits)
    for node, visits in found.visits.items():
        assert 0 < visits <= n
        assert 0 <= found.rewards[node] <= (found.best_reward + 1e-12) * visits
    assert found.best_reward <= 1 + 1e-12
    draws = random.Random(2)
    other = [draws.sample(ends, len(ends)) for ends in children]
    assert tree_search(other, dict(reversed(gains.items())), n, seed) == found


def test_seed_breaks_ties():
    graph = [[] for _ in range(100)], {node: [(0, 1.0)] for node in range(100)}
    assert len({frozenset(tree_search(*graph, 5, seed).visits) for seed in range(5)}) > 1


# 0 the cell, 1 the key in it, 2 the guard; 3 a dream of both the cell and the key
STORY = [[2, 1], [], [], []]
CELL, KEY = 0, 1


@pytest.mark.parametrize(
    ("of_the_key", "path", "worth"),
    [
        ([(KEY, 0.5)], (0, 1), 0.5 + 0.8 * 0.5),  # the dream: 0.5 + 0.2
        ([(CELL, 0.5)], (3,), 0.5 + 0.2),  # counts once, so two steps gain no more than one
    ],
)
def test_two_steps_win_only_if_they_cover_more_keywords(of_the_key, path, worth):
    gains = {0: [(CELL, 0.5)], 1: of_the_key, 3: [(CELL, 0.5), (KEY, 0.2)]}
    found = tree_search(STORY, gains, 1000, 1)
    assert found.path == path
    assert found.best_reward == pytest.approx(worth)


@pytest.mark.parametrize("is_published", [True, False])
def test_a_node_is_credited_with_what_it_adds_or_published_with_its_path(is_published):
    # Every way from 0 is 0, 1, 2; 2 is a root, too
    gains = {0: [(0, 0.5)], 2: [(1, 0.5)]}
    found = tree_search([[1], [2], []], gains, 1000, 1, is_published)
    mean = {node: found.rewards[node] / visits for node, visits in found.visits.items()}
    if is_published:
        assert mean[0] == mean[1] == pytest.approx(1 / DEPTH)  # two halves over the longest path
        assert 0.5 / DEPTH < mean[2] < 1 / DEPTH
    else:
        assert (mean[0], mean[1]) == (0.5, 0.0)
        assert 0.5 * DISCOUNT**2 < mean[2] < 0.5
    assert found.visits[0] + found.visits[2] > 1000  # 2 is visited as a root and behind 0


def test_published_matches_count_each_time():
    gains = {0: [(0, 0.5)], 1: [(0, 0.5)]}
    found = tree_search([[1], []], gains, 1000, 1, is_published=True)
    assert (found.path, found.best_reward) == ((0, 1), 1 / DEPTH)


@pytest.mark.parametrize("is_published", [True, False])
def test_visits_equal_ucb(is_published):
    worth = [0.9, 0.3, 0.2]  # in the order in which they are tried
    gains = {node: [(0, gain)] for node, gain in enumerate(worth)}
    rewards = [gain / DEPTH if is_published else gain for gain in worth]
    weight = module.EXPLORATION * (1 if is_published else max(worth))
    expected = [1, 1, 1]
    for _ in range(1000 - 3):
        log = math.log(sum(expected))
        bounds = [
            mean + weight * math.sqrt(log / n) for mean, n in zip(rewards, expected, strict=True)
        ]
        expected[bounds.index(max(bounds))] += 1
    found = tree_search([[], [], []], gains, 1000, 1, is_published)
    assert [found.visits[node] for node in range(3)] == expected


def test_best_child_is_tried_first():
    graph = [[], [], []], {0: [(0, 0.4)], 1: [(0, 0.3), (1, 0.3)], 2: [(1, 0.5)]}
    for n_simulations, visited in ((1, {1}), (2, {1, 2}), (3, {0, 1, 2})):
        assert set(tree_search(*graph, n_simulations, 1).visits) == visited


def test_number_of_children_follows_visits():
    # As all of 200 roots lead to 200 ends, no root is ever seen to the end
    children = [list(range(200, 400))] * 200 + [[]] * 200
    for n in (50, 101):
        n_roots = sum(node < 200 for node in tree_search(children, {}, n, 1).visits)
        assert n_roots == math.ceil(module.WIDENING * math.sqrt(n))


def none() -> list[list[int]]:
    return [[] for _ in range(MANY)]


@pytest.mark.parametrize("n_simulations", [1, 1000])
@pytest.mark.parametrize(
    ("children", "gains", "path"),
    [
        ([], {}, ()),
        ([[]], {}, (0,)),
        ([[], [], []], {1: [(0, 1.0)]}, (1,)),
        (none(), {MANY - 1: [(0, 1.0)]}, (MANY - 1,)),
        ([[i + 1] for i in range(MANY - 1)] + [[]], {}, (0,)),
        ([[i + 1] for i in range(MANY - 1)] + [[]], {9: [(0, 1.0)]}, (9,)),
        ([list(range(1, MANY)), *none()[1:]], {}, (0,)),
    ],
    ids=["none", "one", "isolated", "many", "chain", "chain-match", "star"],
)
def test_search_terminates(children, gains, path, n_simulations):
    found = tree_search(children, gains, n_simulations, 1)
    assert found.path == path
    assert found.best_reward == (1 if gains else 0)
    assert sum(found.visits.values()) >= (n_simulations if path else 0)
