"""Personalized PageRank (Jeh and Widom, 2003) on a graph that is loaded once for many queries.

A symmetric graph is solved by conjugate gradients, with 10 to 20 matrix products where power
iteration needs 40 to 130 at a restart of 0.1; any other graph by power iteration. Both start from
the seeds and process only nodes that walks have reached, while these are few. All steps run on one
thread, so the result does not depend on the number of threads.

On a symmetric graph of `LARGE` nodes or more a walk from few seeds is approximated by local pushes
(Andersen, Chung and Lang, 2006), whose cost does not depend on the size of the graph: at a million
nodes and ten million edges 0.03 s instead of 0.2 s, with 99 or more of the 100 best nodes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix, csr_matrix

DECIMALS = 6
"""Decimals to which probabilities can be compared; further digits depend on the solver."""

LARGE = 500_000
"""Nodes from which a walk from few seeds is approximated; smaller graphs are solved exactly."""

PUSH_TOLERANCE = 1e-5
"""Largest error of an approximated probability of a node whose edges weigh as much as the average.

Errors are proportional to the weight of a node's edges, as the probabilities of a walk without
seeds are.
"""

_NODES_PER_SEED = 1000  # of a large graph, at least, for the seeds to be few
_MOST_STEPS = 1000
_FEW = 1 / 8
"""Fraction of nodes up to which selecting their columns is faster than a full product."""


@dataclass(frozen=True)
class WalkGraph:
    """Directed weighted edges of a random walk between nodes 0 … n - 1.

    Derived matrices are cached, with the nodes in the order of `positions`.

    Attributes
    ----------
    sources, targets, weights : one per edge; parallel edges add up. Weights are positive.
    n_nodes : number of nodes, including those without edges.
    """

    n_nodes: int
    sources: np.ndarray
    targets: np.ndarray
    weights: np.ndarray

    @cached_property
    def positions(self) -> np.ndarray:
        """Position of each node when sorted by number of outgoing edges, `(n_nodes,)`.

        Neighbouring rows of equal length improve branch prediction, which halves the time of a
        product.
        """
        order = np.argsort(np.bincount(self.sources, minlength=self.n_nodes), kind="stable")
        positions = np.empty_like(order)
        positions[order] = np.arange(self.n_nodes)
        return positions

    @cached_property
    def n_ends(self) -> int:
        """Number of nodes without outgoing edges, which come first; from there a walk restarts."""
        return self.n_nodes - len(np.unique(self.sources))

    @cached_property
    def leaving(self) -> np.ndarray:
        """Weight of the outgoing edges of each node, for an end the maximum, `(n_nodes,)`."""
        weights = np.bincount(self.positions[self.sources], self.weights, self.n_nodes)
        weights[: self.n_ends] = weights.max() or 1.0
        return weights

    @cached_property
    def is_symmetric(self) -> bool:
        """Whether every edge has a reverse edge of equal weight, up to rounding."""
        difference = abs(self.adjacency - self.adjacency.T)
        return difference.nnz == 0 or difference.max() <= 1e-12 * self.adjacency.max()

    @cached_property
    def transitions(self) -> "csc_matrix":
        """P, the probability of a step from node j to node i: A D^-1, D = diag(leaving).

        For a symmetric graph D^-½ A D^-½ = D^-½ P D^½, which is also symmetric.
        """
        steps = self.adjacency.copy()
        edges = np.diff(steps.indptr)
        if self.is_symmetric:
            root = np.sqrt(self.leaving)
            steps.data /= root[steps.indices] * np.repeat(root, edges)
        else:
            steps.data /= np.repeat(self.leaving, edges)
        return steps

    @cached_property
    def single_transitions(self) -> "csc_matrix":
        """`transitions` in single precision, which halves the memory read per step."""
        from scipy.sparse import csc_matrix

        return csc_matrix(self.transitions, dtype=np.float32)

    @cached_property
    def adjacency(self) -> "csc_matrix":
        """A: the weight of the edges from node j to node i."""
        from scipy.sparse import csc_matrix

        edges = self.positions[self.targets], self.positions[self.sources]
        return csc_matrix((self.weights, edges), shape=(self.n_nodes, self.n_nodes))


def personalized_pagerank(
    graph: WalkGraph,
    seeds: Sequence[int] | np.ndarray,
    weights: np.ndarray,
    restart: float,
    tolerance: float = 1e-6,
) -> np.ndarray:
    """Return the stationary distribution of a walk with restarts, `(n_nodes,)`.

    The walk restarts at the seeds with probability `restart`, and at nodes without outgoing edges.
    The probabilities x solve x = r t + (1 - r) P x, with t the seeds' weights.

    Parameters
    ----------
    seeds : nodes at which walks restart.
    weights : weights of the seeds, `(n_seeds,)`, not negative, at least one positive.
    restart : probability of a jump to the seeds, above 0, at most 1; the paper's 1 - alpha.
    tolerance : largest error of a probability; approximated ones have that of `PUSH_TOLERANCE`.

    Raises
    ------
    ValueError
        If restart is not between 0 and 1, or no seed has weight.
    """
    if not 0 < restart <= 1:
        raise ValueError(f"restart = {restart}: must be above 0 and at most 1; the paper uses 0.8")
    total = float(np.sum(weights))
    if not total > 0:
        raise ValueError(f"none of {len(seeds)} seeds has weight; give at least one seed a weight")
    jumps = np.zeros(graph.n_nodes)
    np.add.at(jumps, graph.positions[seeds], np.asarray(weights) / total)
    is_local = graph.n_nodes >= max(LARGE, _NODES_PER_SEED * len(seeds))
    if is_local and graph.is_symmetric:
        return _local_push(graph, jumps, restart, PUSH_TOLERANCE)[graph.positions]
    transitions = graph.transitions
    # relative rounding error of 2^-24 in each step, at most 2^-24 / r in total
    if 2**-24 / restart <= tolerance:
        jumps, transitions = jumps.astype(np.float32), graph.single_transitions
    solve = _conjugate_gradients if graph.is_symmetric else _power_iteration
    probabilities = solve(graph, transitions, jumps, restart, tolerance)
    return probabilities[graph.positions].astype(np.float64)


def _power_iteration(
    graph: WalkGraph, transitions: "csc_matrix", jumps: np.ndarray, restart: float, tolerance: float
) -> np.ndarray:
    """Iterate x = r t + (1 - r) P x until the error is at most `tolerance`.

    A step reduces the sum of absolute errors by a factor of at most 1 - r, so the sum is at most
    (1 - r) / r times that of the last changes; as errors add up to 0, each is at most half of the
    sum.
    """
    damping, probabilities = 1 - restart, jumps
    for _ in range(_MOST_STEPS):
        back = restart + damping * float(probabilities[: graph.n_ends].sum())
        moved = damping * _product(transitions, transitions, probabilities) + back * jumps
        change = float(np.abs(moved - probabilities).sum())
        probabilities = moved
        if damping * change <= 2 * restart * tolerance:
            break
    return probabilities


def _conjugate_gradients(
    graph: WalkGraph, transitions: "csc_matrix", jumps: np.ndarray, restart: float, tolerance: float
) -> np.ndarray:
    """Solve (I - (1 - r) S) z = D^-½ t, S = D^-½ P D^½; then x = c D^½ z.

    c is r, or more if seeds are ends, from which walks only restart. P D 1 = D 1, so residuals
    of at most e in D^-½ leave errors of at most e D 1 / r in D^½ z.
    """
    damping = 1 - restart
    scale = restart / (1 - damping * float(jumps[: graph.n_ends].sum()))
    inverse = np.sqrt(graph.leaving.max() / graph.leaving).astype(jumps.dtype)
    residual = inverse * jumps
    direction, solution = residual.copy(), np.zeros_like(residual)
    norm = _inner(residual, residual)
    for _ in range(_MOST_STEPS):
        # the transpose of a symmetric matrix is equal, and a product by rows is faster
        image = _product(transitions, transitions.T, direction)
        image *= -damping
        image += direction
        length = norm / _inner(direction, image)
        solution += length * direction
        image *= length
        residual -= image
        if scale * float(np.abs(inverse * residual).max()) <= restart * tolerance:
            break
        before, norm = norm, _inner(residual, residual)
        direction *= norm / before
        direction += residual
    return scale * solution / inverse


def _local_push(
    graph: WalkGraph, jumps: np.ndarray, restart: float, tolerance: float
) -> np.ndarray:
    """Approximate x = c (I - (1 - r) P)^-1 t by pushes (Andersen, Chung and Lang, 2006, section 3).

    The residual is the part of t whose walk is not distributed yet. A push keeps r of a node's
    residual as probability and moves the rest along its edges. Here all nodes of a round are pushed
    at once, as long as a residual is greater than e d, with d the weight of a node's edges. As
    P d = d, an error is at least 0 and at most e d (lemma 2), with e = `tolerance` / (mean of d).
    Each push takes at least r e d from the sum of residuals, 1: the pushed nodes' d add up to at
    most 1 / (r e), whatever the number of nodes.
    """
    columns, leaving = graph.adjacency, graph.leaving
    scale = 1 / (1 - (1 - restart) * float(jumps[: graph.n_ends].sum()))
    walked = leaving[graph.n_ends :]
    bounds = leaving * (tolerance / scale / (walked.mean() if len(walked) else 1.0))
    probabilities, residual = np.zeros(graph.n_nodes), jumps.copy()
    pushed = np.flatnonzero(residual)
    while len(pushed):
        mass = residual[pushed]
        probabilities[pushed] += restart * mass
        residual[pushed] = 0
        starts = columns.indptr[pushed].astype(np.int64)
        lengths = columns.indptr[pushed + 1] - starts
        after = np.cumsum(lengths)
        edges = np.repeat(starts - after + lengths, lengths) + np.arange(after[-1])
        targets = columns.indices[edges]
        moved = np.repeat((1 - restart) * mass / leaving[pushed], lengths)
        np.add.at(residual, targets, moved * columns.data[edges])
        pushed = np.unique(targets[residual[targets] > bounds[targets]])
    return scale * probabilities


def _product(
    columns: "csc_matrix", matrix: "csc_matrix | csr_matrix", walkers: np.ndarray
) -> np.ndarray:
    """Return `matrix @ walkers`, from the columns of nonzero entries if these are few."""
    occupied = walkers != 0
    if np.count_nonzero(occupied) > _FEW * len(walkers):
        return matrix @ walkers
    nodes = np.flatnonzero(occupied)
    return columns[:, nodes] @ walkers[nodes]


def _inner(first: np.ndarray, second: np.ndarray) -> float:
    """Return the inner product; with BLAS the last bits depend on the number of threads."""
    return float(np.einsum("i,i", first, second))
