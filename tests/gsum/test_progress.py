"""`gsum.run` shows the progress of long work where somebody reads it, and nothing else."""

import io
import time
from collections.abc import Sequence

import numpy as np
import pytest

import gsum
from gsum import progress, runs
from gsum.progress import Progress, is_interactive
from gsum_resources.messages.progress import reporter
from tests.models import FirstWords, HashEmbedder

TEXTS = {"ferry": "The ferry broke its pump in March.", "mill": "The mill was built in 1846."}
SLOW_S = 0.3


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class SlowEmbedder(HashEmbedder):
    def embed(self, texts: Sequence[str]) -> np.ndarray:
        time.sleep(SLOW_S)
        return super().embed(texts)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_EVERY_S", 0.02)


def shown(stream: io.StringIO) -> list[str]:
    """Return the lines that overwrote one another."""
    return [line.strip() for line in stream.getvalue().split("\r") if line.strip()]


def test_a_long_step_is_shown_with_its_number_and_removed_in_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(runs, "Progress", lambda is_wanted: Progress(is_wanted, after_s=0.05))
    models = {"language_model": FirstWords(), "embedding_model": SlowEmbedder()}
    gsum.run("dense", TEXTS, ["What broke?"], models=models)
    assert any("of about 8" in line and "chunk_embeddings" in line for line in shown(stream))
    assert stream.getvalue().endswith(" \r")
    n_before = len(stream.getvalue())
    gsum.run("dense", TEXTS, ["What broke?"], models=models, progress=False)
    assert len(stream.getvalue()) == n_before


def test_quick_work_and_a_file_show_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, file = Terminal(), io.StringIO()
    for stream, after_s in ((terminal, progress.AFTER_S), (file, 0.0)):
        monkeypatch.setattr("sys.stderr", stream)
        shows = Progress(after_s=after_s)
        with shows.working(), shows.step("chunks"):
            time.sleep(0.05)
        assert stream.getvalue() == ""


def wait_for(stream: io.StringIO, text: str) -> None:
    """Wait until a line has the text; on a busy machine it is written late."""
    deadline = time.monotonic() + 20
    while not any(text in line for line in shown(stream)):
        assert time.monotonic() < deadline, shown(stream)
        time.sleep(0.02)


def test_counts_are_shown_and_the_step_around_continues() -> None:
    stream = io.StringIO()
    shows = Progress(stream=stream, after_s=0.0)
    with shows.working(about=2), shows.step("summaries"):
        with shows.working(about=9), shows.step("chunks"):
            report = reporter("chunks: embedding_model", print)
            report(30, 400)
            wait_for(stream, "step 1 of about 2, chunks: embedding_model: 30 of 400")
        wait_for(stream, "step 2 of about 2, still at summaries, 0 s")


def test_an_error_ends_it() -> None:
    shows = Progress(stream=io.StringIO(), after_s=0.0)
    with pytest.raises(ValueError, match="bad"), shows.working(), shows.step("chunks"):
        raise ValueError("bad")
    with shows.working(), shows.step("chunks"):
        pass


def test_a_notebook_is_interactive() -> None:
    stream = type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})()
    assert is_interactive(stream)
    assert not is_interactive(io.StringIO())
