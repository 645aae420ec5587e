"""Plots of losses: small, the same for the same input, and true in their pixels."""

import numpy as np
import pytest

from gsum_assets.gae.plots import loss_picture
from gsum_assets.plots.figure import COLOURS, DPI
from tests.plots.png import check, drawn, image_of, is_empty


def where(png: bytes, colour: str, region: tuple[slice, slice]) -> np.ndarray:
    """Pixels of (nearly) that colour in a part of the picture, `(n, 2)`: down and across."""
    pixels = np.asarray(image_of(png).convert("RGB")).astype(int)[region]
    wanted = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return np.argwhere(np.abs(pixels - wanted).max(axis=2) < 25)


def losses(values, constant=0.7, auc=0.9) -> bytes:
    return drawn(loss_picture, values, constant, auc, "tales")


@pytest.mark.parametrize("n", [1, 2, 9, 300])
def test_losses(n):
    falling = (1 / np.arange(1, n + 1)).tolist()
    png = losses(falling)
    check(png)
    assert losses(falling) == png
    assert losses(falling, constant=0.2) != png
    assert losses(falling, auc=0.5) != png


def test_loss_halving_each_epoch_is_a_straight_line():
    axes = (slice(round(0.5 * DPI), round(2.45 * DPI)), slice(round(0.72 * DPI), round(5.3 * DPI)))
    down, across = where(losses(0.5 ** np.arange(40)), COLOURS[0], axes).T
    line = np.polyfit(across, down, 1)
    assert line[0] > 0
    assert np.abs(np.polyval(line, across) - down).max() < 2
    assert np.ptp(across) > 400


@pytest.mark.parametrize(
    "values", [[0.7] * 20, [0.7, 0.69], [300.0, 0.02], [0.7, float("nan"), 0.0]]
)
def test_unusual_losses(values):
    check(losses(values))


@pytest.mark.parametrize("values", [[], [float("nan")]])
def test_no_loss_yet(values):
    assert is_empty(losses(values))
