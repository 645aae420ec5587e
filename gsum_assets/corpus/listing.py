"""The files of a corpus folder; only regular files are opened: a pipe or device costs no time."""

import errno
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from gsum_resources.settings.paths import RemoteFile, is_remote, remote_files, unreadable

_HIDDEN = (".", "~")  # hidden files, and temporary files of editors
_UNSHOWN = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
_NO_TARGET = "is a link to what does not exist; restore its target, or remove the link"
_BROKEN_LINKS = {
    errno.ELOOP: "is a link that leads back to itself; remove it, or let it name a file",
    errno.ENOENT: _NO_TARGET,
    errno.ENOTDIR: _NO_TARGET,
}
_CYCLE = (
    "a link to a folder that is read already on the way to it; remove the link, or let it name "
    "another folder"
)


@dataclass(frozen=True)
class ListedFile:
    """A file, or something in its place that cannot be read.

    Attributes
    ----------
    name : path relative to the corpus folder, with "/"; may have surrogates for bytes that are not
        UTF-8. That of a folder ends with "/"; "" is the corpus folder itself.
    version : values that change with the content.
    modified : Unix time.
    problem : why it cannot be read, or "".
    """

    name: str
    path: Path | RemoteFile
    size: int = 0
    version: tuple[object, ...] = ()
    modified: float = 0.0
    problem: str = ""


def shown_name(name: str) -> str:
    """Return a name that can be stored and printed: escapes instead of control characters."""
    return _UNSHOWN.sub(lambda match: ascii(match[0])[1:-1], name)


def list_files(folder: Path) -> Iterator[ListedFile]:
    """Yield all files of a folder except hidden ones, in a fixed order, without opening one.

    A folder is entered again by a link unless the link is within it or within another link that
    was followed before, so that the number of files is bounded.
    """
    if is_remote(folder):
        for name, file in remote_files(folder).items():
            if not any(segment.startswith(_HIDDEN) for segment in name.split("/")):
                yield ListedFile(name, file, file.size, file.version, file.modified)
        return
    try:
        root = _identity(folder.stat())
    except OSError as error:
        yield ListedFile("", folder, problem=unreadable(error))
        return
    linked: set[tuple[int, int]] = set()  # folders that links inside of linked folders name
    pending: list[tuple[str, tuple[tuple[int, int], ...], bool]] = [("", (root,), False)]
    while pending:
        prefix, above, in_link = pending.pop()
        try:
            with os.scandir(folder / prefix) as entries:
                children = sorted(
                    (e for e in entries if not e.name.startswith(_HIDDEN)),
                    key=lambda entry: entry.name,
                )
        except FileNotFoundError:  # deleted since its folder was listed
            continue
        except OSError as error:
            yield ListedFile(prefix, folder / prefix, problem=unreadable(error))
            continue
        below = []
        for entry in children:
            listed = _listed(entry, prefix)
            if not isinstance(listed, tuple):
                yield from [listed] if listed else []
                continue
            is_link = entry.is_symlink()
            if listed in above or (is_link and in_link and listed in linked):
                yield ListedFile(f"{prefix}{entry.name}/", Path(entry.path), problem=_CYCLE)
                continue
            if is_link:
                linked.add(listed)
            below.append((f"{prefix}{entry.name}/", (*above, listed), in_link or is_link))
        pending += reversed(below)


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _listed(entry: os.DirEntry[str], prefix: str) -> ListedFile | tuple[int, int] | None:
    """Return a file, the identity of a folder, or None for what was deleted meanwhile."""
    name, path = prefix + entry.name, Path(entry.path)
    try:
        status = entry.stat()
    except OSError as error:
        if not entry.is_symlink() and error.errno == errno.ENOENT:
            return None
        problem = _BROKEN_LINKS.get(error.errno or 0) if entry.is_symlink() else None
        return ListedFile(name, path, problem=problem or unreadable(error))
    if stat.S_ISDIR(status.st_mode):
        return _identity(status)
    version = status.st_size, status.st_mtime_ns
    problem = ""
    if not stat.S_ISREG(status.st_mode):
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "of an unknown kind")
        problem = f"is {kind} and no file; remove it, or put a file in its place"
    return ListedFile(name, path, status.st_size, version, status.st_mtime, problem)


def open_regular(path: Path | RemoteFile) -> IO[bytes]:
    """Open a regular file for reading; raise `OSError` for a pipe instead of waiting for it."""
    if isinstance(path, RemoteFile) or is_remote(path):
        return path.open("rb")  # type: ignore[return-value]
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "no longer a regular file")
    return os.fdopen(descriptor, "rb")
