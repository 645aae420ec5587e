"""Plot of chunk lengths, and of the number of chunks by document."""

from collections import Counter

import numpy as np
import pyarrow as pa

from gsum_assets.plots.figure import (
    COLOURS,
    INK,
    Axes,
    Figure,
    as_png,
    axes_at,
    empty_figure,
    label_rows,
    new_figure,
    room_for,
    write,
)

_N_BINS = 32
_MAX_BARS = 16  # documents shown by name
_MIN_ROWS = 8  # rows of space, so that few bars stay thin


@as_png
def chunk_lengths(chunks: pa.Table, limit: int, title: str) -> Figure:
    """Plot two panels: chunks by length in word pieces, and by document."""
    if chunks.num_rows == 0:
        return empty_figure(f"{title}: no chunks")
    counts = Counter(chunks["document_id"].to_pylist())
    names = list(counts) if len(counts) <= _MAX_BARS else []
    margin = max(0.6, room_for(names))
    height = max(2.0, 0.2 * len(names))
    documents = f"{len(counts):,} document{'s' if len(counts) > 1 else ''}"
    figure = new_figure(9, height + 1.15, f"{title}: {chunks.num_rows:,} chunks of {documents}")
    axes = axes_at(figure, (0.65, 0.6, 4.4, height), x="word pieces", y="chunks")
    lengths = chunks["n_tokens"].to_numpy()
    end = max(limit, int(lengths.max())) + 1
    axes.stairs(*np.histogram(lengths, _N_BINS, (0, end)), fill=True, color=COLOURS[0])
    axes.axvline(limit, color=COLOURS[3], linestyle="--", linewidth=1.2)
    axes.set_xlim(0, end * 1.02)
    above = {"transform": axes.get_xaxis_transform(), "ha": "right", "va": "bottom"}
    write(axes, limit, 1.01, f"limit {limit:,}", COLOURS[3], **above)
    axes.locator_params(axis="y", integer=True)
    box = (5.15 + margin, 0.6, 3.7 - margin, height)
    _by_document(axes_at(figure, box, x="chunks per document"), counts)
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
