"""Every plot is a small PNG on white, for any data, and the same for the same rows."""

import io
import warnings
from collections.abc import Callable

import pytest
from PIL import Image

from gsum_assets.plots.figure import Figure, to_png
from gsum_assets.plots.quality_cost import quality_cost
from gsum_assets.plots.training_curves import training_curves
from tests.plots import toys

MAX_BYTES, MAX_WIDTH = 60_000, 1100  # a plot is stored in the event log once a partition
PLOTS: dict[str, Callable[[int, list[str]], Figure | None]] = {
    "quality_cost": lambda n, names: quality_cost(
        toys.ranked(n, names)["general"], toys.costs(names), "tales"
    ),
    "training_curves": lambda n, _: training_curves(toys.training_log(n), "tales, gor"),
}
FEW = ["one", "two", "three"]
MANY = [f"name {i}" for i in range(40)]


@pytest.mark.parametrize("draw", PLOTS.values(), ids=PLOTS)
@pytest.mark.parametrize("names", [FEW, MANY, toys.ODD_NAMES], ids=["few", "many", "odd names"])
@pytest.mark.parametrize("n", [1, 2, 60])
def test_any_rows_give_a_small_plot(draw: Callable, n: int, names: list[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        png = to_png(draw(n, names))
    image = Image.open(io.BytesIO(png))
    assert image.format == "PNG"
    assert image.width <= MAX_WIDTH
    assert len(png) < MAX_BYTES
    assert image.convert("RGB").getpixel((0, 0)) == (255, 255, 255)  # legible in dark mode too
    assert len(image.convert("L").getcolors() or ()) > 2
    if names == FEW and n == 2:
        assert to_png(draw(n, names)) == png


def test_a_term_that_is_not_minimized_has_no_panel() -> None:
    figure = training_curves(toys.training_log(9), "tales, gor")
    assert figure
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == ["loss", "contrastive part", "entropy over nodes, nats", "learning rate"]
    assert training_curves(toys.training_log(0), "tales, gor-untrained") is None
