"""Which methods are worth their price, by comparison with every other one; and plots as SVG."""

from typing import Any
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsum_assets.pipeline.tables import TABLES
from gsum_assets.plots.figure import to_svg
from gsum_assets.plots.main_metrics import main_means, main_metrics, scale_of
from gsum_assets.plots.method_ranking import method_ranking_figure, standing
from gsum_assets.plots.quality_cost import (
    frontier,
    quality_cost_figure,
    quality_read_figure,
    spread,
)
from tests.plots import toys

NAMES = ["bm25", "gor", "<b>&\x07"]
points = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=12)


@given(points)
def test_frontier_methods_are_undominated(found: list[tuple[int, int]]) -> None:
    price, quality = np.array([p for p, _ in found]), np.array([q for _, q in found])
    beaten = {
        i
        for i, (p, q) in enumerate(found)
        if any(p2 <= p and q2 >= q and (p2, q2) != (p, q) for p2, q2 in found)
    }
    on_front = frontier(price, quality)
    assert set(on_front) == set(range(len(found))) - beaten
    assert list(price[on_front]) == sorted(price[on_front])


def test_frontier_of_points_known_values() -> None:
    price, quality = np.array([3.0, 1.0, 2.0, 2.0]), np.array([0.5, 0.3, 0.2, 0.5])
    assert frontier(price, quality) == [1, 3]


@pytest.mark.parametrize(
    ("spared", "unit"),
    [
        ((), "US dollars a question"),
        (("cost_usd",), "tokens read and written a question"),
        (("cost_usd", "tokens_in", "tokens_out"), "seconds a question"),
    ],
)
def test_price_is_money_else_tokens_else_seconds(spared: tuple[str, ...], unit: str) -> None:
    costs = [row | dict.fromkeys(spared, 0) for row in toys.costs(NAMES)]
    figure = quality_cost_figure(toys.ranked(9, NAMES)["general"], costs, "tales")
    assert figure.axes[0].get_xlabel() == unit
    assert figure.axes[0].get_ylabel() == "rouge1, percent"
    prices = figure.axes[0].collections[-1].get_offsets()[:, 0]
    if unit.startswith("tokens"):  # ten questions of 900, 1,800, 2,700 tokens and 100 written
        assert sorted(prices) == [1_000, 1_900, 2_800]


def test_wide_price_range_uses_a_logarithmic_axis() -> None:
    ranked = toys.ranked(9, NAMES)["general"]
    near = [row | {"cost_usd": 1.0} for row in toys.costs(NAMES)]
    far = [row | {"cost_usd": 1.0 if row["method"] == "gor" else 11.0} for row in near]
    scales = [quality_cost_figure(ranked, costs, "").axes[0].get_xscale() for costs in (near, far)]
    assert scales == ["linear", "log"]


def test_grades_are_not_percentages_and_the_best_is_highlighted() -> None:
    assert [scale_of(name) for name in ("rouge1", "g_eval_relevance", "lr1")] == [100, 1, 100]
    rows = [
        {"method": "gor", "metric": "rouge1", "p_best": p, "ties_best": tie, "n": 6}
        for p, tie in ((None, True), (0.2, True), (0.01, False))
    ]
    assert [standing(row, several=True) for row in rows] == ["best", "tie", "other"]
    assert {standing(row, several=False) for row in rows} == {"other"}
    assert {standing(row | {"n": 5}, several=True) for row in rows} == {"other"}
    bound, length = {"method": "oracle-evidence"}, {"metric": "context_tokens"}
    assert {standing(row | bound, several=True) for row in rows} == {"bound"}
    assert {standing(row | length, several=True) for row in rows} == {"other"}


def test_svg_is_reproducible_without_dates_or_markup_in_names() -> None:
    def drawn() -> list[str]:
        ranked = toys.ranked(9, NAMES)
        figures = (
            method_ranking_figure(ranked, "tales"),
            quality_cost_figure(ranked["general"], toys.costs(NAMES), "tales"),
        )
        return [to_svg(figure) for figure in figures]

    first = drawn()
    assert first == drawn()
    for svg in first:
        assert "metadata" not in svg
        texts = "".join(ElementTree.fromstring(svg).itertext())
        assert "gor" in texts
        assert "<b>&\ufffd" in texts


