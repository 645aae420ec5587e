"""A store in memory."""

from typing import Any

from fsspec.implementations.memory import MemoryFileSystem

from gsum_resources.state.database import MEMORY
from gsum_resources.store.parquet_store import ParquetStore


class _OwnFiles(MemoryFileSystem):
    """Files in memory that other instances do not see, which end with the last reference."""

    cachable = False

    def __init__(self) -> None:
        super().__init__()
        self.store: dict[str, Any] = {}  # of the class in fsspec
        self.pseudo_dirs = [""]


def memory_store() -> ParquetStore:
    """Return an empty store that writes nothing to disk, and ends with the last reference to it."""
    store = ParquetStore("memory://gsum", MEMORY)
    store.fs, store.lists_at_once = _OwnFiles(), False
    return store
