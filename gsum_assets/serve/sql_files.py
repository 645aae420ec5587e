"""The tables' files of some corpora as a file system for DuckDB that reads and cannot write."""

from collections.abc import Collection
from typing import Any

from fsspec import AbstractFileSystem

from gsum_resources.store.catalogue import ReadOnlyFiles

ROOT = "warehouse"


class CorpusFiles(ReadOnlyFiles):
    """The Parquet files of some corpora, as `gsum://warehouse/<table>/corpus=<corpus>/…`.

    DuckDB has it as its only file system: files of other corpora, and all else on the machine, do
    not exist in it, and writing is refused whatever a query contains.

    Parameters
    ----------
    fs, root : file system of the warehouse and its path there.
    corpora : names of the corpora.
    """

    protocol: Any = "gsum"

    def __init__(self, fs: AbstractFileSystem, root: str, corpora: Collection[str]) -> None:
        super().__init__(fs, CorpusFiles.protocol)
        self._root, self._corpora = root, corpora

    def inner(self, path: str) -> str:
        """Return the path of a file in the warehouse.

        Raises
        ------
        FileNotFoundError
            If it is not a file of a table of these corpora.
        """
        first, *parts = super().inner(path).strip("/").split("/")
        corpus = parts[1].removeprefix("corpus=") if len(parts) > 2 else None
        if first != ROOT or corpus not in self._corpora or {"", ".", ".."} & {*parts, corpus}:
            raise FileNotFoundError(path)
        return "/".join([self._root, *parts])

    def find(self, path: str, *_: Any, **__: Any) -> Any:
        """Return information on each file below a folder, by path."""
        folder = super().inner(path).strip("/").removeprefix(ROOT).strip("/")
        if ".." in folder.split("/"):
            return {}
        files: Any = self._fs.find(f"{self._root}/{folder}".rstrip("/"), detail=True)
        outer = {f"{ROOT}{name[len(self._root) :]}": info for name, info in files.items()}
        return {name: info for name, info in outer.items() if self._has(name)}

    def _has(self, path: str) -> bool:
        try:
            return bool(self.inner(path))
        except FileNotFoundError:
            return False