def test_quality_against_tokens_joins_the_points_of_a_curve() -> None:
    ranked = toys.ranked(9, NAMES)["general"]
    read = [
        (name, {**rows, "context_tokens": {**rows["rouge1"], "mean": 1000.0 * i}})
        for i, (name, rows) in enumerate(ranked, start=1)
    ]
    row = {"split": "all", "kind": "general", "low": 0.1, "high": 0.4, "n": 9}
    rows = [
        {**row, "method": method, "k": k, "metric": metric, "mean": mean}
        for method in ("gor", "not shown")
        for k in (1, 6)
        for metric, mean in (("rouge1", 0.1 * k), ("context_tokens", 200.0 * k))
    ]
    curves = pa.Table.from_pylist(rows, TABLES["curves"].schema)
    axes = quality_read_figure(read, curves, "tales").axes[0]
    assert axes.get_xlabel() == "tokens read for an answer"
    drawn = [line.get_xydata().tolist() for line in axes.lines if line.get_marker() == "."]
    assert np.array(drawn).ravel().tolist() == pytest.approx([200, 10, 1200, 60])
    nothing = quality_read_figure(ranked, curves, "tales")
    assert nothing.axes == [] or not nothing.axes[0].collections


# What a reader needs in order to read a plot.


def to_hex(colour: Any) -> str:
    """Return a colour as `#rrggbb`."""
    from matplotlib.colors import to_hex as hex_of

    return hex_of(colour)


def board_of(n: int, means: dict[str, float], metric: str = "rouge1") -> list[tuple[str, dict]]:
    """Methods with one metric; the first is the best, and the last is significantly worse."""
    names = list(means)
    rows = [
        {"method": name, "metric": metric, "mean": mean, "low": 0.2, "high": 1.0, "n": n}
        | {"p_best": None if name == names[0] else 0.01, "ties_best": name != names[-1]}
        for name, mean in means.items()
    ]
    return [(row["method"], {metric: row}) for row in rows]


def legend_of(figure: Any) -> dict[str, str]:
    """Colours of a legend, as matplotlib writes them, by meaning."""
    (legend,) = figure.legends
    patches = legend.get_patches()
    texts = [text.get_text() for text in legend.get_texts()]
    return {text: to_hex(patch.get_facecolor()) for text, patch in zip(texts, patches, strict=True)}


def colours_of(axes: Any) -> list[str]:
    return [to_hex(bar.get_facecolor()) for bar in axes.patches]


def intervals_of(axes: Any) -> int:
    return sum(len(lines.get_segments()) for lines in axes.collections)


def test_each_panel_states_its_number_of_questions() -> None:
    many, single = board_of(9, {"gor": 0.4, "bm25": 0.3}), board_of(1, {"gor": 1, "bm25": 1}, "mrr")
    both = [(name, {**rows, **dict(single)[name]}) for name, rows in many]
    figure = method_ranking_figure({"general": both}, "tales")
    assert [axes.get_title("left") for axes in figure.axes] == ["rouge1, n = 9", "mrr, n = 1"]
    assert all("n = " not in text.get_text() for text in figure.texts)
    assert [intervals_of(axes) for axes in figure.axes] == [2, 0]


@pytest.mark.parametrize("n", [9, 1])
def test_lines_are_explained_only_where_there_are_any(n: int) -> None:
    from matplotlib.collections import LineCollection

    board = board_of(n, {"gor": 0.4, "bm25": 0.3})
    length = {"metric": "context_tokens", "mean": 900.0, "n": n}
    read = [(name, {**rows, "context_tokens": length}) for name, rows in board]
    figures = [
        method_ranking_figure({"general": board}, "tales"),
        quality_cost_figure(board, toys.costs(["gor", "bm25"]), "tales"),
        quality_read_figure(read, TABLES["curves"].empty(), "tales"),
    ]
    for figure in figures:
        said = " ".join(text.get_text() for text in figure.texts)
        lines = [c for c in figure.axes[0].collections if isinstance(c, LineCollection)]
        assert sum(len(each.get_segments()) for each in lines) == (2 if n == 9 else 0)
        assert ("95% interval" in said) == (n == 9)


