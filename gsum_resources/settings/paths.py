"""Paths of files that users edit: local ones, or URLs of an object store with pathlib's methods.

At a URL there are no folders but only names with slashes, every method is a request, and a file
cannot be renamed.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import IO, Any, cast

_SMALL = 2**20  # bytes requested of a file whose size is unknown


def path_at(location: str) -> Path:
    """Return the path of a local folder or file, or of one at a URL.

    A path at a URL has the methods of `Path`, but is none, see `is_remote`.
    """
    if "://" not in location:
        return Path(location).expanduser().resolve()
    from upath import UPath

    # listings are not cached: other hosts write there, too
    path = UPath(location.rstrip("/"), use_listings_cache=False)
    return cast("Path", path)


def is_remote(path: Path) -> bool:
    """Return whether a path is at a URL."""
    return not isinstance(path, Path)


@dataclass(frozen=True)
class RemoteFile:
    """A file of a remote folder as it was listed, with those of pathlib's methods that read it."""

    path: Any
    info: Mapping[str, Any]

    @cached_property
    def size(self) -> int:
        """Size in bytes when listed."""
        return int(self.info["size"])

    @property
    def version(self) -> tuple[object, ...]:
        """Values that change with the content."""
        names = ("ETag", "md5Hash", "LastModified", "created", "mtime")
        return (self.size, *(str(self.info.get(name)) for name in names))

    @property
    def modified(self) -> float:
        """Unix time of the last modification; 0 if it is unknown."""
        for name in ("LastModified", "updated", "last_modified", "mtime", "modified", "created"):
            value = self.info.get(name)
            if isinstance(value, int | float):
                return value
            if value is not None:  # in ISO 8601, unless it is a `datetime`
                is_date = isinstance(value, datetime)
                return (value if is_date else datetime.fromisoformat(str(value))).timestamp()
        return 0.0

    def read_bytes(self) -> bytes:
        """Return the content; one request if the size is still the same."""
        fs, path = self.path.fs, self.path.path
        if self.size:
            content = fs.cat_file(path, start=0, end=self.size + 1)
            if len(content) == self.size:
                return content
        return fs.cat_file(path)

    def open(self, mode: str = "rb") -> IO[bytes]:
        """Open the file for reading."""
        return self.path.open(mode)


def remote_files(folder: Path) -> dict[str, RemoteFile]:
    """Return all files below a remote folder by their relative names, from one listing."""
    remote: Any = folder
    root = remote.path.rstrip("/")
    info_of = remote.fs.find(root, detail=True)
    names = ((path[len(root) + 1 :], info) for path, info in info_of.items())
    return {
        name: RemoteFile(remote / name, info) for name, info in names if name[-1:] not in ("", "/")
    }


def read_if_exists(file: Path) -> bytes | None:
    """Return the content of a file, or None if there is none; of a remote file by one request."""
    try:
        if not is_remote(file):
            return file.read_bytes() if file.is_file() else None
        remote: Any = file
        try:
            content = remote.fs.cat_file(remote.path, start=0, end=_SMALL)
            if len(content) < _SMALL:
                return content
        except FileNotFoundError:
            raise
        except OSError:  # an empty object has no range
            pass
        return remote.fs.cat_file(remote.path)
    except FileNotFoundError:
        return None


def folders_in(root: Path) -> list[str]:
    """Return the names of the folders in a folder, without hidden ones; [] if there is none."""
    if is_remote(root):
        remote: Any = root
        try:
            entries = remote.fs.ls(remote.path, detail=True)
        except FileNotFoundError:
            return []
        folders = [entry["name"] for entry in entries if entry["type"] == "directory"]
        names = [folder.rstrip("/").rpartition("/")[2] for folder in folders]
    else:
        names = [path.name for path in root.iterdir() if path.is_dir()] if root.is_dir() else []
    return sorted(name for name in names if name and name[0] not in ".~")


def replace_content(file: Path, content: bytes) -> None:
    """Replace a file so that a reader sees the old content or the new one."""
    if is_remote(file):  # an object store replaces an object in one step
        file.write_bytes(content)
        return
    beside = file.with_name(f".{file.name}.{uuid.uuid4().hex}.part")  # hidden: no document
    beside.write_bytes(content)
    beside.replace(file)


def unreadable(error: OSError) -> str:
    """Return why a file cannot be read, for its row."""
    if isinstance(error, PermissionError):
        return "no permission to read it; change its permissions, or remove it"
    reason = (error.strerror or str(error)).lower()
    return f"cannot be read ({reason}); repair it, or remove it"
