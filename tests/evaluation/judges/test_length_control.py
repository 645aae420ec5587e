"""Win rates at equal length: a taste for length is removed, and nothing else is."""

import numpy as np
import pytest

from gsum_assets.evaluation.judges.win_rates import Valued, at_equal_length, win_rates
from tests.evaluation.judges.test_win_rates import both_orders

PAIR, OTHER = ("a", "b", "overall"), ("a", "c", "overall")


def questions(taste: float, better: float, longer: float, n: int = 400) -> list[Valued]:
    """Verdicts of a judge with a taste for length, on a method that is `better`, in logits."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(n):
        n_words, n_other = rng.normal(100 + longer, 30), rng.normal(100, 30)
        logit = better + taste * np.tanh((n_words - n_other) / 45)
        found.append(Valued(float(rng.random() < 1 / (1 + np.exp(-logit))), n_words, n_other))
    return found


def test_preference_for_longer_answers_alone_is_no_win() -> None:
    valued = questions(taste=3.0, better=0.0, longer=40.0)
    assert np.mean([v.value for v in valued]) > 0.7
    assert at_equal_length({PAIR: valued})[PAIR] == pytest.approx(0.5, abs=0.08)


def test_without_a_taste_for_length_the_rate_stays() -> None:
    valued = questions(taste=0.0, better=1.0, longer=40.0)
    rate = np.mean([v.value for v in valued])
    assert at_equal_length({PAIR: valued})[PAIR] == pytest.approx(rate, abs=0.06)


def test_pairs_share_the_taste_and_keep_their_rates() -> None:
    rates = at_equal_length(
        {PAIR: questions(3.0, 1.0, 0.0), OTHER: questions(3.0, -1.0, 60.0), ("d", "e", "o"): []}
    )
    assert rates.keys() == {PAIR, OTHER}
    assert rates[PAIR] == pytest.approx(1 / (1 + np.exp(-1)), abs=0.08)
    assert rates[OTHER] == pytest.approx(1 / (1 + np.exp(1)), abs=0.1)


def test_always_preferred_and_no_verdict() -> None:
    assert 0.5 < at_equal_length({PAIR: [Valued(1.0, 10, 10)]})[PAIR] < 1
    assert at_equal_length({PAIR: []}) == at_equal_length({}) == {}


def test_both_directions_of_a_pair_are_complements() -> None:
    house = [("win", "win"), ("win", "tie"), ("loss", "loss")]
    n_words = {(m, f"q{i}"): 100.0 + 20 * i * (m == "a") for i in range(3) for m in "ab"}
    one, other = win_rates(both_orders(house), n_words).to_pylist()
    assert one["at_equal_length"] == pytest.approx(1 - other["at_equal_length"])
    assert one["times_as_long"] == pytest.approx(1.2)
    assert other["times_as_long"] == pytest.approx(1 / 1.2)
    none, _ = win_rates(both_orders([("win", "unparsed")]), n_words).to_pylist()
    assert none["at_equal_length"] is none["times_as_long"] is None
