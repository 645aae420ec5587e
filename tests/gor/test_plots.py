"""Pictures: right size, same bytes for the same rows, and no crash on odd graphs."""

import numpy as np
import pyarrow as pa
import pytest

from gsum_assets.gor.plots import graph_picture, training_curves
from tests.gor.toy_documents import shuffled
from tests.plots.png import check, image_of


def records(n_chunks: int, n_responses: int, k: int = 6) -> tuple[pa.Table, pa.Table]:
    """A graph in which each response used random earlier nodes."""
    random = np.random.default_rng(7)
    ids = [f"c{i}" for i in range(n_chunks)] + [f"r{i}" for i in range(1, n_responses + 1)]
    edges = [
        (ids[source], f"r{i}")
        for i in range(1, n_responses + 1)
        for source in random.choice(n_chunks + i - 1, min(k, n_chunks + i - 1), replace=False)
    ]
    ends = [node_id for edge in edges for node_id in edge]
    nodes = pa.table(
        {
            "node_id": pa.array(ids, pa.string()),
            "document_id": pa.array(["a"] * len(ids), pa.string()),
            "kind": pa.array(["chunk"] * n_chunks + ["response"] * n_responses, pa.string()),
            "position": pa.array([*range(n_chunks), *range(1, n_responses + 1)], pa.int32()),
            "degree": pa.array([ends.count(node_id) for node_id in ids], pa.int32()),
        }
    )
    source, target = zip(*edges, strict=True) if edges else ((), ())
    return nodes, pa.table(
        {"source_id": pa.array(source, pa.string()), "target_id": pa.array(target, pa.string())}
    )


def size(png: bytes) -> tuple[int, int]:
    return image_of(png).size


@pytest.mark.parametrize(("n_chunks", "n_responses"), [(500, 30), (60, 30), (1, 1), (3, 0), (0, 2)])
def test_graph_fits_a_page(n_chunks, n_responses):
    png = graph_picture(*records(n_chunks, n_responses), "a meeting")
    check(png, max_width=800)


def test_same_rows_give_the_same_plot():
    nodes, edges = records(40, 10)
    png = graph_picture(nodes, edges, "$a_1$")
    assert graph_picture(nodes, shuffled(edges), "$a_1$") == png
    assert graph_picture(nodes, edges.slice(0, 12), "$a_1$") != png


def test_no_nodes_give_an_empty_plot():
    nodes, edges = records(0, 0)
    assert len(graph_picture(nodes, edges, "a meeting")) > 500


def test_plot_shows_one_document():
    nodes, edges = records(2, 0)
    both = pa.concat_tables([nodes, nodes.set_column(1, "document_id", pa.array(["b", "b"]))])
    with pytest.raises(ValueError, match=r"of 2 \(first: 'a'\); filter record_nodes"):
        graph_picture(both, edges, "two")


def log(n: int, **columns) -> pa.Table:
    epochs = np.arange(1, n + 1)
    names = ("loss", "loss_cl", "loss_rank", "entropy", "learning_rate", "seconds")
    return pa.table({"epoch": epochs, **dict.fromkeys(names, 5 / epochs), **columns})


@pytest.mark.parametrize("n", [1, 5, 150])
def test_training_curves(n):
    png = training_curves(log(n), "qmsum, gor")
    check(png)
    assert training_curves(shuffled(log(n)), "qmsum, gor") == png


def test_disabled_loss_term_has_no_panel():
    full = training_curves(log(9), "x")
    without = log(9, loss_rank=np.zeros(9), loss_cl=pa.nulls(9, pa.float32()))
    assert size(training_curves(without, "x"))[1] < size(full)[1]  # one row of panels, not two


def test_no_epochs_yet():
    assert len(training_curves(log(0), "x")) > 500
