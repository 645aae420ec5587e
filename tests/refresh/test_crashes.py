"""A file on which a converter crashed is tried again twice, and then when it changes."""

import pytest

from gsum_assets.corpus.conversion.converter import Converter, CrashError
from gsum_assets.corpus.conversion.formats import ConversionError, Converted
from tests.conftest import House
from tests.refresh.steps import look, refreshed, staleness


class Scripted:
    """Outcomes of conversions, one after the other; the last one stays."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *outcomes: Exception | str) -> None:
        self.outcomes, self.n = list(outcomes), 0
        monkeypatch.setattr(Converter, "convert", lambda *_: self.next())

    def next(self) -> Converted:
        self.n += 1
        outcome = self.outcomes.pop(0) if len(self.outcomes) > 1 else self.outcomes[0]
        if isinstance(outcome, Exception):
            raise outcome
        return Converted("", outcome)


def run(house: House) -> bool:
    """Run the first step if it is due; return whether it was."""
    look(house)
    look(house)  # a run observes the folder twice
    due = [declared.name for declared in staleness(house).due() if declared.name == "documents"]
    for name in due:
        refreshed(house, name, ())
    return bool(due)


def crashes(house: House) -> list[int]:
    return [r["n_crashes"] for r in house.table("rejected_documents").to_pylist()]


CRASH, BROKEN = CrashError("killed"), ConversionError("broken")


def test_a_crash_is_tried_twice_more_and_again_after_a_change(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    (house.folder / "report.pdf").write_bytes(b"one")
    script = Scripted(monkeypatch, CRASH)
    assert [(run(house), crashes(house)) for _ in range(5)] == [
        (True, [1]),
        (True, [2]),
        (True, [3]),
        (False, [3]),
        (False, [3]),
    ]
    assert script.n == 3
    (house.folder / "report.pdf").write_bytes(b"two")
    assert run(house)
    assert crashes(house) == [1]


@pytest.mark.parametrize(("second", "is_read"), [("The text.", True), (BROKEN, False)])
def test_after_another_outcome_nothing_is_tried(
    house: House, monkeypatch: pytest.MonkeyPatch, second: Exception | str, is_read: bool
) -> None:
    look(house)
    before = house.table("source_documents").to_pylist()
    (house.folder / "report.pdf").write_bytes(b"one")
    script = Scripted(monkeypatch, CRASH, second)
    assert [run(house) for _ in range(4)] == [True, True, False, False]
    assert script.n == 2
    assert crashes(house) == ([] if is_read else [0])
    assert ("report.pdf" in house.table("documents")["document_id"].to_pylist()) == is_read
    (house.folder / "report.pdf").unlink()
    run(house)
    names = ("document_id", "content_hash")  # as if it had never crashed
    after = house.table("source_documents").to_pylist()
    assert [[r[n] for n in names] for r in after] == [[r[n] for n in names] for r in before]
