"""The plots of a record graph and of a training: their sizes, and what they refuse."""

import numpy as np
import pyarrow as pa
import pytest

from gsum_assets.gor.plots import graph_picture, training_curves
from tests.plots.method_toys import records, training_log
from tests.plots.png import check, image_of


@pytest.mark.parametrize(("n_chunks", "n_responses"), [(500, 30), (60, 30), (1, 1), (3, 0), (0, 2)])
def test_graph_fits_a_page(n_chunks, n_responses):
    png = graph_picture(*records(n_chunks, n_responses, ["a"]), "a meeting")
    check(png, max_width=800)


def test_every_edge_is_drawn():
    nodes, edges = records(40, 10, ["a"])
    png = graph_picture(nodes, edges, "$a_1$")
    assert graph_picture(nodes, edges.slice(0, 12), "$a_1$") != png


def test_plot_shows_one_document():
    (first, edges), (second, _) = (records(2, 0, [name]) for name in "ab")
    with pytest.raises(ValueError, match=r"of 2 \(first: 'a'\); filter record_nodes"):
        graph_picture(pa.concat_tables([first, second]), edges, "two")


def test_disabled_loss_term_has_no_panel():
    full = training_curves(training_log(9), "x")
    without = training_log(9, loss_rank=np.zeros(9), loss_cl=pa.nulls(9, pa.float32()))
    height = image_of(training_curves(without, "x")).height
    assert height < image_of(full).height  # one row of panels, not two
