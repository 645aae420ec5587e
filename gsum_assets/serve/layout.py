"""Positions of the nodes of a graph by forces, in a bounded number of steps.

Nodes repel one another and edges pull their ends together (Fruchterman and Reingold, 1991; with
repulsion by degree as in ForceAtlas2: Jacomy et al., 2014). The repulsion is a convolution of their
density on a grid by the fast Fourier transform as in FIt-SNE (Linderman et al., 2019).
"""

from functools import cache

import numpy as np
from scipy import sparse

_CELLS = 128  # of the grid, along one side
_PADDED = 2 * _CELLS  # so that nodes at one side do not repel those at the other
_MOVES, _STEPS = 600_000, (30, 120)  # of all nodes together; least and most steps
_REPULSION, _GRAVITY = 0.5, 0.2  # against 1, the pull of all edges of a node together
_GOLDEN_RATIO = (np.sqrt(5) - 1) / 2


def positions(ends: np.ndarray, weights: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return positions of nodes, float64 `(n, 2)`, about the origin, about one node an area of 1.

    Nodes without an edge are in rings around the others. Equal arguments give equal positions.

    Parameters
    ----------
    ends : source and target of each edge, int64 `(n_edges, 2)`.
    weights : weight of each edge, `(n_edges,)`.
    groups : group of each node, int64 `(n,)`; nodes of a group start near to one another.
    """
    n = len(groups)
    degree = np.bincount(ends.ravel(), minlength=n)
    linked, alone = np.flatnonzero(degree), np.flatnonzero(degree == 0)
    placed = np.zeros((n, 2))
    if len(linked):
        index = np.zeros(n, np.int64)
        index[linked] = np.arange(len(linked))
        placed[linked] = _by_forces(index[ends], weights, _start(groups[linked]))
    radius = np.linalg.norm(placed[linked], axis=1).max(initial=0)
    inside = int(np.pi * (radius + 2) ** 2) if len(linked) else 0
    placed[alone] = _sunflower(np.arange(inside, inside + len(alone)))
    return placed


def _sunflower(numbers: np.ndarray) -> np.ndarray:
    """Return the points with these numbers of a spiral with one point in an area of 1."""
    radius, angle = np.sqrt((numbers + 0.5) / np.pi), numbers * 2 * np.pi * _GOLDEN_RATIO
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1)


def _start(groups: np.ndarray) -> np.ndarray:
    """Return positions within a disc, in which each group has a sector."""
    n, order = len(groups), np.argsort(groups, kind="stable")
    start, numbers = np.empty((n, 2)), np.arange(n)
    angle = 2 * np.pi * (numbers + 0.5) / n
    radius = np.sqrt(n / np.pi * ((numbers + 1) * _GOLDEN_RATIO % 1))
    start[order] = radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], 1)
    return start


def _by_forces(ends: np.ndarray, weights: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return positions after a fixed number of steps that become shorter."""
    n = len(start)
    relative = np.minimum(weights / max(float(weights.mean()), 1e-9), 3.0)
    pull = sparse.coo_matrix((relative, ends.T), (n, n)).tocsr()
    pull = pull + pull.T
    mass = np.sqrt(np.bincount(ends.ravel(), minlength=n))
    mass *= _REPULSION / mass.mean()
    pull = sparse.diags(1 / np.maximum(np.asarray(pull.sum(axis=1)).ravel(), 1e-9)) @ pull
    steps = int(np.clip(_MOVES / n, *_STEPS))
    now = start - start.mean(axis=0)
    for step in range(steps):
        force = _repulsion(now, mass) + (pull @ now - now) - _GRAVITY * now
        length = np.linalg.norm(force, axis=1, keepdims=True)
        longest = 0.1 * np.sqrt(n) * (1 - step / steps) + 0.05
        now = now + force * np.minimum(1, longest / np.maximum(length, 1e-9)) * 0.7
        now -= now.mean(axis=0)
    return now / max(1e-9, np.sqrt(np.pi * np.quantile((now**2).sum(axis=1), 0.9) / n))


@cache
def _spectra() -> list[np.ndarray]:
    """Return the Fourier transforms of the repulsion along both axes of a grid."""
    distance = np.fft.fftfreq(_PADDED, 1 / _PADDED)  # in cells
    square = distance[:, None] ** 2 + distance[None] ** 2 + 0.25
    return [np.fft.rfft2(kernel / square) for kernel in (distance[:, None], distance[None])]


def _repulsion(now: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """Return the repulsion of each node, `(n, 2)`, by the mass in the cells of a grid."""
    cell = (float(np.ptp(now, axis=0).max()) + 1e-9) / (_CELLS - 2)
    scaled = (now - now.min(axis=0)) / cell
    first = scaled.astype(np.int64)
    part = scaled - first
    corners = [first @ (_PADDED, 1) + x * _PADDED + y for x in (0, 1) for y in (0, 1)]
    left, below = 1 - part.T
    shares = [left * below, left * (1 - below), (1 - left) * below, (1 - left) * (1 - below)]
    masses = np.bincount(
        np.concatenate(corners), np.concatenate(shares) * np.tile(mass, 4), _PADDED**2
    )
    spectrum = np.fft.rfft2(masses.reshape(_PADDED, _PADDED))
    fields = [np.fft.irfft2(spectrum * kernel).ravel() / cell for kernel in _spectra()]
    forces = [
        sum(field[corner] * share for corner, share in zip(corners, shares, strict=True))
        for field in fields
    ]
    return np.stack(forces, 1)
