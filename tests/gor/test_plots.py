"""The plot of a training."""

import numpy as np
import pyarrow as pa
import pytest

from gsum_assets.gor.plots import training_curves
from gsum_assets.pipeline.tables import TABLES
from tests.plots.png import check, drawn, image_of, is_empty


def training_log(n: int, **columns) -> pa.Table:
    """Losses of `n` epochs that fall."""
    epochs = np.arange(1, n + 1)
    names = ("loss", "loss_cl", "loss_rank", "entropy", "learning_rate", "seconds")
    return pa.table({"epoch": epochs, **dict.fromkeys(names, 5 / epochs), **columns})


@pytest.mark.parametrize("n", [1, 3, 30])
def test_any_log_gives_a_small_plot_in_any_order(n):
    log = training_log(n)
    png = drawn(training_curves, log, "$a_1$")
    check(png)
    assert training_curves(log.take(list(range(n))[::-1]), "$a_1$") == png
    assert is_empty(training_curves(TABLES["gor.training_log"].empty(), "x"))


def test_disabled_loss_term_has_no_panel():
    full = training_curves(training_log(9), "x")
    without = training_log(9, loss_rank=np.zeros(9), loss_cl=pa.nulls(9, pa.float32()))
    height = image_of(training_curves(without, "x")).height
    assert height < image_of(full).height  # one row of panels, not two
