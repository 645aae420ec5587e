"""Journals: what a model answered outlives a kill from the moment it is there.

A journal has one writer and a short life: entries are appended while a call goes on, then folded
into Parquet, then the journal is removed. What a killed writer left is an orphan, which the next
process folds. Where it lies in the local file system, a journal is one file, appended to by
system calls that survive `kill -9` (not a power failure), and locked while its writer lives. An
object store knows neither appending nor locks: there, entries that arrive together make one
object, and a journal counts as an orphan when no object was added for an hour.
"""

import errno
import fcntl
import os
import queue
import struct
import threading
import time
import uuid
import zlib
from collections.abc import Iterator
from contextlib import suppress
from itertools import groupby
from typing import NamedTuple, Protocol

from gsum_resources.parquet_store import ParquetStore

SUFFIX = ".journal"
ORPHAN_AFTER_S = 3600.0  # in an object store, where no lock tells whether a writer lives
_GROUP_S = 0.2  # between two puts into an object store, each of which costs money
_HEAD = struct.Struct("<II")  # length and CRC-32 of what follows
_BODY = struct.Struct("<16si")  # key, length of the value; -1: no value


class Entry(NamedTuple):
    """What one call brought.

    Attributes
    ----------
    key : 16 bytes, what was asked.
    value : what a memo keeps under the key, or None where nothing is to be remembered.
    note : what else is to be known of the call.
    """

    key: bytes
    value: bytes | None
    note: bytes


class Journal(Protocol):
    """Takes entries, from one thread at a time."""

    @property
    def name(self) -> str:
        """Unlike that of any other journal."""
        ...

    def append(self, entry: Entry) -> None:
        """Keep `entry`: on return in a local file, else within a fraction of a second."""
        ...

    def remove(self) -> None:
        """Forget the entries: they were folded."""
        ...

    def close(self) -> None:
        """Write no more. What was not removed is an orphan from now on."""
        ...


def open_journal(store: ParquetStore, folder: str) -> Journal:
    """A new journal in a folder of the store."""
    return _FileJournal(store, folder) if store.is_local else _ObjectJournal(store, folder)


class _FileJournal:
    def __init__(self, store: ParquetStore, folder: str) -> None:
        self.name = uuid.uuid4().hex
        self._path = f"{folder}/{self.name}{SUFFIX}"
        self._size = 0
        store.fs.makedirs(folder, exist_ok=True)
        beside = f"{self._path}.part"  # locked before anyone can take it for an orphan
        self._file = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        fcntl.flock(self._file, fcntl.LOCK_EX)
        os.rename(beside, self._path)  # noqa: PTH104

    def append(self, entry: Entry) -> None:
        record = _pack(entry)
        written = os.write(self._file, record)
        if written < len(record):  # behind a torn record nothing would be found again
            os.ftruncate(self._file, self._size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self._path)
        self._size += written

    def remove(self) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self._path)  # noqa: PTH108

    def close(self) -> None:
        os.close(self._file)


class _ObjectJournal:
    def __init__(self, store: ParquetStore, folder: str) -> None:
        self.name = uuid.uuid4().hex
        self._store, self._folder = store, folder
        self._pending: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._closing = threading.Event()
        self._error: Exception | None = None
        self._objects: list[str] = []
        self._thread = threading.Thread(target=self._put_groups, daemon=True)
        self._thread.start()

    def append(self, entry: Entry) -> None:
        if self._error:
            raise self._error
        self._pending.put(_pack(entry))

    def remove(self) -> None:
        self.close()
        _remove(self._store, self._objects)

    def close(self) -> None:
        self._closing.set()
        self._pending.put(b"")  # wakes the thread
        self._thread.join()

    def _put_groups(self) -> None:
        """Put together what arrived since the last put, until the journal is closed."""
        try:
            while not (self._closing.is_set() and self._pending.empty()):
                group = [self._pending.get()]
                self._closing.wait(_GROUP_S)
                while not self._pending.empty():
                    group.append(self._pending.get())
                if content := b"".join(group):
                    path = f"{self._folder}/{self.name}-{time.time_ns()}{SUFFIX}"
                    self._objects.append(path)
                    self._store.fs.pipe_file(path, content)
        except Exception as error:  # for the next `append` to raise, in its caller's thread
            self._error = error


