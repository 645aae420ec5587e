"""The tables of a corpus at one moment: later writes of other processes do not change them.

A file of the warehouse is replaced, never changed, so that a mapping of it into memory keeps its
content after another file has taken its path. Of an object store, the bytes are kept.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from gsum_assets.answering.workspace import Workspace
from gsum_resources.store.lazy import Kept, Lazy, RowIndex
from gsum_resources.store.parquet_store import ParquetStore
from gsum_resources.store.partition import FILE_NAME, Partition, Provenance, provenance_of
from gsum_resources.store.table import Table

_IN_MEMORY = 2**30  # bytes of a table's rows of which selected ones stay decoded in memory


class PinnedFile:
    """A file at one moment: its bytes, mapped into memory, and a stamp that changes with them."""

    def __init__(self, store: ParquetStore, path: str) -> None:
        while True:  # until stamp and content are those of one file
            self.stamp = store.stamp(path)
            if store.is_local:
                with pa.memory_map(path) as mapped:
                    self.content = mapped.read_buffer()
            else:
                self.content = pa.py_buffer(store.fs.cat_file(path))
            if store.stamp(path) == self.stamp:
                return

    @cached_property
    def provenance(self) -> Provenance:
        """Provenance in the footer."""
        return provenance_of(pq.ParquetFile(pa.BufferReader(self.content)).metadata.metadata)


Files = Mapping[str, Mapping[Partition, PinnedFile]]
"""The files of a corpus by table and partition."""


def pinned_files(
    store: ParquetStore, tables: Sequence[Table], corpus: str, before: Files = MappingProxyType({})
) -> Files:
    """Return the files of some tables of a corpus as they are now; unchanged ones are reused."""
    files: dict[str, dict[Partition, PinnedFile]] = {}
    for table, stamps in stamps_of(store, tables, corpus).items():
        known = before.get(table.name, {})
        of_table = files[table.name] = {}
        for partition, stamp in stamps.items():
            with suppress(FileNotFoundError):
                file = known.get(partition)
                if file is None or file.stamp != stamp:
                    file = PinnedFile(store, store.path(table, partition))
                of_table[partition] = file
    return files


def stamps_of(
    store: ParquetStore, tables: Sequence[Table], corpus: str
) -> dict[Table, dict[Partition, object]]:
    """Return the stamp of every file of some tables of a corpus."""
    if store.lists_at_once:
        listing = store.list_files()
        return {table: listing.stamped(table, corpus) for table in tables}
    stamps: dict[Table, dict[Partition, object]] = {table: {} for table in tables}
    for table in tables:
        for partition in store.partitions(table, corpus):
            with suppress(FileNotFoundError):
                stamps[table][partition] = store.stamp(store.path(table, partition))
    return stamps


class PinnedStore(ParquetStore):
    """The store of a home whose tables of some corpora are pinned; `files` are by corpus."""

    def __init__(self, store: ParquetStore, files: Mapping[str, Files]) -> None:
        # the pinned files are known, and nothing of them is requested
        super().__init__(store.url, store.state_url, store.fs, lists_at_once=False)
        self.writes_behind, self.files = store.writes_behind, files
        self._by_path = {
            f"{self.root}/{table}/{partition.path}/{FILE_NAME}": file
            for of_corpus in files.values()
            for table, partitions in of_corpus.items()
            for partition, file in partitions.items()
        }

    def stamped(self, table: Table, corpus: str | None = None) -> dict[Partition, object]:
        """Return the partitions of a table, see `ParquetStore.stamped`."""
        pinned = self.files.get(corpus or "", {}).get(table.name)
        if pinned is None:
            return super().stamped(table, corpus)
        return {partition: file.stamp for partition, file in pinned.items()}

    def provenance(
        self, table: Table, partition: Partition, stamp: object = None
    ) -> Provenance | None:
        """Return the provenance of a partition's rows, or None where there is no file."""
        pinned = self.files.get(partition.corpus, {}).get(table.name)
        if pinned is None:
            return super().provenance(table, partition, stamp)
        return pinned[partition].provenance if partition in pinned else None

    @contextmanager
    def open_file(self, path: str) -> Iterator[Any]:
        """Yield an open file for reading."""
        if path in self._by_path:
            yield pa.BufferReader(self._by_path[path].content)
        else:
            with super().open_file(path) as file:
                yield file


@dataclass(frozen=True)
class PinnedWorkspace(Workspace):
    """A workspace over pinned tables, with the settings of their corpora at that moment."""

    store: PinnedStore
    kept: Kept = field(default_factory=Kept, repr=False, compare=False)
    _rows: dict[tuple[str, tuple[Partition, ...]], Lazy] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _settings: dict[str, Callable[[str], Any]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def kept_rows(self, table: Table, partitions: Sequence[Partition]) -> Lazy:
        """Return the rows of some partitions, which stay in memory; of large tables the last."""
        key, kept = (table.name, tuple(partitions)), self.kept  # not `self`, which has old tables
        if key not in self._rows:
            read = super().kept_rows(table, partitions)
            version, metadata = read.version() or "", partial(self.store.metadata, table)
            n_bytes = sum(map(_decoded_bytes, map(metadata, partitions)))
            n_kept = max(1, int(len(partitions) * min(1.0, _IN_MEMORY / max(1, n_bytes))))

            def index() -> RowIndex:
                return RowIndex(read.parts(), n_kept)

            def rows_with(column: str, values: pa.Array) -> pa.Table:
                return kept.get((*key, RowIndex), version, index).rows_with(column, values)

            selected = rows_with if partitions else None
            self._rows[key] = Lazy(read.get, read.columns, read.parts, selected, lambda: version)
        return self._rows[key]

    def sections(self, corpus: str) -> Callable[[str], Any]:
        """Return what reads sections of a corpus's settings, each once; see `Workspace`."""
        if corpus not in self._settings:
            self._settings[corpus] = cache(super().sections(corpus))
        return self._settings[corpus]


def _decoded_bytes(metadata: pq.FileMetaData) -> int:
    return sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
