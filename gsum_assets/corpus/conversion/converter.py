"""Conversion of files in a separate process, which may crash or hang without harm."""

import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path

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

    Use as a context manager: the process ends with it.

    Parameters `on_page`: called with the number of pages done, and of all pages of the file;
    `silence_s`: seconds without a finished page after which the conversion of a file fails.
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
        self._process: subprocess.Popen[bytes] | None = None
        self._unread = b""

    def __enter__(self) -> "Converter":
        return self

    def __exit__(self, *error: object) -> None:
        self._end()

    def convert(self, suffix: str, content: bytes) -> Converted:
        """Return the text of a file with this extension.

        Raises `ConversionError` if it cannot be converted, `CrashError` if the process crashed
        or hung.
        """
        process = self._process or self._start()
        try:
            header = json.dumps({"suffix": suffix, "size": len(content)}).encode()
            assert process.stdin is not None
            process.stdin.write(header + b"\n" + content)
            process.stdin.flush()
            message = json.loads(self._line(process))
            while "done" in message:
                self._on_page(message["done"], message["total"])
                message = json.loads(self._line(process))
        except BaseException as error:
            self._end()
            if isinstance(error, BrokenPipeError | EOFError):
                raise CrashError(
                    "the converter crashed on it; save it again in another program, or remove it"
                ) from error
            raise
        if problem := message.get("problem"):
            raise ConversionError(problem)
        starts, labels = tuple(message["page_starts"]), tuple(message["labels"])
        return Converted(message["title"], message["text"], starts, labels, message["left_out"])

    def _line(self, process: subprocess.Popen[bytes]) -> bytes:
        assert process.stdout is not None
        last = time.monotonic() + self._silence_s
        received = [self._unread]
        while b"\n" not in received[-1]:
            left = max(0.0, last - time.monotonic())
            if not select.select([process.stdout], [], [], left)[0]:
                raise CrashError(
                    f"no page was converted within {self._silence_s:.0f} s; split it, or save it "
                    "again in another program"
                )
            block = os.read(process.stdout.fileno(), 1 << 20)
            if not block:
                raise EOFError
            received.append(block)
        line, _, self._unread = b"".join(received).partition(b"\n")
        return line

    def _start(self) -> subprocess.Popen[bytes]:
        paths = [_PACKAGES, *filter(None, [os.environ.get("PYTHONPATH")])]
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        )
        return self._process

    def _end(self) -> None:
        process, self._process, self._unread = self._process, None, b""
        if process is not None:
            process.kill()
            process.communicate()
