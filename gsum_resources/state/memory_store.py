"""A store in memory."""

from gsum_resources.state.database import MEMORY
from gsum_resources.store.parquet_store import MemoryFiles, ParquetStore


class MemoryStore(ParquetStore):
    """An empty store that writes nothing to disk, and ends with the last reference to it."""

    def __init__(self) -> None:
        super().__init__("memory://gsum", MEMORY, MemoryFiles(), lists_at_once=False)
