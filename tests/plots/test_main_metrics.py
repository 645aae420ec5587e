"""Which metrics are shown, and their means."""

import pytest

from gsum_assets.plots.main_metrics import main_means, main_metrics
from tests.plots import toys


def test_main_metrics_come_first_and_alone() -> None:
    assert main_metrics(["ndcg@8", "mrr", "rougeL", "rouge1", "mrr"]) == ["rouge1", "rougeL", "mrr"]


def test_unknown_metrics_are_shown_without_main_ones() -> None:
    assert main_metrics(["zeta", "alpha"]) == ["alpha", "zeta"]
    assert main_metrics([]) == []


def test_means_over_the_questions() -> None:
    scores = toys.scores(8, ["rouge1", "p@1"])
    expected = sum(scores["value"].to_pylist()) / 16  # both metrics have the same values here
    assert main_means(scores) == {"rouge1": pytest.approx(expected, abs=5e-5)}
