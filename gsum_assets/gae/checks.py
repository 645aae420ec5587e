"""Checks of the embeddings of passages and of their clusters."""

import numpy as np
import pyarrow as pa

from gsum_assets.pipeline.result import Check, Finding, count, found
from gsum_assets.retrieval.vectors import stacked

_MOST_ALIKE = 0.99  # mean cosine of two embeddings beyond which they do not discriminate
_FEW = 2  # passages, too few to judge
_LARGEST = 0.5  # share of the passages in one cluster beyond which it says little
_ALONE = 0.9  # number of clusters, as a share of the passages, beyond which they say little


def not_over_smoothed(embeddings: pa.Table) -> Finding:
    """Check that embeddings differ: the mean cosine of two is at most 0.99."""
    n = embeddings.num_rows
    mean = mean_cosine(stacked(embeddings["embedding"]).astype(np.float64)) if n else 0.0
    return found(
        count(min(n, 1), "method with embeddings", "methods with embeddings"),
        pa.table({"mean_cosine": [mean] if mean > _MOST_ALIKE else []}),
        f"have embeddings that hardly differ (mean cosine of two: {mean:.4f}), over-smoothed by "
        "graph convolutions; set fewer layers in corpus.toml, [gae.training]",
    )


def mean_cosine(vectors: np.ndarray) -> float:
    """Return the mean over all pairs of vectors; 1 if all are equal, 0 for at most two."""
    n = len(vectors)
    if n <= _FEW:
        return 0.0
    if not np.ptp(vectors, axis=0).any():
        return 1.0
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    total = (vectors / np.where(lengths > 0, lengths, 1)).sum(axis=0)
    return float((total @ total - (lengths > 0).sum()) / (n * (n - 1)))


def not_degenerate(clusterings: pa.Table, n_passages: int) -> Finding:
    """Check that no cluster has over half of the passages, and not nearly each is alone."""
    row = clusterings.select(["clustering", "n_clusters", "largest"]).slice(0, 1)
    checked = count(row.num_rows, "clustering")
    if not row.num_rows or n_passages <= _FEW:
        return Finding(checked)
    if row["largest"][0].as_py() > _LARGEST:
        problem = (
            "have over half of the passages in one cluster; set a greater resolution, a smaller "
            "dbscan_eps or a smaller k_means_size in corpus.toml, [gae.clusters]; where embeddings "
            "are clustered also fewer layers in [gae.training]"
        )
    elif row["n_clusters"][0].as_py() > _ALONE * n_passages:
        problem = (
            "have nearly every passage alone in its cluster; set a smaller resolution, a greater "
            "dbscan_eps or a greater k_means_size in corpus.toml, [gae.clusters], or a greater "
            "n_nearest in [gae.graph]"
        )
    else:
        return Finding(checked)
    return found(checked, row, problem)


NOT_OVER_SMOOTHED = Check(
    "not_over_smoothed",
    "Embeddings differ: the mean cosine of two is at most 0.99.",
    lambda partition: not_over_smoothed(partition.rows()),
    warns=True,
)
NOT_DEGENERATE = Check(
    "not_degenerate",
    "No clustering has over half of the passages in one cluster, or nearly each in a cluster of "
    "its own.",
    lambda partition: not_degenerate(
        partition.rows(), partition.rows("chunks", ["chunk_id"]).num_rows
    ),
    warns=True,
)
