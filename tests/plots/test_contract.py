"""Every plot is a small PNG on white, for any data, and the same for the same rows."""

import io
import warnings
from collections.abc import Callable

import numpy as np
import pytest
from PIL import Image

from gsum_assets.plots.figure import empty_figure, to_png
from gsum_assets.plots.quality_cost import quality_cost
from gsum_assets.plots.training_curves import training_curves
from tests.plots import toys

MAX_BYTES, MAX_WIDTH = 60_000, 1100  # a plot is stored in the event log once a partition
PLOTS: dict[str, Callable[[int, list[str]], bytes]] = {
    "quality_cost": lambda n, names: quality_cost(
        toys.ranked(n, names).get("general", []), toys.costs(names), "tales"
    ),
    "training_curves": lambda n, _: training_curves(toys.training_log(n), "tales, gor"),
}
FEW = ["one", "two", "three"]
MANY = [f"name {i}" for i in range(40)]


@pytest.mark.parametrize("draw", PLOTS.values(), ids=PLOTS)
@pytest.mark.parametrize("names", [FEW, MANY, toys.ODD_NAMES], ids=["few", "many", "odd names"])
@pytest.mark.parametrize("n", [0, 1, 2, 60])
def test_any_rows_give_a_small_plot(draw: Callable, n: int, names: list[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        png = draw(n, names)
    image = Image.open(io.BytesIO(png))
    assert image.format == "PNG"
    assert image.width <= MAX_WIDTH
    assert len(png) < MAX_BYTES
    assert image.convert("RGB").getpixel((0, 0)) == (255, 255, 255)  # legible in dark mode too
    assert len(image.convert("L").getcolors() or ()) > 2
    if names == FEW and n == 2:
        assert draw(n, names) == png


@pytest.mark.parametrize("n", [1, 50])
def test_message_in_place_of_a_plot_is_not_cut(n: int) -> None:
    png = to_png(empty_figure("the archive of the town council: " + "fewer passages " * n))
    image = Image.open(io.BytesIO(png)).convert("L")
    assert image.height < 100
    assert image.width <= MAX_WIDTH
    dark = np.asarray(image) < 200
    assert dark.any()
    assert not dark[:, [0, -1]].any()
