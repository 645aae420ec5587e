"""The log of `gsum ui`: all lines in a file, and errors in the terminal."""

import logging
import re
from collections import deque
from collections.abc import Callable
from logging.handlers import RotatingFileHandler
from pathlib import Path

import click

_MAX_BYTES = 10_000_000  # of the file, and of each older one
_N_OLDER = 2
_N_LAST = 20
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_LEVEL = re.compile(r"^\S+ \S+ \S+ - \S+ - ([A-Z]+) - |^([A-Z]+): {2,}")  # Dagster, uvicorn
_SHOWN = ("ERROR", "CRITICAL")


class UiLog:
    """Lines of the processes of the UI.

    Parameters
    ----------
    path : the file; that of an earlier start becomes `<path>.1`.
    show : called with the lines of errors, each with the lines that follow it.
    """

    def __init__(
        self, path: Path, show: Callable[[str], None] = lambda line: click.echo(line, err=True)
    ) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = RotatingFileHandler(path, maxBytes=_MAX_BYTES, backupCount=_N_OLDER)
        if path.stat().st_size:
            self._file.doRollover()
        self._show = show
        self._is_error = False
        self._last = deque[str](maxlen=_N_LAST)

    def write(self, line: str) -> None:
        """Write a line to the file, and show it if it belongs to an error."""
        line = _COLOUR.sub("", line)
        self._file.emit(logging.makeLogRecord({"msg": line}))
        self._last.append(line)
        if level := _LEVEL.match(line):
            self._is_error = (level[1] or level[2]) in _SHOWN
        elif line.startswith("Traceback "):
            self._is_error = True
        if self._is_error:
            self._show(line)

    def show_last(self) -> None:
        """Show the last lines, for a process that ended by itself."""
        for line in self._last:
            self._show(line)
