"""The budget of a day, over all processes of a home."""

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gsum_resources.endpoint.budget import Amount, Budget, BudgetError
from gsum_resources.settings.schema import Settings
from gsum_resources.state.database import State

_NOON = datetime(2026, 3, 14, 12, tzinfo=UTC).timestamp()


def budget_of(state: Path, now: float = _NOON, zone: str = "UTC", **limits) -> Budget:
    settings = {"budget": limits, "automation": {"timezone": zone}}
    opened = State(str(state))
    return Budget(Settings.model_validate(settings), lambda: opened, lambda: now)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state.db"


def spend(budget: Budget, corpus: str = "board", calls: int = 1, tokens: int = 0, usd: float = 0):
    amount = Amount(calls, tokens, usd)
    with budget.batch(corpus, amount) as spending:
        spending.add(amount)


@pytest.mark.parametrize(
    ("limits", "amount"),
    [
        ({"calls": 10}, {"calls": 4}),
        ({"tokens": 1000}, {"tokens": 400}),
        ({"usd": 1}, {"usd": 0.4}),
    ],
)
def test_a_batch_that_exceeds_what_is_left_is_not_begun(state, limits, amount) -> None:
    spend(budget_of(state, **limits), **amount)
    spend(budget_of(state, **limits), "minutes", **amount)  # another process, another corpus
    with pytest.raises(BudgetError, match="over budget: corpus 'board' needs up to"):
        spend(budget_of(state, **limits), **amount)


def test_the_message_names_sum_rest_and_remedies(state: Path) -> None:
    budget = budget_of(state, zone="Europe/Berlin", usd=1.5)
    spend(budget, usd=1.25)
    with pytest.raises(BudgetError) as raised:
        spend(budget, calls=7, tokens=900, usd=0.5)
    assert str(raised.value) == (
        "over budget: corpus 'board' needs up to 7 calls, 900 tokens, USD 0.5000, but USD 0.2500 "
        "of 1.5 are left (usd in [budget] of gsum.toml) until 2026-03-15 00:00 Europe/Berlin; it "
        "waits until then, for a higher number there, or for `gsum run board --over-budget`"
    )


def test_a_corpus_has_limits_of_its_own(state: Path) -> None:
    budget = budget_of(state, calls=10, corpora={"board": {"calls": 3}})
    spend(budget, calls=3)
    spend(budget, "minutes", calls=7)
    with pytest.raises(BudgetError, match=r"0 calls of 3 .*\[budget.corpora.board\]"):
        spend(budget)


def test_what_was_spent_replaces_what_was_reserved(state: Path) -> None:
    budget = budget_of(state, tokens=1000)
    with budget.batch("board", Amount(1, 900)) as spending:
        with pytest.raises(BudgetError):  # reserved meanwhile
            spend(budget, tokens=200)
        spending.add(Amount(1, 100))
    spend(budget, tokens=900)


def test_a_batch_that_fails_costs_what_it_spent(state: Path) -> None:
    budget = budget_of(state, tokens=1000)

    def fail() -> None:
        with budget.batch("board", Amount(1, 900)) as spending:
            spending.add(Amount(1, 100))
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert budget.exceeded("board", Amount(1, 900)) == []
    assert len(budget.exceeded("board", Amount(1, 901))) == 1


def test_the_reservation_of_a_killed_process_is_released(state: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; from tests.endpoint.test_budget import *;"
        "b = budget_of(Path(sys.argv[1]), tokens=1000).batch('board', Amount(1, 900));"
        "b.__enter__(); os._exit(9)"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path.cwd())}
    subprocess.run([sys.executable, "-c", code, str(state)], env=environment, check=False)
    spend(budget_of(state, tokens=1000), tokens=1000)


def test_a_day_begins_at_the_midnight_of_the_time_zone(state: Path) -> None:
    late = datetime(2026, 3, 14, 22, 59, tzinfo=UTC).timestamp()
    spend(budget_of(state, late, "Europe/Berlin", calls=1))
    assert budget_of(state, late, "Europe/Berlin", calls=1).exceeded("board", Amount(1))
    spend(budget_of(state, late + 60, "Europe/Berlin", calls=1))


def test_a_corpus_may_exceed_the_budget_for_a_while(state: Path) -> None:
    budget = budget_of(state, calls=1)
    with budget.exceeding("board"):
        spend(budget_of(state, calls=1), calls=5)  # also in another process
        with pytest.raises(BudgetError):
            spend(budget, "minutes")
    with pytest.raises(BudgetError):
        spend(budget)


def test_without_limits_spending_is_counted_all_the_same(state: Path) -> None:
    spend(budget_of(state), calls=5)
    with pytest.raises(BudgetError):
        spend(budget_of(state, calls=5))
