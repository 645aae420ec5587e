"""Progress of long work in memory: one line on stderr that is overwritten, in the command's words.

A plain line with a carriage return is shown alike by terminals and notebooks, and needs no widget.
"""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from gsum_resources.messages.progress import Stage, shown_by

AFTER_S = 2.0
"""Quicker work shows nothing, seconds."""

_EVERY_S = 0.5
_WIDTH = 110
_OF_NOTEBOOKS = "ipykernel"  # package of the stream that stands in for stderr there


class Progress:
    """Progress of the steps of a method, shown while `working` takes more than `after_s` seconds.

    Without a `stream`, it is shown on stderr, if that is a terminal or a notebook.
    """

    def __init__(
        self, is_wanted: bool = True, stream: TextIO | None = None, after_s: float = AFTER_S
    ) -> None:
        self._is_wanted, self._stream, self._after_s = is_wanted, stream, after_s
        self._stage: Stage | None = None  # None: no work is shown now
        self._n_ended = self._about = 0

    @contextmanager
    def working(self, about: int = 0) -> Iterator[None]:
        """Show the steps of this context, `about` so many; contexts within it change nothing."""
        stream = self._stream or sys.stderr
        is_shown = self._stream is not None or is_interactive(stream)
        if self._stage is not None or not (self._is_wanted and is_shown):
            yield
            return
        self._n_ended, self._about = 0, about
        began = time.monotonic()
        self._stage = Stage("preparing", began)
        ended = threading.Event()
        painter = threading.Thread(target=self._paint, args=(stream, ended, began), daemon=True)
        painter.start()
        try:
            with shown_by(self._advance):
                yield
        finally:
            ended.set()
            painter.join()
            self._stage = None

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Show that a step begins; at its end the step around it continues."""
        around = self._stage
        if around is None:
            yield
            return
        self._stage = Stage(name, time.monotonic(), self._position())
        try:
            yield
        finally:
            self._n_ended += 1
            around.position = self._position() if around.position else ""
            self._stage = around

    def _position(self) -> str:
        """Return the number of the current step: a step ends after those whose tables it reads."""
        number = self._n_ended + 1
        return f"step {number} of about {max(number, self._about)}" if self._about else ""

    def _advance(self, label: str, done: int, total: int, detail: str = "") -> None:
        stage, now = self._stage, time.monotonic()
        if stage is None:
            return
        if stage.label != label:
            stage = self._stage = Stage(label, now, stage.position)
        stage.advance(done, total, now, detail)

    def _paint(self, stream: TextIO, ended: threading.Event, began: float) -> None:
        """Overwrite the line until the work has ended, then remove it."""
        width = 0
        if ended.wait(self._after_s):
            return
        while True:
            stage, now = self._stage, time.monotonic()
            line = f"{now - began:5.0f} s  {stage.line(now)}" if stage else ""
            line = line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…"
            stream.write(f"\r{line:<{width}}")
            stream.flush()
            width = len(line)
            if ended.wait(_EVERY_S):
                break
        stream.write(f"\r{'':<{width}}\r")
        stream.flush()


def is_interactive(stream: TextIO) -> bool:
    """Return whether somebody reads a stream now: a terminal or a notebook."""
    return type(stream).__module__.startswith(_OF_NOTEBOOKS) or stream.isatty()
