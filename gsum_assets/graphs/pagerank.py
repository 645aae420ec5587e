"""Personalized PageRank (Jeh and Widom, 2003) on a graph that is loaded once and asked often."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_MOST_STEPS = 1000


@dataclass(frozen=True)
class WalkGraph:
    """Directed weighted edges between nodes 0 … n - 1, as a random walk takes them.

    Attributes
    ----------
    sources, targets, weights : one an edge; parallel edges add up. Weights are positive.
    n_nodes : nodes without an edge count, too.
    """

    n_nodes: int
    sources: np.ndarray
    targets: np.ndarray
    weights: np.ndarray

    @cached_property
    def transitions(self) -> "csr_matrix":
        """Probability of a step to node i from node j, `(n_nodes, n_nodes)`."""
        from scipy.sparse import csr_matrix

        leaving = np.bincount(self.sources, self.weights, self.n_nodes)
        steps = self.weights / leaving[self.sources]
        shape = (self.n_nodes, self.n_nodes)
        return csr_matrix((steps, (self.targets, self.sources)), shape=shape)

    @cached_property
    def ends(self) -> np.ndarray:
        """Nodes that no edge leaves, from which a walk jumps back."""
        return np.flatnonzero(np.bincount(self.sources, minlength=self.n_nodes) == 0)


def personalized_pagerank(
    graph: WalkGraph,
    seeds: Sequence[int] | np.ndarray,
    weights: np.ndarray,
    restart: float,
    tolerance: float = 1e-7,
) -> np.ndarray:
    """Where a walk is that jumps back to the seeds with probability `restart`, `(n_nodes,)`.

    The probabilities sum to 1 and solve x = r t + (1 - r) P x, t the seeds' weights; a walk at a
    node without edges jumps back. By power iteration, each step a sparse product.

    Parameters
    ----------
    seeds : nodes to jump to.
    weights : of the seeds, `(n_seeds,)`, not negative, at least one positive.
    restart : between 0 and 1; the paper's 1 - alpha.
    tolerance : largest error of a probability: steps end when the change of the last one, times
        (1 - r) / r, lies below it.

    Raises
    ------
    ValueError
        If restart is not between 0 and 1, or no seed has weight.
    """
    if not 0 < restart <= 1:
        raise ValueError(f"restart = {restart}: must lie between 0 and 1; the paper jumps at 0.8")
    total = float(np.sum(weights))
    if not total > 0:
        raise ValueError(f"none of {len(seeds)} seeds has weight; give at least one a positive one")
    jumps = np.zeros(graph.n_nodes)
    np.add.at(jumps, np.asarray(seeds, dtype=np.int64), np.asarray(weights) / total)
    found = jumps.copy()
    enough = tolerance * restart / (1 - restart) if restart < 1 else np.inf
    for _ in range(_MOST_STEPS):
        back = restart + (1 - restart) * found[graph.ends].sum()
        moved = (1 - restart) * (graph.transitions @ found) + back * jumps
        change = np.abs(moved - found).max()
        found = moved
        if change <= enough:
            break
    return found
