"""Grids of the leaderboard, on rows with known answers."""

from pathlib import Path

import pytest

from gsum_assets.plots.main_metrics import shown_value
from gsum_assets.report.board import boards
from tests.report import toys


def test_best_is_marked_and_clearly_worse_ones_are_not(tmp_path: Path) -> None:
    stored = toys.stored(tmp_path, n=40)
    general, specific = boards(stored.leaderboard, stored.comparisons, toys.METHODS, "all")
    assert (general.kind, general.n, specific.kind, specific.n) == ("general", 1, "specific", 39)
    assert [row.method for row in specific.main.rows] == list(toys.METHODS)
    first = [row.cells[0] for row in specific.main.rows]
    assert [cell.standing for cell in first if cell] == ["best", "other", "other"]
    assert specific.main.metrics == ["rouge1", "mrr"]
    assert specific.rest.metrics == ["ndcg@8"]


def test_hidden_best_method_still_counts_as_best(tmp_path: Path) -> None:
    stored = toys.stored(tmp_path, n=40)
    found = boards(stored.leaderboard, stored.comparisons, ["dense", "full_context"], "all")[1]
    assert [row.cells[0].standing for row in found.main.rows if row.cells[0]] == ["other", "other"]


def test_pairs_are_symmetric(tmp_path: Path) -> None:
    stored = toys.stored(tmp_path, n=40)
    pairs = boards(stored.leaderboard, stored.comparisons, toys.METHODS, "all")[1].pairs
    assert pairs is not None
    assert [pairs.rows[i][i] for i in range(3)] == [None] * 3
    better, worse = pairs.rows[0][1], pairs.rows[1][0]
    assert better is not None
    assert worse is not None
    assert (better.difference, better.sign) == ("+30.0", "+")
    assert (worse.difference, worse.sign) == ("−30.0", "-")
    assert (better.low, better.high) == ("+30.0", "+30.0")


@pytest.mark.parametrize(
    ("metric", "value", "shown"),
    [("rouge1", 0.4567, "45.7"), ("g_eval_relevance", 3.456, "3.46"), ("lr1", 1.0, "100.0")],
)
def test_shares_are_percentages_and_grades_are_not(metric: str, value: float, shown: str) -> None:
    assert shown_value(metric, value) == shown
