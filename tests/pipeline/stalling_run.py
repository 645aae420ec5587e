"""A refresh that stalls once, in the middle of a step, and is killed there.

Run as `python -m tests.pipeline.stalling_run STEP METHOD...`. Everything that a model is given is
logged in the home. Where the step is reached for the first time, a file says so and the process
waits to be killed; the same command again runs through.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import dagster as dg
import numpy as np
import sqlalchemy as sa

from gsum_assets.gor import train
from gsum_assets.gor.losses import Losses
from gsum_assets.runner.run import refresh
from gsum_resources.embedding import memoized
from gsum_resources.protocols.models import Reply, Request
from gsum_resources.settings.home import Home
from gsum_resources.state.database import REPLIES, state_of
from tests.conftest import CORPUS, House, keep_no_step_logs, tables_only
from tests.models import FirstWords, HashEmbedder

BATCH = 2  # texts
N_ANSWERED = 3  # calls of the language model before the kill, in the midst of a `complete`
STALLED_EPOCH = 3  # of the step "training"; two are finished and saved by then
PATIENCE_S = 900.0  # against hanging alone: a slow machine is no failure
_ROOT = Path(__file__).parents[2]


def kill_in(home: Path, step: str, methods: Sequence[str], under: Sequence[str] = ()) -> None:
    """Start the command and end it with SIGKILL once it is in the midst of a step.

    Parameters
    ----------
    under : a command that executes the one that follows it.
    """
    said = home / f"stderr-{step}"
    with said.open("w") as stderr:
        process = subprocess.Popen(
            [*under, *_command(step, methods)], cwd=_ROOT, env=_environment(), stderr=stderr
        )
    try:
        started = time.monotonic()
        while not stalled(home, step).exists():
            assert process.poll() is None, said.read_text()
            assert time.monotonic() - started < PATIENCE_S, f"{step} was not reached"
            time.sleep(0.05)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert process.returncode == -signal.SIGKILL


def run_again(step: str, methods: Sequence[str]) -> None:
    """Run the command that was killed, to its end."""
    subprocess.run(
        _command(step, methods), cwd=_ROOT, env=_environment(), check=True, timeout=PATIENCE_S
    )


def _command(step: str, methods: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "tests.pipeline.stalling_run", step, *methods]


def _environment() -> dict[str, str]:
    """Equal hashes of equal passages in every process, for the log."""
    return {**os.environ, "PYTHONHASHSEED": "0"}


def stalled(home: Path, step: str) -> Path:
    """The file that says that a step was reached."""
    return home / f"stalled-{step}"


class StallingEmbedder(HashEmbedder):
    """Logs the texts of each batch, and calls `stall` before the second."""

    def __init__(self, log: Path, stall: Callable[[], None]) -> None:
        super().__init__()
        self._log, self._stall = log, stall

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        if self.n_embedded:
            self._stall()
        append(self._log, texts)
        return super().embed(texts)


class StallingModel(FirstWords):
    """Logs each question that it answers, and calls `stall` before the fourth."""

    def __init__(self, log: Path, stall: Callable[[], None]) -> None:
        super().__init__()
        self._log, self._stall = log, stall

    def _one(self, request: Request) -> Reply:
        if self.n_requests > N_ANSWERED:
            self._stall()
        append(self._log, [f"{request.question} {hash(request.passages)}"])
        return super()._one(request)


def append(log: Path, texts: Sequence[str]) -> None:
    """A line a text."""
    with log.open("a") as file:
        file.writelines(f"{text!r}\n" for text in texts)


def stall_before_renaming(table: str, stall: Callable[[], None]) -> None:
    """Call `stall` when the second file of a table is written and not yet renamed."""
    rename, written = os.replace, []

    def replace(source: str | Path, target: str | Path) -> None:
        if f"/{table}/" in str(target):
            written.append(target)
            if len(written) > 1:
                stall()
        rename(source, target)

    os.replace = replace  # type: ignore[assignment]


def stall_in_epoch(number: int, stall: Callable[[], None]) -> None:
    """Call `stall` in an epoch of a training whose graphs are one batch, before its only step."""
    losses, epochs = train.losses, []

    def counted(*arguments: Any) -> Losses:
        epochs.append(arguments)
        if len(epochs) == number:
            stall()
        return losses(*arguments)

    train.losses = counted


def n_stored(home: Home) -> int:
    """The number of replies in the database."""
    with state_of(home.open_store()).reading() as connection:
        return connection.execute(sa.select(sa.func.count()).select_from(REPLIES)).scalar_one()


def main(step: str, methods: list[str]) -> None:
    """Refresh the home's corpus, stalling in `step` unless an earlier process did."""
    home = Home.from_environment()
    memoized._BATCH = BATCH
    train.SECONDS_BETWEEN_STATES = 0

    def stall_in(name: str) -> Callable[[], None]:
        def stall() -> None:
            file = stalled(home.root, name)
            if name == step and not file.exists():
                file.touch()
                time.sleep(600)

        return stall

    stall_before_renaming("chunks", stall_in("chunks"))
    stall_in_epoch(STALLED_EPOCH, stall_in("training"))
    embedder = StallingEmbedder(home.root / "embedded.log", stall_in("chunk_embeddings"))
    stall_answers = stall_in("summaries")

    def stall_once_stored() -> None:
        """A thread stores the replies: on a busy machine it may not have had its turn yet."""
        while n_stored(home) < N_ANSWERED:
            time.sleep(0.01)
        stall_answers()

    model = StallingModel(home.root / "asked.log", stall_once_stored)
    keep_no_step_logs(home)
    with tables_only(), dg.DagsterInstance.from_config(str(home.dagster)) as instance:
        report = refresh(House(home, embedder, model).pipeline(), instance, CORPUS, methods)
    sys.exit("\n".join(report.errors) or 0)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
