"""Plots of distributions: of chunk lengths, and of one method's scores over the questions."""

from collections import Counter

import numpy as np
import pyarrow as pa

from gsum_assets.plots.figure import (
    COLOURS,
    FAINT,
    INK,
    PALE,
    Axes,
    Figure,
    as_png,
    empty_figure,
    grid,
    label_rows,
    new_axes,
    new_figure,
    write,
    write_beside,
)
from gsum_assets.plots.main_metrics import is_share, main_metrics

_N_BINS = 32
_MAX_BARS = 16  # documents shown by name
_MIN_ROWS = 8  # rows of space, so that few bars stay thin


@as_png
def chunk_lengths(chunks: pa.Table, limit: int, title: str) -> Figure:
    """Plot two panels: chunks by length in word pieces, and by document."""
    if chunks.num_rows == 0:
        return empty_figure(f"{title}: no chunks")
    counts = Counter(chunks["document_id"].to_pylist())
    height = max(2.0, 0.2 * len(counts) if len(counts) <= _MAX_BARS else 0) + 1.15
    documents = f"{len(counts):,} document{'s' if len(counts) > 1 else ''}"
    figure = new_figure(9, height, f"{title}: {chunks.num_rows:,} chunks of {documents}")
    axes = new_axes(figure, 121, x="word pieces", y="chunks")
    lengths = chunks["n_tokens"].to_numpy()
    end = max(limit, int(lengths.max())) + 1
    axes.stairs(*np.histogram(lengths, _N_BINS, (0, end)), fill=True, color=COLOURS[0])
    axes.axvline(limit, color=COLOURS[3], linestyle="--", linewidth=1.2)
    axes.set_xlim(0, end * 1.02)
    above = {"transform": axes.get_xaxis_transform(), "ha": "right", "va": "bottom"}
    write(axes, limit, 1.01, f"limit {limit:,}", COLOURS[3], **above)
    axes.locator_params(axis="y", integer=True)
    _by_document(new_axes(figure, 122, x="chunks per document"), counts)
    return figure


def _by_document(axes: Axes, counts: Counter[str]) -> None:
    """Draw a bar for each document, or a histogram of chunks per document if there are many."""
    axes.locator_params(axis="x", integer=True)
    if len(counts) > _MAX_BARS:
        end = max(counts.values()) + 1
        histogram = np.histogram(list(counts.values()), min(_N_BINS, end), (0, end))
        axes.stairs(*histogram, fill=True, color=COLOURS[2])
        axes.set_ylabel("documents", fontsize=9, color=INK)
        axes.locator_params(axis="y", integer=True)
        return
    names = sorted(counts, key=lambda name: (-counts[name], name))
    axes.barh(range(len(names)), [counts[name] for name in names], 0.7, color=COLOURS[2])
    label_rows(axes, names)
    axes.set_ylim(bottom=max(len(names), _MIN_ROWS) - 0.4)


_MAX_DOTS = 300  # questions drawn for each metric; mean and box are of all questions


@as_png
def score_spread(scores: pa.Table, title: str) -> Figure:
    """Plot a row for each metric: a dot for each question, quartiles and mean.

    `scores` are rows of `scores` of one method; values from 0 to 1.
    """
    metrics = [m for m in main_metrics(scores["metric"].to_pylist()) if is_share(m)]
    if not metrics:
        return empty_figure(f"{title}: no scores")
    names, values = np.array(scores["metric"].to_pylist()), scores["value"].to_numpy()
    found = [values[names == metric] for metric in metrics]
    rows = np.arange(len(metrics))
    figure = new_figure(8, 0.36 * len(metrics) + 0.95)
    has_boxes = any(len(v) > 1 for v in found)
    meaning = "score of a question; box: the middle half; line: mean"
    axes = new_axes(figure, 111, title, meaning if has_boxes else "score of the only question")
    quarters = np.array([np.percentile(v, (25, 75)) for v in found])
    axes.barh(rows, quarters[:, 1] - quarters[:, 0], 0.62, quarters[:, 0], color=PALE)
    shown = [np.sort(v)[:: -(-len(v) // _MAX_DOTS)] for v in found]
    dots = np.concatenate(shown)
    heights = np.concatenate([row + _scattered(len(v)) for row, v in zip(rows, shown, strict=True)])
    axes.scatter(dots, heights, s=12, color=COLOURS[0], alpha=0.55, linewidths=0)
    means = [v.mean() for v in found]
    axes.vlines(means, rows - 0.36, rows + 0.36, color=COLOURS[3], linewidth=2)
    for row, (mean, v) in enumerate(zip(means, found, strict=True)):
        write_beside(axes, 1.02, row, f"{mean:.3f}")
        write_beside(axes, 1.1, row, f"n = {len(v):,}", FAINT)
    axes.set_xlim(-0.02, max(1.02, float(dots.max())))
    grid(axes, "x")
    label_rows(axes, metrics)
    return figure


def _scattered(n: int) -> np.ndarray:
    """Return offsets `(n,)` within ±0.25 that separate neighbours: the golden ratio's multiples."""
    return 0.5 * (np.arange(n) * 0.618034 % 1) - 0.25 if n > 1 else np.zeros(n)
