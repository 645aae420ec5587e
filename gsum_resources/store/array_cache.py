"""Arrays derived from the texts of a corpus, kept so that no process computes them again.

`<root>/_memo/arrays/corpus=<corpus>/<name>/<version>/` holds one file for each array, which readers
map into memory. The version is a hash of everything that the arrays are computed from.
"""

import os
import shutil
import time
import uuid
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from gsum_resources.store.parquet_store import ParquetStore

_WRITTEN_S = 3600.0  # a folder that is still being written may be younger


class ArrayCache:
    """The arrays of one corpus. An object store, which cannot be mapped, keeps none."""

    def __init__(self, store: ParquetStore, corpus: str) -> None:
        self._folder = Path(_folder(store, corpus)) if store.is_local else None

    def read(self, name: str, version: str) -> dict[str, np.ndarray] | None:
        """Return the arrays by name, mapped into memory; None if this version is not kept."""
        if self._folder is None:
            return None
        folder = self._folder / name / version
        try:
            # as plain arrays: slices of np.memmap cost ten times as much
            return {
                file.stem: np.asarray(np.load(file, mmap_mode="r")) for file in folder.glob("*.npy")
            } or None
        except FileNotFoundError:  # replaced meanwhile
            return None

    def write(self, name: str, version: str, arrays: Mapping[str, np.ndarray]) -> None:
        """Keep arrays, none of them empty, under a version, in one step."""
        with self.new(name, version) as folder:
            if folder:
                for array_name, array in arrays.items():
                    np.save(folder / f"{array_name}.npy", array, allow_pickle=False)

    @contextmanager
    def new(self, name: str, version: str) -> Iterator[Path | None]:
        """Yield a folder whose files are kept unless an exception is raised; None: none are."""
        if self._folder is None:
            yield None
            return
        folder = self._folder / name
        beside = folder / f".{uuid.uuid4().hex}"
        beside.mkdir(parents=True)
        try:
            yield beside
            with suppress(OSError):  # another process wrote it
                os.rename(beside, folder / version)  # noqa: PTH104
        finally:
            shutil.rmtree(beside, ignore_errors=True)

    def keep_only(self, name: str, versions: Collection[str]) -> None:
        """Remove other versions, whose mapped files stay readable, and what killed writers left."""
        if self._folder is None or not (folder := self._folder / name).exists():
            return
        for other in folder.iterdir():
            if other.name in versions:
                continue
            with suppress(OSError):  # another process removes it
                if not other.name.startswith("."):  # first out of the way of readers, as a whole
                    shutil.rmtree(other.rename(folder / f".{uuid.uuid4().hex}"), ignore_errors=True)
                elif time.time() - other.stat().st_mtime > _WRITTEN_S:
                    shutil.rmtree(other, ignore_errors=True)


def forget_arrays(store: ParquetStore, corpus: str) -> None:
    """Remove all arrays of a corpus."""
    folder = _folder(store, corpus)
    if store.fs.exists(folder):
        store.fs.rm(folder, recursive=True)


def _folder(store: ParquetStore, corpus: str) -> str:
    return f"{store.root}/_memo/arrays/corpus={corpus}"
