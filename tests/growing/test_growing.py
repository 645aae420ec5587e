"""A short run of the state machine; `python -m tests.growing --minutes 10` is a longer one."""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.growing.choices import FAMILIES, QUESTIONS
from tests.growing.folders import Entry
from tests.growing.home import MisfitError
from tests.growing.killed import killed_at
from tests.growing.machine import BY_HAND, Growing
from tests.tales import tale

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Without daemon and `gsum run`: their cost is Dagster's, and other tests start them."""
    monkeypatch.setenv("DAGSTER_HOME", "")
    monkeypatch.setattr(Growing, "ways", BY_HAND)
    yield
    Growing.leave()


def test_a_few_random_changes() -> None:
    how = settings(
        max_examples=2,
        stateful_step_count=3,
        derandomize=True,
        database=None,
        phases=[Phase.generate],  # shrinking takes minutes; the long run prints the steps
        suppress_health_check=[*HealthCheck],  # type: ignore[arg-type]
    )
    run_state_machine_as_test(Growing, settings=how)


def test_every_family_follows_an_edit_a_move_and_a_kill() -> None:
    machine = Growing()
    machine.begin(left="bm25", right="bm25", questions=QUESTIONS[1])
    left, right = machine.folders.values()
    machine._set_methods("left", [methods[0] for methods in FAMILIES.values()])
    left.remove(Entry("row", "tale-2"))
    machine._bring_up_to_date("left", "by hand")
    left.put(Entry("txt", "tale-0"), tale(3, 3))
    right.put(Entry("md", "tale-9"), machine._remove("left", Entry("md", "tale-1")))
    left.put(Entry("md", "tale-4"), tale(4, 3))
    died = killed_at(30, True, lambda: machine._bring_up_to_date("left", "by hand"))
    assert died
    machine._bring_up_to_date("left", "by hand")
    machine._compare("left")


def test_borders_by_content_and_communities_follow_edits() -> None:
    machine = Growing()
    machine.begin(left="graphrag-c0", right="bm25", questions=QUESTIONS[0], borders="content")
    left = machine.folders["left"]
    text = tale(5, 6)
    left.put(Entry("txt", "tale-5"), text)
    machine._bring_up_to_date("left", "by hand")
    half = text.index(". ", len(text) // 2) + 1
    left.put(Entry("txt", "tale-5"), f"{text[:half]} Marit Olsen paid Dov Hallam.{text[half:]}")
    machine._bring_up_to_date("left", "by hand")
    machine._remove("left", Entry("row", "tale-2"))
    machine._bring_up_to_date("left", "by hand")
    machine._compare("left")


def test_document_without_effect_on_answers_is_counted() -> None:
    machine = Growing()
    machine.begin(left="bm25", right="bm25", questions=QUESTIONS[1][1:])  # all on one document
    machine._bring_up_to_date("left", "by hand")
    machine.folders["left"].put(Entry("txt", "tale-3"), tale(3, 2))
    machine._bring_up_to_date("left", "by hand")
    machine._compare("left")


def test_differences_are_found() -> None:
    machine = Growing()
    machine.begin(left="bm25", right="bm25", questions=QUESTIONS[1])
    machine._bring_up_to_date("left", "by hand")
    (machine.folders["left"].path / "tale-0.txt").write_text("It was not looked at.")
    with pytest.raises(MisfitError, match="other than made from nothing: source_documents, docum"):
        machine._compare("left")
