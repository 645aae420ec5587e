"""Immediate end of this process on Ctrl-C or SIGTERM.

What a run writes is complete or absent at every moment, as after `kill -9`, so nothing has to be
unwound. A thread, which also runs while the main thread is in native code, prints a message,
releases what other processes would wait for, and ends the process.
"""

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SIGNALS = (signal.SIGINT, signal.SIGTERM)
_LONGEST_S = 4.0
_MOMENT_S = 0.2  # until the watching thread notices a signal
_CLEAR_LINE = b"\r\x1b[2K\x1b[?25h"  # of a progress bar, which also hides the cursor


class Ending:
    """The end of this process on a signal, with `message` as the last line of stderr."""

    def __init__(self, message: str) -> None:
        self.message = message
        self._tidy_up: Callable[[], None] = lambda: None
        self._began = threading.Event()
        self._once = threading.Lock()
        self._output, self._errors = os.dup(1), os.dup(2)

    def tidy_up_by(self, tidy_up: Callable[[], None]) -> None:
        """Register a function to call before the end."""
        self._tidy_up = tidy_up

    def hold(self) -> None:
        """Block once a signal was received, so that no further work begins."""
        if self._began.is_set():
            threading.Event().wait(2 * _LONGEST_S)

    def has_begun(self) -> bool:
        """Return whether a signal was received, or is in this moment."""
        return self._began.wait(_MOMENT_S)

    def watch(self, signals: socket.socket) -> None:
        """End the process at the first of `SIGNALS`; return once the sender is closed."""
        number = 0
        while number not in SIGNALS:
            if not (data := signals.recv(1)):
                return
            number = data[0]
        self._began.set()
        silence = os.open(os.devnull, os.O_WRONLY)
        for output in (1, 2):
            os.dup2(silence, output)
        threading.Timer(_LONGEST_S, self._end, (number,)).start()
        try:
            self._tidy_up()
        finally:  # also after an error; then the next run tidies up
            self._end(number)

    def close(self) -> None:
        """Close the duplicated outputs."""
        os.close(self._output)
        os.close(self._errors)

    def _end(self, number: int) -> None:
        with self._once:
            if os.isatty(self._output):
                os.write(self._output, _CLEAR_LINE)
            os.write(self._errors, f"{self.message}\n".encode())
            os._exit(128 + number)


@contextmanager
def ended_by_signals(message: str) -> Iterator[Ending]:
    """Let a signal end the process with status 130 (SIGINT) or 143 (SIGTERM), and a message."""
    ending = Ending(message)
    if threading.current_thread() is not threading.main_thread():  # has no signals
        yield ending
        ending.close()
        return
    received, sent = socket.socketpair()
    sent.setblocking(False)
    before = {number: signal.signal(number, lambda *_: None) for number in SIGNALS}
    woken = signal.set_wakeup_fd(sent.fileno(), warn_on_full_buffer=False)
    watcher = threading.Thread(target=ending.watch, args=(received,), daemon=True)
    watcher.start()
    # Dagster's own handler raises wherever the main thread is, also in a destructor
    hook = sys.unraisablehook
    sys.unraisablehook = lambda error: None if ending.has_begun() else hook(error)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)  # `cli.script` blocks them until here
    try:
        yield ending
    finally:
        ending.hold()
        sys.unraisablehook = hook
        signal.set_wakeup_fd(woken)
        for number, handler in before.items():
            signal.signal(number, handler)
        sent.close()
        watcher.join()
        received.close()
        ending.close()


NOTHING_CHANGED = "interrupted; nothing was changed or lost; the same command starts again"
REPLIES_KEPT = (
    "interrupted; nothing was lost, and finished replies of models are kept; the same command "
    "continues"
)
