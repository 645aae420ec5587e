"""Personalized PageRank (Jeh and Widom, 2003) on a graph that is loaded once for many queries.

A symmetric graph is solved by conjugate gradients (scipy), with 20 to 40 matrix products where
power iteration needs 100 to 200 at a restart of 0.1; any other graph by power iteration.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

DECIMALS = 6
"""Decimals to which probabilities are compared where a few hundred nodes have all of it."""

TOLERANCE = 1e-10
"""Largest error of a probability."""

_MOST_STEPS = 1000


@dataclass(frozen=True)
class WalkGraph:
    """Edges of positive weight between nodes 0 … n - 1, `(n_edges,)`; parallel ones add up."""

    n_nodes: int
    sources: np.ndarray
    targets: np.ndarray
    weights: np.ndarray

    @cached_property
    def adjacency(self) -> "csr_matrix":
        """A: the weight of the edges from node j to node i."""
        from scipy.sparse import csr_matrix

        edges = self.weights, (self.targets, self.sources)
        return csr_matrix(edges, shape=(self.n_nodes, self.n_nodes), dtype=np.float64)

    @cached_property
    def is_symmetric(self) -> bool:
        """Whether every edge has a reverse edge of equal weight, up to rounding."""
        difference = abs(self.adjacency - self.adjacency.T)
        return difference.nnz == 0 or difference.max() <= 1e-12 * self.adjacency.max()

    @cached_property
    def leaving(self) -> np.ndarray:
        """Weight of the outgoing edges of each node, 0 for an end, `(n_nodes,)`."""
        return np.bincount(self.sources, self.weights, self.n_nodes)

    @cached_property
    def transitions(self) -> "csr_matrix":
        """The probability P of a step from node j to node i; D^-½ P D^½ if it is symmetric.

        P = A D^-1 with D = diag(leaving), so that D^-½ P D^½ = D^-½ A D^-½.
        """
        steps, leaving = self.adjacency.copy(), self.leaving
        if self.is_symmetric:
            root = np.sqrt(leaving)
            steps.data /= root[steps.indices] * np.repeat(root, np.diff(steps.indptr))
        else:
            steps.data /= leaving[steps.indices]
        return steps


def personalized_pagerank(
    graph: WalkGraph, seeds: Sequence[int] | np.ndarray, weights: np.ndarray, restart: float
) -> np.ndarray:
    """Return the stationary distribution of a walk with restarts, `(n_nodes,)`.

    The walk restarts at the seeds with probability `restart` (the paper's 1 - alpha), and at nodes
    without outgoing edges. The probabilities x solve x = r t + (1 - r) P x, with t the weights of
    the seeds, `(n_seeds,)`, not negative.

    Raises `ValueError` if restart is not between 0 and 1, or no seed has weight.
    """
    if not 0 < restart <= 1:
        raise ValueError(f"restart = {restart}: must be above 0 and at most 1; the paper uses 0.8")
    total = float(np.sum(weights))
    if not total > 0:
        raise ValueError(f"none of {len(seeds)} seeds has weight; give at least one seed a weight")
    jumps = np.zeros(graph.n_nodes)
    np.add.at(jumps, seeds, np.asarray(weights) / total)
    solve = _conjugate_gradients if graph.is_symmetric else _power_iteration
    return solve(graph, jumps, restart)


def _power_iteration(graph: WalkGraph, jumps: np.ndarray, restart: float) -> np.ndarray:
    """Iterate x = r t + (1 - r) P x; no error exceeds (1 - r) / 2r times the last changes."""
    damping, probabilities, is_end = 1 - restart, jumps, graph.leaving == 0
    for _ in range(_MOST_STEPS):
        back = restart + damping * probabilities[is_end].sum()
        moved = damping * (graph.transitions @ probabilities) + back * jumps
        change = np.abs(moved - probabilities).sum()
        probabilities = moved
        if damping * change <= 2 * restart * TOLERANCE:
            break
    return probabilities


def _conjugate_gradients(graph: WalkGraph, jumps: np.ndarray, restart: float) -> np.ndarray:
    """Solve (I - (1 - r) S) z = D^-½ t, S = D^-½ P D^½, of eigenvalues >= r; then x = c D^½ z."""
    from scipy.sparse.linalg import LinearOperator, cg

    damping, leaving = 1 - restart, graph.leaving
    is_end = leaving == 0
    # c, more than r if seeds are ends, from which walks only restart
    scale = restart / (1 - damping * jumps[is_end].sum())
    root = np.sqrt(np.where(is_end, 1, leaving / (leaving.max() or 1)))
    operator: Any = LinearOperator  # whose `__new__` chooses a subclass
    shape, steps = graph.transitions.shape, graph.transitions
    matrix = operator(shape, matvec=lambda z: z - damping * (steps @ z), dtype=np.float64)
    error = TOLERANCE * restart / scale
    solution, _ = cg(matrix, jumps / root, rtol=0, atol=error, maxiter=_MOST_STEPS)
    return scale * solution * root
