"""Check of the embeddings of passages."""

import numpy as np
import pyarrow as pa

from gsum_assets.pipeline.check import Check
from gsum_assets.pipeline.finding import Finding, count, found
from gsum_assets.retrieval.vectors import stacked

_MOST_ALIKE = 0.99  # mean cosine of two embeddings beyond which they do not discriminate
_FEW = 2  # passages, too few to judge


def not_over_smoothed(embeddings: pa.Table) -> Finding:
    """Check that embeddings differ: the mean cosine of two is at most 0.99."""
    n = embeddings.num_rows
    mean = mean_cosine(stacked(embeddings["embedding"]).astype(np.float64)) if n else 0.0
    alike = [{"mean_cosine": mean}] if mean > _MOST_ALIKE else []
    return found(
        count(min(n, 1), "method with embeddings", "methods with embeddings"),
        pa.Table.from_pylist(alike, pa.schema([("mean_cosine", pa.float64())])),
        f"have embeddings that hardly differ (mean cosine of two: {mean:.4f}), over-smoothed by "
        "graph convolutions; set fewer layers in corpus.toml, [gae.training]",
    )


def mean_cosine(vectors: np.ndarray) -> float:
    """Return the mean over all pairs of finite vectors; 1 if all are equal, 0 for at most two."""
    vectors = vectors[np.isfinite(vectors).all(axis=1)]
    n = len(vectors)
    if n <= _FEW:
        return 0.0
    if not np.ptp(vectors, axis=0).any():
        return 1.0
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    total = (vectors / np.where(lengths > 0, lengths, 1)).sum(axis=0)
    return float((total @ total - (lengths > 0).sum()) / (n * (n - 1)))


NOT_OVER_SMOOTHED = Check(
    "not_over_smoothed",
    "Embeddings differ: the mean cosine of two is at most 0.99.",
    lambda partition: not_over_smoothed(partition.rows()),
    warns=True,
)
