"""How far work has come, as a person sees it."""

import threading
import time

import pytest

from gsum_assets.cli.terminal import Console
from gsum_assets.registry.declared import STEPS
from gsum_resources.messages import progress
from gsum_resources.messages.progress import Stage, duration, reporter


def test_stage_states_amount_rate_and_time_left() -> None:
    stage = Stage("gor/model: epochs", began=0.0, position="step 4 of about 13")
    assert stage.line(20.0) == "step 4 of about 13, still at gor/model: epochs, 20 s"
    stage.advance(10, 400, now=1.0)
    stage.advance(110, 400, now=11.0)
    said = "110 of 400, 10.0 a second, about 29 s left"
    assert stage.line(11.0) == f"step 4 of about 13, gor/model: epochs: {said}"
    stage.advance(130, 400, now=51.0, detail="$0.12 so far")
    assert stage.amount(51.0).endswith("left, $0.12 so far")
    slow = Stage("answers", began=0.0)
    slow.advance(2, 4, now=10.0)
    assert slow.amount(10.0) == "2 of 4, 5.0 s each, about 10 s left"
    slow.advance(4, 4, now=20.0)
    assert slow.amount(60.0) == "4 of 4, 5.0 s each, finished 40 s ago"


def test_log_has_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, lines = iter([0.0, 1.0, 5.0, 11.0, 12.0, 31.0]), list[str]()
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    report = reporter("answers", lines.append)
    for done in (0, 10, 20, 21, 100):
        report(done, 100, "9 tokens a second")
    assert lines == [
        "answers: 20 of 100, 1.7 a second, about 48 s left, 9 tokens a second",
        "answers: 100 of 100, 3.5 a second, 9 tokens a second",
    ]


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.2, "0 s"), (59.4, "59 s"), (200, "3 min 20 s"), (7500, "2 h 5 min")]
)
def test_durations_are_short(seconds: float, said: str) -> None:
    assert duration(seconds) == said


def test_piped_output_gets_plain_lines_periodically(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    with Console(every_s=0.2) as console:
        console.begins([step for step in STEPS if step.group == "corpus"][:6])
        console.step("documents")
        console.step("chunks")
        time.sleep(0.5)
        report = reporter("answers", print)
        counting = threading.Thread(target=report, args=(3, 9))  # as models do
        counting.start()
        counting.join()
        time.sleep(0.5)
        console.waits("run 1f3a5c7e of the daemon: gor/model, 3 of 8 buckets")
    lines = capsys.readouterr().out.splitlines()
    assert any("… step 2 of about 7, still at chunks, " in line for line in lines)
    assert any("… step 2 of about 7, answers: 3 of 9" in line for line in lines)
    assert lines[-1].endswith("waiting for run 1f3a5c7e of the daemon: gor/model, 3 of 8 buckets")
    assert all(character.isprintable() for line in lines for character in line)
    assert len(lines) == len(set(lines))
