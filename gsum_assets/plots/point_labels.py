"""Labels of points in a plot that do not overlap."""

from collections.abc import Sequence

import numpy as np

from gsum_assets.plots.figure import DPI, INK, Axes, label, room_for, write_outlined

_HEIGHT = 0.2  # inches, height of a line with margins
_ABOVE = 0.07  # inches between point and label


def label_points(
    axes: Axes, names: Sequence[str], positions: np.ndarray, wanted: Sequence[int], most: int
) -> None:
    """Write the names of the wanted points above them, except where they would overlap.

    Parameters
    ----------
    names : names of all points; long ones are shortened.
    positions : positions of all points, `(n, 2)` between 0 and 1, the limits of the axes.
    wanted : indices of points to label, the most important first.
    """
    across, down = np.divide(axes.bbox.size, DPI)  # inches
    occupied: list[tuple[float, float, float]] = []
    for point in wanted:
        name = label(names[point])
        width = room_for([name]) / across
        x = float(np.clip(positions[point, 0], width / 2, 1 - width / 2))
        y = float(positions[point, 1]) + _ABOVE / down
        if any(
            abs(x - u) < (width + w) / 2 and abs(y - v) < _HEIGHT / down for u, v, w in occupied
        ):
            continue
        occupied.append((x, y, width))
        write_outlined(axes, x, y, name, 2, fontsize=8, color=INK)
        if len(occupied) == most:
            break
