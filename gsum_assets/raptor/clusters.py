"""Soft clusters of vectors: reduced, then a Gaussian mixture, twice (section 3).

The first pass finds global clusters, the second the local ones within each. The number of clusters
is that with the smallest Bayesian information criterion (BIC).
"""

from collections.abc import Iterator

import numpy as np

from gsum_assets.raptor.settings import TreeSettings

_SEED = 0
_NEIGHBORS = 10  # of UMAP within a global cluster (code)
_MEMBERSHIP = 0.1  # least probability at which a text belongs to a cluster (code)
_MOST_CLUSTERS = 50
_RIDGE = 1e-4  # added to variances, so that equal vectors have a density


def reduced(vectors: np.ndarray, n_neighbors: int, settings: TreeSettings) -> np.ndarray:
    """Return vectors of `settings.dim` dimensions, `(n, dim)`, by UMAP's number of neighbours."""
    if settings.reduction == "pca":
        from sklearn.decomposition import PCA

        return PCA(settings.dim, svd_solver="full").fit_transform(vectors)
    import umap

    found = umap.UMAP(
        n_neighbors=n_neighbors,
        n_components=settings.dim,
        metric="cosine",
        random_state=_SEED,
        n_jobs=1,  # with a seed UMAP has one in any case, and warns
    ).fit_transform(vectors)
    return np.asarray(found)


def soft_clusters(vectors: np.ndarray, settings: TreeSettings) -> list[list[int]]:
    """Return clusters of vectors, of which a vector may belong to several.

    Parameter `vectors`: unit vectors, `(n, dim)`, n > `settings.dim` + 1.

    Returns
    -------
    The ascending indices of each cluster, without repeated clusters.
    """
    found: dict[tuple[int, ...], None] = {}
    wide = max(2, int(np.sqrt(len(vectors) - 1)))
    for outer in _mixture(reduced(vectors, wide, settings)):
        if len(outer) <= settings.dim + 1:
            found[tuple(outer.tolist())] = None
            continue
        narrow = min(_NEIGHBORS, len(outer) - 1)
        for inner in _mixture(reduced(vectors[outer], narrow, settings)):
            found[tuple(outer[inner].tolist())] = None
    return [list(members) for members in found]


def _mixture(points: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the indices of the points of each component of a mixture that are probable enough."""
    import warnings

    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct points than components
        candidates = [
            GaussianMixture(n, reg_covar=_RIDGE, random_state=_SEED).fit(points)
            for n in range(1, min(_MOST_CLUSTERS, len(points)))
        ]
    best = min(candidates, key=lambda mixture: mixture.bic(points))
    for probabilities in best.predict_proba(points).T:
        members = np.flatnonzero(probabilities > _MEMBERSHIP)
        if len(members):
            yield members
