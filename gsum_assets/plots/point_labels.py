"""Names of points in a picture, as many as can be read."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gsum_assets.plots.figure import DPI, INK, label, room_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HEIGHT = 0.2  # inches, of a line and what is free around it
_ABOVE = 0.07  # inches


def label_points(
    axes: "Axes", names: Sequence[str], places: np.ndarray, wanted: Sequence[int], most: int
) -> None:
    """Write the names of the first points wanted above them, of each that covers no other name.

    Parameters
    ----------
    names : of all points, shown as they are, long ones cut.
    places : of all points, `(n, 2)` between 0 and 1, which the axes show.
    wanted : points, those first that matter most.
    most : names at most.
    """
    from matplotlib.patheffects import withStroke

    across, down = np.divide(axes.bbox.size, DPI)  # inches
    taken: list[tuple[float, float, float]] = []
    for point in wanted:
        name = label(names[point])
        width = room_for([name]) / across
        x = float(np.clip(places[point, 0], width / 2, 1 - width / 2))
        y = float(places[point, 1]) + _ABOVE / down
        if any(abs(x - u) < (width + w) / 2 and abs(y - v) < _HEIGHT / down for u, v, w in taken):
            continue
        taken.append((x, y, width))
        text = axes.text(x, y, name, fontsize=8, color=INK, ha="center", parse_math=False)
        text.set_path_effects([withStroke(linewidth=2, foreground="white")])
        if len(taken) == most:
            break
