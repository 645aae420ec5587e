"""A file system and a store over another one: writes stay in memory and are discarded."""

import io
import itertools
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fsspec import AbstractFileSystem
from fsspec.utils import glob_translate

from gsum_resources.state.database import MEMORY
from gsum_resources.store.parquet_store import ParquetStore


class Layered(AbstractFileSystem):
    """Files in memory on top of another file system, which is only read.

    Parameters
    ----------
    hidden : folders whose files are not visible.
    """

    cachable = False
    protocol = "layered"

    def __init__(self, under: AbstractFileSystem, hidden: Sequence[str] = ()) -> None:
        super().__init__()
        self._under = under
        self._files: dict[str, tuple[int, bytes]] = {}
        self._removed: set[str] = set()
        self._hidden = tuple(f"{folder}/" for folder in hidden)
        self._count = itertools.count()

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **_: Any) -> None:
        """Keep a file's content."""
        self._files[path] = next(self._count), value
        self._removed.discard(path)

    def open(self, path: str, mode: str = "rb", *_: Any, **__: Any) -> Any:
        """Open a file for reading."""
        if path in self._files:
            return io.BytesIO(self._files[path][1])
        if self._is_removed(path):
            raise FileNotFoundError(path)
        return self._under.open(path, mode)

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **_: Any):  # noqa: ANN201
        """Return the content of a file, or of a range of it."""
        if path in self._files:
            return self._files[path][1][start:end]
        if self._is_removed(path):
            raise FileNotFoundError(path)
        return self._under.cat_file(path, start=start, end=end)

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        """Return size and a number that changes with the content."""
        if path in self._files:
            number, content = self._files[path]
            return {"name": path, "type": "file", "size": len(content), "created": number}
        if self._is_removed(path):
            raise FileNotFoundError(path)
        return self._under.info(path)

    def exists(self, path: str, **_: Any) -> bool:
        """Return whether a file or folder exists."""
        if path in self._files:
            return True
        return not self._is_removed(path) and self._under.exists(path)

    def glob(self, path: str, maxdepth: int | None = None, **_: Any) -> list[str]:
        """Return the files whose path matches a pattern."""
        matches = re.compile(glob_translate(path)).match
        below = {file for file in map(str, self._under.glob(path)) if not self._is_removed(file)}
        return sorted(below | {file for file in self._files if matches(file)})

    def find(
        self,
        path: str,
        maxdepth: int | None = None,
        withdirs: bool = False,
        detail: bool = False,
        **_: Any,
    ) -> Any:
        """Return the files below a folder, with information on each if `detail`."""
        below: Any = self._under.find(path, detail=True)
        files = {name: info for name, info in below.items() if not self._is_removed(name)}
        files |= {file: self.info(file) for file in self._files if file.startswith(f"{path}/")}
        return files if detail else sorted(files)

    def _is_removed(self, path: str) -> bool:
        return path in self._removed or path.startswith(self._hidden)

    def rm_file(self, path: str) -> None:
        """Remove a file from this layer; it remains in the file system below."""
        self._files.pop(path, None)
        self._removed.add(path)

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        """Do nothing: files need no folders."""

    def invalidate_cache(self, path: str | None = None) -> None:
        """Invalidate the listing cache of the file system below."""
        self._under.invalidate_cache(path)


def memory_store() -> ParquetStore:
    """Return an empty store that writes nothing to disk, and ends with the last reference to it."""
    store = ParquetStore("memory://gsum", MEMORY)
    store.fs, store.lists_at_once = Layered(store.fs, [store.root]), False
    return store


@contextmanager
def store_over(store: ParquetStore, without: Sequence[str] = ()) -> Iterator[ParquetStore]:
    """Yield a store that reads from `store`, writes nothing there, and has its own database.

    Parameters
    ----------
    without : tables whose files are not visible.
    """
    with TemporaryDirectory(prefix="gsum-plan-") as folder:
        layered = ParquetStore(store.url, str(Path(folder) / "state.db"))
        hidden = [f"{store.root}/{name}" for name in without]
        layered.fs, layered.is_local = Layered(store.fs, hidden), False
        layered.lists_at_once = store.lists_at_once
        yield layered
