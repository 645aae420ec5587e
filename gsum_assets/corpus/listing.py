"""The files of a corpus folder, each once; only regular files are opened, no pipe or device.

Files and folders are skipped by rules in the syntax of `.gitignore`: the last that matches decides.
"""

import errno
import hashlib
import os
import re
import stat
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO

from pathspec import GitIgnoreSpec

from gsum_assets.pipeline.corpus_settings import SETTINGS_FILE, CorpusError, load_settings
from gsum_resources.settings.paths import (
    RemoteFile,
    is_remote,
    read_if_exists,
    remote_files,
    unreadable,
)

IGNORE_FILE = ".gsumignore"
SKIPPED_BY_DEFAULT = (
    *("node_modules/", "__pycache__/", "site-packages/", "Thumbs.db", "desktop.ini"),
    *("*.lock", "*-lock.json", "*-lock.yaml", "npm-shrinkwrap.json"),
)
"""What is not read unless `!node_modules/` or the like is a rule of the corpus."""

_HIDDEN = (".", "~")  # hidden files, and temporary files of editors
_UNSHOWN = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_NO_TARGET = "is a link to what does not exist; restore its target, or remove the link"
_BROKEN_LINKS = {
    errno.ELOOP: "is a link that leads back to itself; remove it, or let it name a file",
    errno.ENOENT: _NO_TARGET,
    errno.ENOTDIR: _NO_TARGET,
}
_LISTED = "its files are read by another path; this one is a link"


@dataclass(frozen=True)
class ListedFile:
    """A file, or something in its place that cannot be read.

    `name` is relative to the corpus folder; it ends with "/" for a folder, is "" for the corpus
    folder itself, and may have surrogates. `version` changes with the content, `modified` is Unix
    time, `problem` says why it is not read, `is_skipped` whether that is on purpose.
    """

    name: str
    path: Path | RemoteFile
    size: int = 0
    version: tuple[object, ...] = ()
    modified: float = 0.0
    problem: str = ""
    is_skipped: bool = False


def shown_name(name: str) -> str:
    """Return a name that can be stored and printed: escapes instead of control characters."""
    return _UNSHOWN.sub(lambda match: ascii(match[0])[1:-1], name)


def list_files(folder: Path) -> Iterator[ListedFile]:
    """Yield all files of a folder except hidden ones, in a fixed order, without opening one.

    A folder is listed once: by its own path if it is in `folder`, else by the first link to it.
    """
    try:
        remote = remote_files(folder) if is_remote(folder) else None
        ruled = _rules(folder, remote)
        if remote is None:
            yield from _local(folder, _identity(folder.stat()), ruled)
    except (OSError, ValueError) as error:
        if is_remote(folder) and isinstance(error, OSError):
            raise
        problem = f"{error}; correct this rule of {IGNORE_FILE} or {SETTINGS_FILE}"
        problem = unreadable(error) if isinstance(error, OSError) else problem
        yield ListedFile("", folder, problem=problem)
        return
    for name, file in (remote or {}).items():
        if not any(segment.startswith(_HIDDEN) for segment in name.split("/")):
            yield ruled(ListedFile(name, file, file.size, file.version, file.modified))


def _rules(folder: Path, names: Collection[str] | None) -> Callable[[ListedFile], ListedFile]:
    """Return a function that marks a file, or the name of a folder, as skipped by a rule."""
    lines = list(SKIPPED_BY_DEFAULT)
    if names is None or IGNORE_FILE in names:
        own = read_if_exists(folder / IGNORE_FILE) or b""
        lines += own.decode("utf-8-sig", "replace").splitlines()
    if names is None or SETTINGS_FILE in names:
        with suppress(CorpusError):  # it is raised where the other settings are needed
            lines += load_settings(folder).ignore
    spec = GitIgnoreSpec.from_lines(lines)

    def ruled(file: ListedFile) -> ListedFile:
        match = spec.check_file(file.name)
        if not match.include or match.index is None:
            return file
        line = str(spec.patterns[match.index].pattern).strip()
        if file.name.endswith("/") and line.endswith("/**"):
            return file  # a later rule may name a file in it
        problem = f"rule '{line}'"
        if match.index < len(SKIPPED_BY_DEFAULT):
            problem = f"default {problem}; to read it write '!{line}' into {IGNORE_FILE}"
        return replace(file, problem=problem, is_skipped=True)

    return ruled


def _local(
    folder: Path, root: tuple[int, int], ruled: Callable[[ListedFile], ListedFile]
) -> Iterator[ListedFile]:
    pending, links, entered = [("", root)], list[tuple[str, tuple[int, int]]](), set()
    while pending or links:
        prefix, identity = pending.pop() if pending else links.pop(0)
        if identity in entered:
            yield ListedFile(prefix, folder / prefix, problem=_LISTED, is_skipped=True)
            continue
        entered.add(identity)
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
            if isinstance(listed, ListedFile):
                yield ruled(listed)
            elif listed:
                path = ruled(ListedFile(f"{prefix}{entry.name}/", Path(entry.path)))
                if path.is_skipped:
                    yield path
                else:
                    (links if entry.is_symlink() else below).append((path.name, listed))
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
    version = status.st_size, status.st_mtime_ns, status.st_mode & 0o444  # who may read it
    problem = ""
    if not stat.S_ISREG(status.st_mode):
        problem = "is a pipe, socket or device and no file; remove it, or put a file in its place"
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


def digest_of(path: Path | RemoteFile) -> bytes:
    """Return the hash of a file's bytes, or its ETag; raise `OSError` if it cannot be read."""
    if isinstance(path, RemoteFile) and (tag := path.info.get("ETag")):
        return str(tag).encode()
    with open_regular(path) as stream:
        return hashlib.file_digest(stream, partial(hashlib.blake2b, digest_size=16)).digest()  # type: ignore[arg-type]
