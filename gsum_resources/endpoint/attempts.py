"""What was sent to a server lately, on disk: a limit holds across processes and `kill -9`."""

import fcntl
import os
import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

_RECORD = struct.Struct("<dqq")
_COMPACT_ABOVE = 1 << 20  # bytes


class Attempt(NamedTuple):
    """One request sent, or what is added to one when its usage is known.

    Attributes
    ----------
    time : on the machine's monotonic clock, which all its processes share, seconds.
    requests, tokens : how much of the limits it takes.
    """

    time: float
    requests: int
    tokens: int


class AttemptFile:
    """Attempts of all processes in one append-only file of fixed-size records.

    A record is written before its request is sent, by a system call that survives `kill -9`.
    Whoever reads and writes holds the file's lock, for microseconds; the system lets go of a dead
    process's lock. A torn record at the end, left by a power failure, is dropped.

    Parameters
    ----------
    path : made with its folder when first used.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = -1
        self._offset = 0

    @contextmanager
    def locked(self) -> Iterator[bool]:
        """No other process reads or writes meanwhile.

        Gives whether `read_new` begins anew, at the start of a file that was not open before.
        """
        anew = self._lock()
        try:
            yield anew
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def read_new(self) -> list[Attempt]:
        """What other processes added since the last reading; at first, all there is."""
        size = os.fstat(self._file).st_size
        whole = size - size % _RECORD.size
        if size != whole:
            os.ftruncate(self._file, whole)
        content = os.pread(self._file, whole - self._offset, self._offset)
        self._offset = whole
        return [Attempt(*fields) for fields in _RECORD.iter_unpack(content)]

    def append(self, attempt: Attempt) -> None:
        """Add a record; `read_new` of this process does not give it again."""
        self._offset += os.write(self._file, _RECORD.pack(*attempt))

    def compact(self, live: Iterable[Attempt]) -> None:
        """Replace a file that has grown large by one of `live` alone."""
        if self._offset < _COMPACT_ABOVE:
            return
        beside = self._path.with_suffix(".part")
        beside.write_bytes(b"".join(_RECORD.pack(*attempt) for attempt in live))
        beside.replace(self._path)  # others find out by the inode, and open the new one

    def _lock(self) -> bool:
        anew = False
        while True:
            if self._file < 0:
                anew = True
                self._path.parent.mkdir(parents=True, exist_ok=True)
                flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
                self._file = os.open(self._path, flags, 0o666)
                self._offset = 0
            fcntl.flock(self._file, fcntl.LOCK_EX)
            try:
                if self._path.stat().st_ino == os.fstat(self._file).st_ino:
                    return anew
            except FileNotFoundError:
                pass  # somebody cleaned up
            os.close(self._file)
            self._file = -1
