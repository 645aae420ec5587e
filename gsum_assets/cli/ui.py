"""The Dagster UI in a session of its own, which is ended with all processes that it started."""

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from types import FrameType

import psutil

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_ORDERLY_S = 1.5  # so that all end within 5 s of a signal, on a busy machine, too
_POLL_S = 0.1


def serve(command: Sequence[str]) -> int:
    """Run a command until it ends or a signal is received; return its status, or 130 or 143.

    Signals are received even if a shell ignores Ctrl-C for its background jobs. All processes that
    the command started, directly or not, are ended.
    """
    received: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        received.append(number)

    before = {number: signal.signal(number, note) for number in _SIGNALS}
    process = subprocess.Popen(command, start_new_session=True)
    try:
        status = None
        while status is None and not received:
            try:
                status = process.wait(_POLL_S)
            except subprocess.TimeoutExpired:
                continue
        end_session(process)
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