def test_numbers_of_questions_that_differ_by_method_are_a_range() -> None:
    (first, *_), (*_, last) = (board_of(n, {"gor": 0.4, "bm25": 0.3}) for n in (8, 9))
    figure = method_ranking_figure({"general": [first, last]}, "tales")
    assert figure.axes[0].get_title("left") == "rouge1, n = 8 to 9"


def test_legend_names_each_colour_of_the_bars() -> None:
    means = {"gor": 0.4, "bm25": 0.3, "random": 0.1}
    figure = method_ranking_figure({"general": board_of(9, means)}, "tales")
    legend = legend_of(figure)
    assert list(legend) == ["best", "not significantly worse", "significantly worse"]
    assert colours_of(figure.axes[0]) == list(legend.values())


@pytest.mark.parametrize(("n", "means"), [(9, (0.4, 0.4)), (1, (0.4, 0.3)), (5, (0.4, 0.3))])
def test_equal_methods_and_few_questions_are_not_coloured_as_worse(
    n: int, means: tuple[float, float]
) -> None:
    figure = method_ranking_figure(
        {"general": board_of(n, dict(zip(["gor", "bm25"], means, strict=True)))}, "tales"
    )
    ((meaning, colour),) = legend_of(figure).items()
    assert meaning.startswith("not compared")
    assert colours_of(figure.axes[0]) == [colour, colour]
    assert intervals_of(figure.axes[0]) == (2 if n == 9 else 0)


def test_points_are_labelled_in_the_order_of_quality_with_a_line_to_each() -> None:
    means = {f"m{i}": 0.4 + 0.001 * (i % 5) for i in range(12)}
    means |= {"oracle-evidence": 0.6}
    ranked = board_of(9, means)
    figure = quality_cost_figure(ranked, toys.costs(list(means)), "tales")
    axes: Any = figure.axes[0]
    labels = [text for text in axes.texts if text.get_text()]
    assert {text.get_text() for text in labels} == set(means)
    heights = [text.get_position()[1] for text in labels]
    assert min(-np.diff(heights)) > 0.03
    assert [means[text.get_text()] for text in labels] == sorted(means.values(), reverse=True)
    for text in labels:
        assert text.xy[1] == pytest.approx(100 * means[text.get_text()])
        assert text.arrow_patch is not None
    shown = {to_hex(colour) for colour in axes.collections[-1].get_facecolors()}
    assert shown == set(legend_of(figure).values())


heights = st.lists(st.floats(0, 1), min_size=1, max_size=12)


@given(heights)
def test_labels_are_spread_within_the_axes(given_heights: list[float]) -> None:
    heights = np.array(sorted(given_heights, reverse=True))
    spaced = spread(heights, 0.05)
    assert np.all(-np.diff(spaced) >= 0.05 - 1e-9)
    assert spaced.max() <= 1 + 1e-9
    assert spaced.min() >= -1e-9
    if np.all(-np.diff(heights) >= 0.05):
        assert spaced == pytest.approx(heights)


# Which metrics are shown, and their means.


def test_main_metrics_come_first_and_alone() -> None:
    assert main_metrics(["ndcg@8", "mrr", "rougeL", "rouge1", "mrr"]) == ["rouge1", "rougeL", "mrr"]


def test_unknown_metrics_are_shown_without_main_ones() -> None:
    assert main_metrics(["zeta", "alpha"]) == ["alpha", "zeta"]
    assert main_metrics([]) == []


def test_means_over_the_questions() -> None:
    scores = toys.scores(8, ["rouge1", "p@1"])
    expected = sum(scores["value"].to_pylist()) / 16  # both metrics have the same values here
    assert main_means(scores) == {"rouge1": pytest.approx(expected, abs=5e-5)}
