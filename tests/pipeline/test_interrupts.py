"""Ctrl-C and SIGTERM end `gsum run` at any moment, with one line, and the next run continues."""

import random
import signal
import subprocess
import time
from pathlib import Path

import dagster as dg
import pytest

from gsum_assets.cli.interrupts import NOTHING_CHANGED, REPLIES_KEPT
from tests.conftest import CORPUS
from tests.pipeline.homes import furnish, house_at
from tests.pipeline.served_homes import gsum, served_by
from tests.servers.scripted import scripted_process

pytestmark = pytest.mark.slow

LINE = f"interrupted; finished tables are kept; `gsum run {CORPUS}` continues\n"
ENDS = (dg.DagsterRunStatus.CANCELED, dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE)


def receives_signals(pid: int) -> bool:
    """Whether the interpreter got as far as gsum's own code: SIGTERM does not end it any more."""
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    masks = dict(line.split(":\t", 1) for line in status if line.startswith("Sig"))
    return any(int(masks[name], 16) >> (signal.SIGTERM - 1) & 1 for name in ("SigBlk", "SigCgt"))


def test_interrupt_ends_a_run_at_any_point(tmp_path: Path) -> None:
    """During imports, while writing tables, and with requests in flight."""
    chance = random.Random(3)
    with (
        scripted_process(tmp_path / "asked.jsonl", latency_s=1.0) as server,
        house_at(tmp_path / "home") as house,
    ):
        furnish(house)
        served_by(house, server, {"timeout_s": 120})
        command = ("run", CORPUS, "--methods", "dense")
        for number, at in ((signal.SIGINT, 0.0), (signal.SIGINT, 3.0), (signal.SIGTERM, 5.0)):
            process = gsum(house.home.root, *command, stderr=subprocess.PIPE)
            while not receives_signals(process.pid):
                time.sleep(0.01)
            time.sleep(at + chance.uniform(0, 1.5))
            process.send_signal(number)
            output, errors = process.communicate(timeout=60)
            assert (process.returncode, errors) == (128 + number, LINE), output + errors
            assert "next:" not in output
            with house.instance() as instance:
                unfinished = [r for r in instance.get_runs() if r.status not in ENDS]
                held = instance.event_log_storage.get_concurrency_run_ids()
            assert (unfinished, held) == ([], set())
        process = gsum(house.home.root, *command, stderr=subprocess.PIPE)
        output, _ = process.communicate(timeout=300)
        assert process.returncode == 0, output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("ask", CORPUS, "Who?"), REPLIES_KEPT),
        (("forget", CORPUS, "tale"), NOTHING_CHANGED),
    ],
)
def test_interrupt_of_other_commands_is_one_sentence(
    tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    process = gsum(tmp_path, *arguments, stderr=subprocess.PIPE)
    while not receives_signals(process.pid):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, output, errors) == (130, "", f"{message}\n")