class JournalReader:
    """Reads the journals of a folder as they grow."""

    def __init__(self, store: ParquetStore, folder: str) -> None:
        self._store = store
        self._pattern = f"{folder}/*{SUFFIX}"
        self._read: dict[str, int] = {}  # bytes read by path

    def new_entries(self) -> list[Entry]:
        """What was appended since the last call, by any living or dead process."""
        present = sorted(self._store.fs.glob(self._pattern))
        self._read = {path: self._read.get(path, 0) for path in present}
        found = []
        for path, start in self._read.items():
            if start and not self._store.is_local:
                continue  # an object never changes
            try:
                with self._store.fs.open(path, "rb") as file:
                    file.seek(start)
                    entries, length = _unpack(file.read())
            except FileNotFoundError:
                continue  # folded meanwhile
            self._read[path] = start + length
            found += entries
        return found


def orphans(store: ParquetStore, folders: str) -> Iterator[tuple[str, str, list[Entry]]]:
    """Folder, name and entries of each journal whose writer is gone.

    A journal is removed when the next is asked for, so that it stays if folding it failed.

    Parameters
    ----------
    folders : a pattern such as `<root>/_memo/completions/*`.
    """
    paths = sorted(store.fs.glob(f"{folders}/*{SUFFIX}"))
    yield from _orphaned_files(paths) if store.is_local else _orphaned_objects(store, paths)


def _orphaned_files(paths: list[str]) -> Iterator[tuple[str, str, list[Entry]]]:
    for path in paths:
        try:
            file = open(path, "rb")  # noqa: PTH123, SIM115
        except FileNotFoundError:
            continue
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue  # its writer lives, or another process is folding it
            if not os.fstat(file.fileno()).st_nlink:
                continue  # folded between opening and locking
            folder, name = path.removesuffix(SUFFIX).rsplit("/", 1)
            yield folder, name, _unpack(file.read())[0]
            os.unlink(path)  # noqa: PTH108


def _orphaned_objects(
    store: ParquetStore, paths: list[str]
) -> Iterator[tuple[str, str, list[Entry]]]:
    before = time.time_ns() - int(ORPHAN_AFTER_S * 1e9)
    for journal, group in groupby(paths, lambda path: path.rsplit("-", 1)[0]):
        objects = list(group)
        if int(objects[-1].removesuffix(SUFFIX).rsplit("-", 1)[1]) > before:
            continue
        try:
            entries = [e for path in objects for e in _unpack(store.fs.cat_file(path))[0]]
        except FileNotFoundError:
            continue  # another process has just folded it
        folder, name = journal.rsplit("/", 1)
        yield folder, name, entries
        _remove(store, objects)


def _remove(store: ParquetStore, paths: list[str]) -> None:
    for path in paths:
        with suppress(FileNotFoundError):
            store.fs.rm_file(path)


def _pack(entry: Entry) -> bytes:
    length = -1 if entry.value is None else len(entry.value)
    body = b"".join((_BODY.pack(entry.key, length), entry.value or b"", entry.note))
    return _HEAD.pack(len(body), zlib.crc32(body)) + body


def _unpack(content: bytes) -> tuple[list[Entry], int]:
    """The entries up to a torn record, and how many bytes they take."""
    entries, at = [], 0
    while at + _HEAD.size <= len(content):
        length, checksum = _HEAD.unpack_from(content, at)
        body = content[at + _HEAD.size : at + _HEAD.size + length]
        if len(body) < length or length < _BODY.size or zlib.crc32(body) != checksum:
            break
        key, n_value = _BODY.unpack_from(body)
        value_end = _BODY.size + max(n_value, 0)
        value = None if n_value < 0 else body[_BODY.size : value_end]
        entries.append(Entry(key, value, body[value_end:]))
        at += _HEAD.size + length
    return entries, at
