"""The tables' files of some corpora as a file system for DuckDB that reads and cannot write."""

import re
from collections.abc import Collection
from datetime import datetime
from typing import Any

from fsspec import AbstractFileSystem
from fsspec.utils import glob_translate

ROOT = "warehouse"


class CorpusFiles(AbstractFileSystem):
    """The Parquet files of some corpora, as `gsum://warehouse/<table>/corpus=<corpus>/…`.

    DuckDB has it as its only file system: files of other corpora, and all else on the machine, do
    not exist in it, and writing is refused whatever a query contains.

    Parameters
    ----------
    fs, root : file system of the warehouse and its path there.
    corpora : names of the corpora; None: all.
    """

    protocol = "gsum"
    cachable = False

    def __init__(
        self, fs: AbstractFileSystem, root: str, corpora: Collection[str] | None = None
    ) -> None:
        super().__init__()
        self._fs, self._root, self._corpora = fs, root, corpora

    def _inner(self, path: str) -> str:
        """Return the path of a file in the warehouse.

        Raises
        ------
        FileNotFoundError
            If it is not a file of a table of these corpora.
        """
        first, *parts = path.removeprefix(f"{self.protocol}://").strip("/").split("/")
        corpus = parts[1].removeprefix("corpus=") if len(parts) > 2 else None
        is_known = self._corpora is None or corpus in self._corpora
        if first != ROOT or corpus is None or not is_known or {"", ".", ".."} & {*parts, corpus}:
            raise FileNotFoundError(path)
        return "/".join([self._root, *parts])

    def find(self, path: str, *_: Any, **__: Any) -> Any:
        """Return information on each file below a folder, by path."""
        folder = path.removeprefix(f"{self.protocol}://").strip("/").removeprefix(ROOT).strip("/")
        if ".." in folder.split("/"):
            return {}
        inner = f"{self._root}/{folder}".rstrip("/")
        files: Any = self._fs.find(inner, detail=True)
        return {
            outer: info
            for name, info in files.items()
            if self._holds(outer := f"{ROOT}{name[len(self._root) :]}")
        }

    def _holds(self, path: str) -> bool:
        try:
            return bool(self._inner(path))
        except FileNotFoundError:
            return False

    def glob(self, path: str, maxdepth: int | None = None, **_: Any) -> list[str]:
        """Return the files whose path matches a pattern, in order."""
        pattern = path.removeprefix(f"{self.protocol}://").lstrip("/")
        matches = re.compile(glob_translate(pattern)).match
        return sorted(filter(matches, self.find(pattern.partition("*")[0].rpartition("/")[0])))

    def open(self, path: str, mode: str = "rb", *_: Any, **__: Any) -> Any:
        """Open a file for reading.

        Raises
        ------
        PermissionError
            If it would be written.
        """
        if mode != "rb":
            raise PermissionError(f"{path}: the tables are read-only")
        return self._fs.open(self._inner(path), "rb")

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        """Return information on a file, under this path."""
        return {**self._fs.info(self._inner(path)), "name": path}

    def modified(self, path: str) -> datetime:
        """Return the time of the last modification."""
        return self._fs.modified(self._inner(path))

    def isdir(self, path: str) -> bool:
        """Return whether a path is a folder; DuckDB reads files only."""
        return False
