"""`gsum run` next to a real daemon; `python -m tests.daemon_trials --times 50` repeats it."""

from pathlib import Path

import pytest

from tests.daemon_trials import busy_home, trials

pytestmark = pytest.mark.slow


def test_each_run_completes_everything_it_was_started_for(tmp_path: Path) -> None:
    with busy_home(tmp_path) as house:
        done = list(trials(house, 1, longest_pause_s=3.0))
    assert [trial.failures for trial in done] == [[]], "\n".join(t.said for t in done)
