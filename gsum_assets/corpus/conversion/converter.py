"""Conversion of files in a separate process, which may crash or hang without harm."""

import json
import os
import subprocess
import sys
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from gsum_assets.corpus.conversion.formats import ConversionError, Converted, Report

SILENCE_S = 60.0
"""Seconds without a finished page after which the conversion of a file fails."""

# -P: do not import a file email.py of the current folder as the module of that name
_COMMAND = (sys.executable, "-P", "-m", "gsum_assets.corpus.conversion.worker")
_PACKAGES = str(Path(__file__).parents[3])  # so that the worker is of this installation


class CrashError(ConversionError):
    """Error for a file on which the process was killed, crashed or hung: it may succeed later."""


class Converter:
    """A process that converts one file after another, restarted after a crash or timeout.

    It ends with its context. `on_page` is called with the number of pages done, and of all pages of
    the file; after `silence_s` seconds without a finished page the conversion fails.
    """

    def __init__(
        self,
        on_page: Report = lambda done, total: None,
        silence_s: float = SILENCE_S,
        command: tuple[str, ...] = _COMMAND,
    ) -> None:
        self._on_page = on_page
        self._silence_s = silence_s
        self._command = command
        self._worker: tuple[subprocess.Popen[bytes], Connection] | None = None

    def __enter__(self) -> "Converter":
        return self

    def __exit__(self, *error: object) -> None:
        self._end()

    def convert(self, suffix: str, content: bytes) -> Converted:
        """Return the text of a file; raise `ConversionError`, or `CrashError` after a crash."""
        _, link = self._worker = self._worker or self._start()
        try:
            link.send_bytes(suffix.encode())
            link.send_bytes(content)
            while "done" in (message := self._received(link)):
                self._on_page(message["done"], message["total"])
        except BaseException as error:
            self._end()
            if isinstance(error, ConnectionError | EOFError):
                raise CrashError(
                    "the converter crashed on it; save it again in another program, or remove it"
                ) from error
            raise
        if problem := message.get("problem"):
            raise ConversionError(problem)
        message |= {name: tuple(message[name]) for name in ("page_starts", "labels")}
        return Converted(**message)

    def _received(self, link: Connection) -> dict[str, Any]:
        if not link.poll(self._silence_s):
            raise CrashError(
                f"no page was converted within {self._silence_s:.0f} s; split it, or save it "
                "again in another program"
            )
        return json.loads(link.recv_bytes())

    def _start(self) -> tuple[subprocess.Popen[bytes], Connection]:
        paths = [_PACKAGES, *filter(None, [os.environ.get("PYTHONPATH")])]
        link, of_worker = Pipe()
        with of_worker:
            process = subprocess.Popen(
                [*self._command, str(of_worker.fileno())],
                pass_fds=[of_worker.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            )
        return process, link

    def _end(self) -> None:
        if self._worker is not None:
            process, link = self._worker
            self._worker = None
            link.close()
            process.kill()
            process.wait()
