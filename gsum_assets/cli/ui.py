"""The Dagster UI in a session of its own, which is ended with all processes that it started."""

import logging
import os
import re
import signal
import subprocess
import time
import urllib.request
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from logging.handlers import RotatingFileHandler
from pathlib import Path
from threading import Thread
from types import FrameType

import click
import psutil

from gsum_assets.serve.access import is_loopback
from gsum_assets.serve.server import PortError, listening_at

DEFAULT_PORT = 3000
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_ORDERLY_S = 1.5  # so that all end within 5 s of a signal, on a busy machine, too
_POLL_S = 0.1


class UnprotectedError(ValueError):
    """An address that other machines reach, though the UI asks nobody for a login."""


def require_protection(host: str, is_protected: bool) -> None:
    """Raise `UnprotectedError` if other machines reach an address, and nothing protects the UI."""
    if not is_protected and not is_loopback(host):
        raise UnprotectedError(
            f"--host {host or '(empty)'}: the UI asks nobody for a login, so that everybody who "
            "reaches this address could start runs and read all documents; add --read-only, or "
            "--login-is-before-it if a proxy or a firewall admits known users alone"
        )


def choose_port(host: str, port: int | None) -> int:
    """Return a free port, by default 3000 or any other; raise `PortError` if `port` is in use."""
    if not port:
        with suppress(PortError):
            return choose_port(host, DEFAULT_PORT)
    with listening_at(host, port or 0) as bound:
        return bound.getsockname()[1]


def answers(address: str) -> bool:
    """Return whether the webserver answers at an address."""
    try:
        with urllib.request.urlopen(f"{address}/server_info", timeout=1):
            return True
    except OSError:
        return False


def serve(
    command: Sequence[str],
    on_line: Callable[[str], None] = click.echo,
    is_ready: Callable[[], bool] = lambda: True,
    on_ready: Callable[[], None] = lambda: None,
) -> int:
    """Run a command until it ends or a signal is received; return its status, or 130 or 143.

    Signals are received even if a shell ignores Ctrl-C for its background jobs. All processes that
    the command started, directly or not, are ended. `on_line` receives each line that they print;
    `on_ready` is called once, when `is_ready` first returns true.
    """
    received: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        received.append(number)

    before = {number: signal.signal(number, note) for number in _SIGNALS}
    process = subprocess.Popen(
        command,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    assert process.stdout
    output = process.stdout

    def pass_lines_on() -> None:
        for line in output:
            on_line(line.rstrip("\n"))

    lines = Thread(target=pass_lines_on, daemon=True)
    lines.start()
    is_waiting, status = True, None
    try:
        while status is None and not received:
            try:
                status = process.wait(_POLL_S)
            except subprocess.TimeoutExpired:
                if is_waiting and is_ready():
                    is_waiting = False
                    on_ready()
        end_session(process)
        lines.join(_ORDERLY_S)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return 128 + received[0] if received else status or 0


def end_session(process: subprocess.Popen) -> None:
    """End a session leader and all processes of its session, first by SIGTERM, then SIGKILL."""
    deadline = time.monotonic() + _ORDERLY_S
    known = _members(process.pid)
    for member in known:
        _send(member, signal.SIGTERM)
    while known and time.monotonic() < deadline:
        process.poll()  # reaps it once it has ended
        _, known = psutil.wait_procs(known, timeout=_POLL_S)
        known = [*known, *(m for m in _members(process.pid) if m not in known)]
    while members := {*known, *_members(process.pid)}:  # also those that were started meanwhile
        for member in members:
            _send(member, signal.SIGKILL)
        process.poll()
        _, known = psutil.wait_procs(list(members), timeout=_POLL_S)


def _members(leader: int) -> list[psutil.Process]:
    """Return the living processes of a session, and their children in other sessions."""
    members = set[psutil.Process]()
    for process in psutil.process_iter():
        try:
            if os.getsid(process.pid) == leader or process.pid == leader:
                members |= {process, *process.children(recursive=True)}
        except (psutil.Error, ProcessLookupError):
            continue
    living = []
    for process in members:
        with suppress(psutil.Error):
            if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
                living.append(process)
    return living


def _send(process: psutil.Process, number: int) -> None:
    try:
        process.send_signal(number)
    except psutil.Error:  # it has already ended
        return


_MAX_BYTES = 10_000_000  # of the file, and of each older one
_N_OLDER = 2
_N_LAST = 20
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_LEVEL = re.compile(r"^\S+ \S+ \S+ - \S+ - ([A-Z]+) - |^([A-Z]+): {2,}")  # Dagster, uvicorn
_SHOWN = ("ERROR", "CRITICAL")


class UiLog:
    """Lines of the processes of the UI in a file; that of an earlier start becomes `<path>.1`.

    `show` receives the lines of errors, each with the lines that follow it.
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
