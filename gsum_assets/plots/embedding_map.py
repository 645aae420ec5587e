"""Plot of chunk vectors in the plane of their first two principal components."""

from collections import Counter

import numpy as np
import pyarrow as pa

from gsum_assets.plots.figure import (
    COLOURS,
    MARKERS,
    OTHERS,
    Axes,
    Figure,
    as_png,
    axes_at,
    empty_figure,
    label,
    legend_beside,
    new_figure,
)

_MAX_POINTS = 1000


@as_png
def embedding_map(embeddings: pa.Table, title: str) -> Figure:
    """Plot the chunks in two dimensions, the largest documents in colour.

    A large collection is shown by a sample of 1,000: the chunks of the smallest ids, which are
    hashes, so that the same chunks always give the same picture.
    """
    if embeddings.num_rows == 0:
        return empty_figure(f"{title}: no chunks")
    ids = np.array(embeddings["chunk_id"].to_pylist())
    sample = embeddings.take(np.argsort(ids, kind="stable")[:_MAX_POINTS])
    vectors = sample["embedding"].combine_chunks().flatten().to_numpy().reshape(len(sample), -1)
    points, shares = principal_plane(vectors)
    shown = f"{len(points):,} of {len(ids):,}" if len(points) < len(ids) else f"{len(ids):,}"
    figure = new_figure(8.4, 4.6)
    axes = axes_at(
        figure,
        (0.35, 0.35, 5.7, 3.9),
        f"{title}: {shown} chunks by meaning",
        f"first principal axis, {shares[0]:.0%} of the spread",
        f"second, {shares[1]:.0%}",
    )
    axes.set_xticks([])
    axes.set_yticks([])
    _scatter(axes, points, sample["document_id"].to_pylist())
    return figure


def principal_plane(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first two principal components of `vectors (n, dim)`.

    Returns
    -------
    points : `(n, 2)`; the farthest one along each axis lies on its positive side.
    shares : `(2,)`, the share of the total variance along each axis, 0 where there is none.
    """
    from scipy.linalg import eigh

    centred = vectors.astype(np.float64) - vectors.mean(axis=0, dtype=np.float64)
    # the smaller Gram matrix gives the same components: (n, n) for few vectors, else (dim, dim)
    is_short = centred.shape[0] < centred.shape[1]
    gram = centred @ centred.T if is_short else centred.T @ centred
    values, axes = eigh(gram, subset_by_index=[max(0, len(gram) - 2), len(gram) - 1])
    values, axes = np.maximum(values[::-1], 0), axes[:, ::-1]  # largest first
    found = axes * np.sqrt(values) if is_short else centred @ axes
    points = np.zeros((len(vectors), 2))
    points[:, : found.shape[1]] = found
    farthest = np.take_along_axis(points, np.abs(points).argmax(axis=0)[None], axis=0)
    shares = np.zeros(2)
    shares[: len(values)] = values / max(float(np.trace(gram)), np.finfo(float).tiny)
    return points * np.where(farthest < 0, -1, 1), shares


def _scatter(axes: Axes, points: np.ndarray, documents: list[str]) -> None:
    """Draw points, the largest documents each in a colour and marker, the others grey."""
    counts = Counter(documents)
    largest = sorted(counts, key=lambda name: (-counts[name], name))[: len(COLOURS)]
    colour_of = {name: i for i, name in enumerate(largest)}
    which = np.array([colour_of.get(name, -1) for name in documents])
    size = 26 if len(points) < 300 else 12
    if (which < 0).any():
        rest = points[which < 0]
        others = sorted(counts.keys() - colour_of.keys())
        name = label(others[0]) if len(others) == 1 else f"{len(others):,} others"
        axes.scatter(*rest.T, s=size, color=OTHERS, label=f" {name}", linewidths=0, alpha=0.7)
    for i, name in enumerate(largest):
        mine = points[which == i]
        axes.scatter(
            *mine.T,
            s=size,
            color=COLOURS[i],
            marker=MARKERS[i],
            label=f" {label(name)}",  # matplotlib leaves out what begins with "_"
            edgecolors="white",
            linewidths=0.4,
        )
    legend_beside(axes, "document")
