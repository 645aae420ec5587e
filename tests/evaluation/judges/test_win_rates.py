"""Win rates and position bias by hand, and what mirrors what."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gsum.statistics import wilson
from gsum_assets.evaluation.judges.bias import SCHEMA, position_bias, share_interval
from gsum_assets.evaluation.judges.win_rates import win_rates
from gsum_assets.pipeline.tables import TABLES
from tests.evaluation.judges import toys

VERDICTS = st.sampled_from(["win", "tie", "loss", "unparsed"])
HOUSES = st.lists(st.tuples(VERDICTS, VERDICTS), min_size=1, max_size=8)  # a question each


def both_orders(house: list[tuple[str, str]], **columns: object) -> pa.Table:
    rows = [
        (f"q{i}", first, verdict)
        for i, verdicts in enumerate(house)
        for first, verdict in zip("ab", verdicts, strict=True)
    ]
    return toys.pairwise(*rows, **columns)


def rate(judgements: pa.Table) -> dict:
    return win_rates(judgements).to_pylist()[0]


def test_win_rates_known_values() -> None:
    # q0: a wins in both orders; q1: the one shown first; q2: a win and a tie; q3: half unparsed
    house = [("win", "win"), ("win", "loss"), ("win", "tie"), ("unparsed", "win")]
    row = rate(both_orders(house))
    assert row["win_rate"] == pytest.approx((1 + 0.5 + 0.75) / 3)
    assert 0.2 < row["low"] < row["win_rate"] < row["high"] <= 1
    assert (row["n"], row["wins"], row["ties"], row["losses"], row["unparsed"]) == (3, 5, 1, 1, 1)
    # decided and first shown: q0 a yes, b no; q1 yes, yes; q2 yes; q3 no
    assert row["first_won"] == pytest.approx(4 / 6)
    assert row["disagreement"] == pytest.approx(2 / 3)  # q1 and q2 of q0, q1, q2
    (of_all,) = position_bias(both_orders(house)).to_pylist()
    assert of_all["first_won"] == pytest.approx(4 / 6)
    assert of_all["disagreement"] == pytest.approx(2 / 3)
    assert 0 <= of_all["low"] <= of_all["first_won"] <= of_all["high"] <= 1
    assert (of_all["n"], of_all["n_both_orders"], of_all["unparsed"]) == (6, 3, 1)


def counted(*counts: tuple[int, int]) -> list[list[bool]]:
    """Values of questions, of which some are true, by these and the number of all."""
    return [[True] * part + [False] * (whole - part) for part, whole in counts]


def test_interval_of_a_share_resamples_questions() -> None:
    # as many verdicts each: Wilson's interval of the questions' own shares
    (expected,) = wilson(np.array([0.75]), 8)
    assert share_interval(counted(*[(2, 2)] * 6, *[(0, 2)] * 2)) == pytest.approx(expected)
    # repeated verdicts on the same questions add no information
    assert share_interval(counted(*[(4, 4)] * 6, *[(0, 4)] * 2)) == pytest.approx(expected)
    # unequal: around the share of all verdicts, 40 of 60, not the mean of the questions' shares
    low, high = share_interval(counted(*[(3, 3), (1, 1), (2, 4), (0, 1), (2, 3)] * 5))
    assert 0 < low < 40 / 60 < high < 1
    assert (low + high) / 2 == pytest.approx(40 / 60, abs=0.02)
    expected = wilson(np.ones(1), 3)[0, 0], 1
    assert share_interval(counted(*[(1, 1)] * 3)) == pytest.approx(expected)
    assert share_interval([[True]])[0] < 0.5  # one question is no certainty


def test_repeats_are_averaged_within_their_order() -> None:
    first = both_orders([("win", "win")])
    second = both_orders([("loss", "unparsed")], repeat=2)
    row = rate(pa.concat_tables([first, second]))
    assert row["win_rate"] == 0.75  # shown first: 1 and 0, second: 1
    assert row["disagreement"] == 0  # of the first repeat, which alone has both orders


def test_bias_is_over_all_pairs_and_each_criterion() -> None:
    tables = [
        both_orders([("win", "loss")], criterion="diversity"),
        both_orders([("win", "win")]),
        toys.pairwise(("q0", "a", "loss"), ("q0", "c", "win"), opponent="c"),  # the second each
    ]
    found = {row["criterion"]: row for row in position_bias(pa.concat_tables(tables)).to_pylist()}
    assert list(found) == ["diversity", "overall"]
    assert found["diversity"]["first_won"] == 1
    assert found["overall"]["first_won"] == 1 / 4
    assert found["overall"]["disagreement"] == 1 / 2


def test_nothing_judged() -> None:
    empty = TABLES["judgements"].empty()
    assert win_rates(empty).schema == TABLES["win_rates"].schema
    assert win_rates(empty).num_rows == position_bias(empty).num_rows == 0
    assert position_bias(empty).schema == SCHEMA


def test_ties_without_a_request_show_no_bias() -> None:
    settled = both_orders([("tie", "tie")], model="")
    row = rate(settled)
    assert (row["win_rate"], row["n"], row["ties"], row["disagreement"]) == (0.5, 1, 2, None)
    assert position_bias(settled).num_rows == 0


@given(HOUSES)
@settings(max_examples=40)
def test_opponent_rate_is_the_complement(house: list[tuple[str, str]]) -> None:
    one, other = win_rates(both_orders(house)).to_pylist()
    assert (one["method"], other["method"]) == ("a", "b")
    same = ("n", "ties", "unparsed", "first_won", "disagreement")
    assert [one[name] for name in same] == [other[name] for name in same]
    assert (one["wins"], one["losses"]) == (other["losses"], other["wins"])
    if one["n"]:
        assert one["win_rate"] == pytest.approx(1 - other["win_rate"])
        assert one["low"] == pytest.approx(1 - other["high"])
        assert other["low"] <= other["win_rate"] <= other["high"]
    else:
        assert one["win_rate"] is other["win_rate"] is None
