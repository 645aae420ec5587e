"""Which methods are worth their price, by comparison with every other one; and plots as SVG."""

import warnings
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsum_assets.evaluation.leaderboard import standing
from gsum_assets.plots.figure import to_svg
from gsum_assets.plots.main_metrics import main_means, main_metrics, scale_of
from gsum_assets.plots.quality_cost import frontier, quality_cost, spread
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


def test_price_is_money_else_tokens_else_seconds() -> None:
    costs = toys.costs(NAMES)
    for spared, expected in (
        ((), [0, 0.0001, 0.0002]),
        (("cost_usd",), [1_000, 1_900, 2_800]),
        (("cost_usd", "tokens_in", "tokens_out"), [0.001, 0.004, 0.009]),
    ):
        paid = [row | dict.fromkeys(spared, 0) for row in costs]
        figure = quality_cost(toys.ranked(9, NAMES)["general"], paid, "tales")
        assert figure
        prices = np.asarray(figure.axes[0].collections[-1].get_offsets())[:, 0]
        assert sorted(prices) == pytest.approx(expected)


def test_main_metrics_come_first_with_their_means() -> None:
    assert main_metrics(["ndcg@8", "mrr", "rougeL", "rouge1", "mrr"]) == ["rouge1", "rougeL", "mrr"]
    assert main_metrics(["zeta", "alpha"]) == ["alpha", "zeta"]
    scores = toys.scores(8, ["rouge1", "p@1"])
    expected = sum(scores["value"].to_pylist()) / 16  # both metrics have the same values here
    assert main_means(scores) == {"rouge1": pytest.approx(expected, abs=5e-5)}


def test_grades_are_not_percentages_and_the_best_is_highlighted() -> None:
    assert [scale_of(name) for name in ("rouge1", "g_eval_relevance", "lr1")] == [100, 1, 100]
    rows = [
        {"method": "gor", "metric": "rouge1", "p_best": p, "ties_best": tie, "n": 6}
        for p, tie in ((None, True), (0.2, True), (0.01, False))
    ]
    assert [standing(row, several=True) for row in rows] == ["best", "tie", "other"]
    assert {standing(row, several=False) for row in rows} == {"uncompared"}
    assert {standing(row | {"n": 5}, several=True) for row in rows} == {"uncompared"}
    bound, length = {"method": "oracle-evidence"}, {"metric": "context_tokens"}
    assert {standing(row | bound, several=True) for row in rows} == {"bound"}
    assert {standing(row | length, several=True) for row in rows} == {"uncompared"}


def drawn(n: int, names: list[str]) -> str:
    figure = quality_cost(toys.ranked(n, names)["general"], toys.costs(names), "tales")
    assert figure
    return to_svg(figure)


@pytest.mark.parametrize("n", [1, 2, 60])
@pytest.mark.parametrize("names", [NAMES, [f"name {i}" for i in range(40)], toys.ODD_NAMES])
def test_any_rows_are_drawn(n: int, names: list[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        svg = ElementTree.fromstring(drawn(n, names))
    assert len(svg.findall(".//*[@id='PathCollection_1']//*")) > len(names)


def test_no_method_with_costs_gives_no_plot() -> None:
    assert quality_cost([], toys.costs(NAMES), "tales") is None
    assert quality_cost(toys.ranked(9, NAMES)["general"], [], "tales") is None


def test_svg_is_reproducible_without_dates_or_markup_in_names() -> None:
    svg = drawn(9, NAMES)
    assert svg == drawn(9, NAMES)
    assert "metadata" not in svg
    texts = "".join(ElementTree.fromstring(svg).itertext())
    assert "gor" in texts
    assert "<b>&\ufffd" in texts


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
