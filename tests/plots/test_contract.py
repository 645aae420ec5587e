"""Every plot is a small PNG for any data, and the same for the same rows."""

from collections.abc import Callable

import numpy as np
import pytest

from gsum_assets.gae.plots import clusters_picture
from gsum_assets.gor.plots import graph_picture, training_curves
from gsum_assets.graphrag.plots import communities_picture
from gsum_assets.jerr import plots as jerr
from gsum_assets.lightpal.plots import passage_graph_picture
from gsum_assets.plots.chunk_lengths import chunk_lengths
from gsum_assets.plots.embedding_map import embedding_map
from gsum_assets.plots.figure import empty_figure, to_png
from gsum_assets.plots.method_ranking import method_ranking
from gsum_assets.plots.position_bias import position_bias
from gsum_assets.plots.quality_cost import quality_cost
from gsum_assets.plots.score_spread import score_spread
from gsum_assets.plots.win_rate_matrix import win_rate_matrix
from tests.plots import method_toys as methods
from tests.plots import toys
from tests.plots.png import MAX_BYTES, check, drawn, image_of, is_empty

PLOTS: dict[str, Callable[[int, list[str]], bytes]] = {
    "chunk_lengths": lambda n, names: chunk_lengths(toys.chunks(n, names), 256, "tales"),
    "embedding_map": lambda n, names: embedding_map(toys.embeddings(n, names), "tales"),
    "score_spread": lambda n, names: score_spread(toys.scores(n, names), "tales, bm25"),
    "method_ranking": lambda n, names: method_ranking(toys.ranked(n, names), "tales"),
    "quality_cost": lambda n, names: quality_cost(
        toys.ranked(n, names).get("general", []), toys.costs(names), "tales"
    ),
    "win_rate_matrix": lambda n, names: win_rate_matrix(toys.win_rates(n, names), "tales"),
    "position_bias": lambda n, names: position_bias(toys.position_bias(n, names), "tales"),
}
GRAPHS: dict[str, tuple[Callable[..., bytes], Callable[[int, list[str]], tuple]]] = {
    "gor graph": (graph_picture, lambda n, names: methods.records(n, n // 2, names)),
    "gor training": (training_curves, lambda n, _: (methods.training_log(n),)),
    "graphrag": (communities_picture, lambda n, names: methods.communities(_sizes(n), names)),
    "jerr": (
        jerr.graph_picture,
        lambda n, names: (methods.concepts(n, names), methods.relations(n or 1, n, names)),
    ),
    "lightpal": (passage_graph_picture, lambda n, names: _passage_graph(toys.with_names(names, n))),
}
"""The plot of each method's graph, and the tables that it draws."""
LARGE = {"max_bytes": 120_000, "max_width": 1200}  # of a graph


def _sizes(n: int) -> list[int]:
    """Sizes of communities of `n` entities in all: the half, the half of the rest, ..."""
    return [n] if n == 1 else [] if n == 0 else [n - n // 2, *_sizes(n // 2)]


def _passage_graph(names: list[str]) -> tuple:
    documents = [f"{name}{i}" for i, name in enumerate(names)]
    pairs = methods.groups(documents, 3) if len(documents) > 2 else []
    return methods.passage_edges(pairs, "document"), methods.passages(documents)


def _draw_graph(plot: str, n: int, names: list[str], shuffle: bool = False) -> bytes:
    draw, tables_of = GRAPHS[plot]
    tables = tables_of(n, names)
    if shuffle:
        n_kept = 1 if plot == "gor graph" else 0  # its nodes are drawn as they are stored
        tables = (*tables[:n_kept], *map(methods.shuffled, tables[n_kept:]))
    return drawn(draw, *tables, names[0])


FEW = ["one", "two", "three"]
MANY = [f"name {i}" for i in range(40)]

every_plot = pytest.mark.parametrize("draw", PLOTS.values(), ids=PLOTS)


@every_plot
@pytest.mark.parametrize("names", [FEW, MANY, toys.ODD_NAMES], ids=["few", "many", "odd names"])
@pytest.mark.parametrize("n", [0, 1, 2, 60])
def test_any_rows_give_a_small_plot(draw: Callable, n: int, names: list[str]) -> None:
    check(drawn(draw, n, names))


@every_plot
def test_same_rows_give_the_same_bytes(draw: Callable) -> None:
    assert draw(30, FEW) == draw(30, FEW)


@pytest.mark.parametrize("plot", GRAPHS)
@pytest.mark.parametrize("names", [MANY, toys.ODD_NAMES], ids=["many", "odd names"])
@pytest.mark.parametrize("n", [1, 3, 30])
def test_any_graph_gives_a_small_plot(plot: str, n: int, names: list[str]) -> None:
    check(_draw_graph(plot, n, names), **LARGE)


@pytest.mark.parametrize("plot", GRAPHS)
def test_row_order_does_not_change_the_plot_of_a_graph(plot: str) -> None:
    png = _draw_graph(plot, 20, MANY)
    assert _draw_graph(plot, 20, MANY, shuffle=True) == png
    assert _draw_graph(plot, 19, MANY) != png


@pytest.mark.parametrize("plot", GRAPHS)
def test_no_rows_give_an_empty_plot(plot: str) -> None:
    assert is_empty(_draw_graph(plot, 0, FEW))


@pytest.mark.parametrize("n", [0, 1, 2, 30])
def test_any_clusters_give_a_small_plot(n: int) -> None:
    names = toys.ODD_NAMES
    embeddings, clusters = methods.clusters(*_sizes(n))
    shown = [f"{name}{i}" for i, name in enumerate(toys.with_names(names, n))]
    png = drawn(clusters_picture, embeddings, clusters, shown, names[0])
    assert is_empty(png) == (n < 2)
    check(png)


def test_large_tables_give_small_plots() -> None:
    assert len(chunk_lengths(toys.chunks(20_000, MANY * 50), 256, "tales")) < MAX_BYTES
    assert len(embedding_map(toys.embeddings(20_000, MANY), "tales")) < MAX_BYTES
    assert len(score_spread(toys.scores(5_000, ["rouge1", "p@3"]), "tales")) < MAX_BYTES


@pytest.mark.parametrize("names", [FEW, MANY, toys.ODD_NAMES], ids=["few", "many", "odd names"])
def test_every_criterion_fits_into_one_small_plot(names: list[str]) -> None:
    check(win_rate_matrix(toys.win_rates(60, names), "tales", None))


def test_chunks_beyond_the_limit_are_shown() -> None:
    rows = toys.chunks(50, FEW)  # the longest has more than 200 word pieces
    assert chunk_lengths(rows, 64, "tales") != chunk_lengths(rows, 256, "tales")


@pytest.mark.parametrize("n", [1, 5, 50])
def test_message_in_place_of_a_plot_is_not_cut(n: int) -> None:
    png = to_png(empty_figure("the archive of the town council: " + "fewer passages " * n))
    assert is_empty(png)
    assert image_of(png).width <= 1100
    dark = np.asarray(image_of(png).convert("L")) < 200
    assert dark.any()
    assert not dark[:, [0, -1]].any()
