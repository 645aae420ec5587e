"""A short part of the state machine; `python -m tests.growing --minutes 10` goes on at random."""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.growing.choices import FAMILIES, QUESTIONS
from tests.growing.folders import Entry, tale
from tests.growing.home import MisfitError
from tests.growing.killed import killed_at
from tests.growing.machine import BY_HAND, Growing
from tests.growing.quick import without_what_no_table_shows


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Without daemon and `gsum run`: their cost is Dagster's, and other tests start them."""
    monkeypatch.setenv("DAGSTER_HOME", "")
    monkeypatch.setattr(Growing, "ways", BY_HAND)
    with without_what_no_table_shows():
        yield
    Growing.leave()


def begun(method: str) -> Growing:
    """A machine whose two corpora are indexed."""
    machine = Growing()
    machine.begin(left=method, right="bm25", questions=QUESTIONS[1])
    machine._reindex("by hand")
    return machine


def test_a_few_random_changes() -> None:
    how = settings(
        max_examples=4,
        stateful_step_count=6,
        derandomize=True,
        database=None,
        phases=[Phase.generate],  # shrinking takes minutes; the long run tells the steps
        suppress_health_check=[*HealthCheck],  # type: ignore[arg-type]
    )
    run_state_machine_as_test(Growing, settings=how)


def test_every_family_follows_an_edit_a_move_and_a_kill() -> None:
    machine = begun("passage_walk")
    for variants in FAMILIES.values():
        machine._ask("left", variants[0])
    machine._reindex("by hand")
    machine.folders["left"].put(Entry("txt", "tale-0"), tale(3, 3))
    machine.folders["right"].put(
        Entry("md", "tale-9"), machine._remove("left", Entry("md", "tale-1"))
    )
    died = killed_at(30, True, lambda: machine._bring_up_to_date("left", "by hand"))
    assert died
    machine._reindex("by hand")


def test_what_differs_is_found() -> None:
    machine = begun("bm25")
    machine.anew.pipeline(machine.chosen)
    machine._known.clear()
    machine.asked["left"].add("another state")
    rows = machine.grown.home.corpora / "left" / "tale-0.txt"
    rows.write_text("It was not looked at.")
    with pytest.raises(MisfitError, match="other than made from nothing: source_documents"):
        machine._compare("left")
