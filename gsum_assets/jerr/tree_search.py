"""Monte Carlo tree search for paths that match a question (3.4, appendix B).

The tree is over paths: a node of the graph that is reached by two paths is in it twice, since its
reward depends on the path. The roots are the children of one additional node.
"""

import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise

Gains = Mapping[int, Sequence[tuple[int, float]]]
"""The items that a node matches, keywords or line chunks, with the gain of each, by node."""

NEW_PATH_EVERY = 4
"""Every n-th simulation takes a new path if there is one (ours)."""

# Other values make little difference (docs/jerr.md, results).
DEPTH = 4  # nodes of the longest path (ours)
EXPLORATION = 1.4  # weight in UCB, times the best reward (B; UCB1: the root of 2)
DISCOUNT = 0.8  # of a gain per step of the path (ours)
WIDENING = 2.0  # most children of a node, times the root of its visits (ours)


@dataclass(frozen=True)
class Searched:
    """Simulations through each node and their credits, and the best path with its reward."""

    visits: Mapping[int, int]
    rewards: Mapping[int, float]
    path: tuple[int, ...]
    best_reward: float


def tree_search(
    children: Sequence[Sequence[int]], gains: Gains, n: int, seed: int, is_published: bool = False
) -> Searched:
    """Search for the path with the largest reward, from the nodes that have gains.

    If none has, the search starts from the nodes without incoming edges. A simulation selects a
    path in the tree, expands it by one node, continues at random, and adds the reward of the whole
    path to each of its nodes in the tree. A node of the graph is credited with what it adds to its
    path. The best path is found if there are at most `n // NEW_PATH_EVERY` paths.

    Parameters
    ----------
    children : targets of the edges from each node of an acyclic graph, in any order.
    gains : pairs (item, gain) of each node that matches; the best gains of all items sum to at most
        1, and each item counts once on a path.
    n : number of simulations.
    seed : seed of random walks, and of the order of children with equal gains.
    is_published : search as in the paper: every match on a path counts, all neighbours are tried
        before any is followed, UCB as it is, and a node is credited with its whole path.
    """
    roots = sorted(gains) or sorted(set(range(len(children))).difference(chain(*children)))
    search = _Search([*children, roots], gains, is_published, random.Random(seed))
    visits, rewards = Counter[int](), defaultdict[int, float](float)
    best: tuple[float, int, tuple[int, ...]] = (0.0, len(children) + 1, ())
    for simulation in range(1, n + 1 if roots else 1):
        only_new = not is_published and simulation % NEW_PATH_EVERY == 0
        selected = search.select(EXPLORATION * (1.0 if is_published else -best[0]), only_new)
        path = search.walk_on([tree_node.node for tree_node in selected[1:]])
        reward = search.reward(path)
        for tree_node in selected:
            tree_node.visits += 1
            tree_node.reward += reward
        before = 0.0
        for length, tree_node in enumerate(selected[1:], start=1):
            visits[tree_node.node] += 1
            up_to = reward if is_published else search.reward(path[:length])
            rewards[tree_node.node] += up_to - before
            before = 0.0 if is_published else up_to
        if reward >= -best[0]:
            end = len(path)
            while end > 1 and search.reward(path[: end - 1]) == reward:
                end -= 1  # the last nodes add nothing
            best = min(best, (-reward, end, tuple(path[:end])))
    return Searched(dict(visits), dict(rewards), best[2], -best[0])


@dataclass(slots=True, eq=False)
class _TreeNode:
    """A node reached by one path, its successors, best first, and tree nodes of the first ones."""

    node: int
    ahead: Sequence[int]
    tried: list["_TreeNode"] = field(default_factory=list)
    n_seen: int = 0
    visits: int = 0
    reward: float = 0.0

    @property
    def is_seen(self) -> bool:
        """Whether every continuation of the path is in the tree."""
        return self.n_seen == len(self.ahead)


class _Search:
    """The steps of a simulation; the last of `children` are the roots."""

    def __init__(
        self,
        children: Sequence[Sequence[int]],
        gains: Gains,
        is_published: bool,
        draws: random.Random,
    ) -> None:
        self._children, self._gains = children, gains
        self._is_published, self._draws = is_published, draws
        self._gain_of = {node: sum(gain for _, gain in of_node) for node, of_node in gains.items()}
        self._ordered: dict[int, list[int]] = {}
        self._first = _TreeNode(len(children) - 1, self._best_first(len(children) - 1))

    def select(self, exploration: float, only_new: bool) -> list[_TreeNode]:
        """Return a path in the tree by UCB, extended by a new node if its end has successors.

        The number of children is limited by visits (progressive widening). With `only_new` the path
        avoids nodes that are seen, unless all are.
        """
        path = [self._first]
        only_new = only_new and not self._first.is_seen
        while (here := path[-1]).ahead:
            most = len(here.ahead)
            if not self._is_published:
                most = min(most, math.ceil(WIDENING * math.sqrt(here.visits + 1)))
            allowed = [c for c in here.tried if not c.is_seen] if only_new else here.tried
            if len(here.tried) < most or not allowed:
                self._expand(path)
                break
            # UCB is mean reward + exploration * sqrt(ln N / n)
            weight = exploration * math.sqrt(math.log(here.visits))
            bounds = [c.reward / c.visits + weight / math.sqrt(c.visits) for c in allowed]
            path.append(allowed[bounds.index(max(bounds))])
        return path

    def _expand(self, path: list[_TreeNode]) -> None:
        """Append the next child of the path's end to the tree and the path."""
        end = path[-1]
        node = end.ahead[len(end.tried)]
        end.tried.append(_TreeNode(node, self._best_first(node) if len(path) < DEPTH else ()))
        path.append(end.tried[-1])
        for child, parent in pairwise(reversed(path)):
            if not child.is_seen:
                break
            parent.n_seen += 1

    def walk_on(self, path: list[int]) -> list[int]:
        """Return the path continued by a random walk up to the maximum depth."""
        while len(path) < DEPTH and (ahead := self._best_first(path[-1])):
            path = [*path, self._draws.choice(ahead)]
        return path

    def reward(self, path: Iterable[int]) -> float:
        """Return the sum over items of the largest gain on the path, discounted by step.

        Published: the sum of all gains on the path, over the longest path.
        """
        if self._is_published:
            gains = [gain for node in path for _, gain in self._gains.get(node, ())]
            return math.fsum(gains) / DEPTH
        best: dict[int, float] = {}
        for step, node in enumerate(path):
            for item, gain in self._gains.get(node, ()):
                best[item] = max(gain * DISCOUNT**step, best.get(item, 0.0))
        return math.fsum(best.values())  # exact in any order

    def _best_first(self, node: int) -> list[int]:
        """Return the children of a node by their own gains, ties in a random order drawn once."""
        if node not in self._ordered:
            ahead = sorted(set(self._children[node]))
            self._draws.shuffle(ahead)
            self._ordered[node] = sorted(ahead, key=lambda child: -self._gain_of.get(child, 0.0))
        return self._ordered[node]
