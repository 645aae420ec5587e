"""The warehouse: a Parquet file for each table and partition, replaced in one step.

A file's path is `<root>/<table>/corpus=<c>/[bucket=<b>/][method=<m>/]data.parquet`. Its footer
contains the provenance of its content, so that the store alone shows whether it is current, on any
machine.
"""

import io
import json
import os
import re
import time
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from typing import IO, Any, TypeVar

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
from fsspec import AbstractFileSystem
from fsspec.implementations.memory import MemoryFileSystem
from fsspec.utils import glob_translate

from gsum_resources.store.arrow import decoded_schema
from gsum_resources.store.content_hash import content_hash
from gsum_resources.store.parquet_rows import (
    column_options,
    concatenate,
    conform,
    rows_of,
    with_dimensions,
    write_rows,
)
from gsum_resources.store.partition import (
    FILE_NAME,
    FOOTER_KEY,
    Listing,
    Partition,
    Provenance,
    provenance_of,
    stamp_of,
)
from gsum_resources.store.table import Table

_TEMPORARY_SUFFIX = ".part"
_FILES_AT_ONCE = 4  # files read concurrently: hides an object store's latency, bounds memory
_FOOTERS_AT_ONCE = 16  # footers are small
_BLOCK = 2**23  # bytes of an object sent or requested at once
_WHOLE = 2**24  # smaller objects are read by one request, larger ones by ranges
_T = TypeVar("_T")
_TAIL = 2**16  # bytes at the end of an object, which contain its footer


class ParquetStore:
    """Reads and writes the warehouse under a local folder or any fsspec URL.

    In an object store every operation is a request, so that listings and footers are requested for
    many files at once, and nothing is cached that another host may change.

    Parameters
    ----------
    state_url : path or URL of the state database; by default `state.db` in a local root folder, or
        beside it if it is called `warehouse`, as in a home.
    lists_at_once : whether one listing of the whole store costs less than one for each table, by
        default if the root is not local.

    Attribute `writes_behind`: writes results of models in a resident process, which does not wait
    until they are on disk; None: every write is awaited.
    """

    def __init__(
        self,
        root: str,
        state_url: str = "",
        fs: AbstractFileSystem | None = None,
        lists_at_once: bool | None = None,
    ) -> None:
        self.fs: Any = fs or fsspec.core.url_to_fs(root)[0]
        if fs is None and "file" not in self.fs.protocol:
            # listings are not cached: other hosts write there, too
            self.fs, _ = fsspec.core.url_to_fs(root, use_listings_cache=False)
        self.root: str = self.fs._strip_protocol(root).rstrip("/")
        self.url = root
        self.is_local = "file" in self.fs.protocol
        self.lists_at_once = not self.is_local if lists_at_once is None else lists_at_once
        # so that a large object's bytes are not in memory as a whole besides the rows
        self._by_ranges = {} if self.is_local else {"buffer_size": _BLOCK, "pre_buffer": False}
        folder, name = os.path.split(self.root)
        state_folder = folder if name == "warehouse" else self.root
        self.state_url = state_url or (f"{state_folder}/state.db" if self.is_local else "")
        self.writes_behind: Executor | None = None
        self._footers: dict[str, tuple[Any, Provenance]] = {}

    def path(self, table: Table, partition: Partition, name: str = FILE_NAME) -> str:
        """Return the path of a partition's file, or of one beside it."""
        return f"{self.root}/{table.name}/{partition.path}/{name}"

    def write(
        self, table: Table, partition: Partition, rows: pa.Table, provenance: Provenance
    ) -> Provenance:
        """Validate `rows` against the schema and replace the partition's rows in one step.

        Returns the provenance, completed with content hash and number of rows. Raise `StoreError`
        if a column is missing, unknown, of a wrong type, or null where this is not allowed.
        """
        rows = conform(table, rows, provenance.asset)
        version = content_hash(rows, table.ignored_by_hash)
        provenance = replace(provenance, content_hash=version, rows=rows.num_rows)
        footer = asdict(provenance) | {"settings_hash": provenance.settings_hash}
        rows = rows.replace_schema_metadata({FOOTER_KEY: json.dumps(footer, sort_keys=True)})
        self.write_file(
            self.path(table, partition), rows, **column_options(decoded_schema(rows.schema))
        )
        return provenance

    def write_file(self, path: str, rows: pa.Table, **how: Any) -> None:
        """Write or replace a Parquet file in one step, by options of `pq.write_table`."""
        if self.is_local:
            with self._temporary_path(path) as temporary, pa.OSFile(temporary, "wb") as file:
                write_rows(rows, file, **how)
        else:
            with self.new_file(path) as file:
                write_rows(rows, file, **how)

    def replace_file(self, path: str, content: bytes | memoryview) -> None:
        """Write `content` to `path` so that a reader sees the old file or the new one."""
        if self.is_local:
            with self.new_file(path) as file:
                file.write(content)
        else:
            self.fs.pipe_file(path, bytes(content))

    @contextmanager
    def new_file(self, path: str) -> Iterator[IO[bytes]]:
        """Yield a file for writing that replaces `path` at the end, but not after an error.

        A local file has a temporary name until then. An object of an object store is sent in parts,
        and appears when the upload is completed; after an error its parts are removed.
        """
        if self.is_local:
            with self._temporary_path(path) as temporary, open(temporary, "wb") as file:  # noqa: PTH123
                yield file
        elif self.fs.async_impl:
            upload: Any = self.fs.open(path, "wb", block_size=_BLOCK)
            try:
                yield upload
                upload.close()
            except BaseException:
                upload.discard()
                upload.closed = True  # otherwise the destructor completes the upload
                raise
        else:
            buffer = io.BytesIO()
            yield buffer
            self.fs.pipe_file(path, buffer.getvalue())  # the buffer's own bytes, not a copy

    @contextmanager
    def _temporary_path(self, path: str) -> Iterator[str]:
        """Yield a temporary local path, which replaces `path` unless an exception is raised."""
        temporary = f"{path}.{uuid.uuid4().hex}{_TEMPORARY_SUFFIX}"
        self.fs.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH120 - a URL's path
        try:
            yield temporary
            os.replace(temporary, path)  # noqa: PTH105
        finally:
            if self.fs.exists(temporary):
                self.fs.rm_file(temporary)

    def read(
        self,
        table: Table,
        partitions: Sequence[Partition],
        columns: Sequence[str] | None = None,
        as_dictionaries: Sequence[str] = (),
    ) -> tuple[pa.Table, dict[Partition, str]]:
        """Return rows of several partitions with their dimensions as columns, and content hashes.

        Partitions without a file are left out of both. A hash is that of the bytes that were read.

        Parameter `as_dictionaries`: columns of texts that occur in many rows; the dimensions are
        then read as dictionaries as well.
        """
        encode = bool(as_dictionaries)
        how: dict[str, Any] = {"read_dictionary": list(as_dictionaries) or None, **self._by_ranges}

        def read_partition(partition: Partition) -> tuple[Partition, str, pa.Table] | None:
            path = self.path(table, partition)
            try:
                with self.open_file(path) as source:
                    file = pq.ParquetFile(source, **how)
                    version = provenance_of(file.metadata.metadata).content_hash
                    rows = rows_of(file, list(columns) if columns else None)
            except FileNotFoundError:
                return None
            return partition, version, with_dimensions(table, partition, rows, encode)

        found = [p for p in _mapped(read_partition, partitions, _FILES_AT_ONCE) if p]
        hashes = {partition: version for partition, version, _ in found}
        return concatenate(table, [rows for *_, rows in found], columns), hashes

    @contextmanager
    def open_file(self, path: str) -> Iterator[Any]:
        """Yield an open file, of a small object the whole; raise `FileNotFoundError`."""
        if self.lists_at_once:
            content = self.fs.cat_file(path, start=0, end=_WHOLE)
            if len(content) < _WHOLE:
                yield pa.BufferReader(content)
                return
            del content
            with self.fs.open(path, "rb", cache_type="none") as file:
                yield file
        else:
            with self.fs.open(path, "rb") as file:
                yield file

    def list_files(self, folder: str = "") -> Listing:
        """Return all files of the store, or below one of its folders."""
        path = f"{self.root}/{folder}".rstrip("/")
        return Listing(self.root, self.fs.find(path, detail=True))

    def glob(self, pattern: str) -> list[str]:
        """Return the files and folders that match a pattern below the root, in order."""
        folder, _, _ = pattern.partition("*")[0].rpartition("/")
        depth = pattern.count("/", len(folder) + 1) + 1
        found = self.fs.find(f"{self.root}/{folder}", maxdepth=depth, withdirs=True)
        matches = re.compile(glob_translate(pattern)).match
        return sorted(path for path in found if matches(path[len(self.root) + 1 :]))

    def partitions(self, table: Table, corpus: str | None = None) -> list[Partition]:
        """Return the partitions that have a file, in order."""
        return list(self.stamped(table, corpus))

    def stamped(self, table: Table, corpus: str | None = None) -> dict[Partition, object]:
        """Return the partitions that have a file, in order, with their stamps; None: not listed."""
        if self.lists_at_once:
            folder = f"{table.name}/corpus={corpus}" if corpus else table.name
            return self.list_files(folder).stamped(table, corpus)
        levels = [f"corpus={corpus}" if corpus else "corpus=*"]
        levels += [f"{name}=*" for name in table.dimensions[1:]]
        pattern = "/".join([table.name, *levels, FILE_NAME])
        found = (Partition.from_path(path[len(self.root) :]) for path in self.glob(pattern))
        return {partition: None for partition in sorted(found)}  # noqa: C420 - its value type

    def count(self, table: Table, corpus: str) -> int:
        """Return the number of rows of a corpus, read from the footers only."""
        return self.counts([table], corpus)[table.name]

    def counts(self, tables: Sequence[Table], corpus: str) -> dict[str, int]:
        """Return the number of rows of a corpus in each of some tables, by name."""
        lister = self.list_files() if self.lists_at_once and len(tables) > 1 else self
        footers = {t.name: self.footers(t, lister.stamped(t, corpus)) for t in tables}
        return {name: sum(f.rows for f in found.values()) for name, found in footers.items()}

    def footers(
        self, table: Table, partitions: Collection[Partition] | Mapping[Partition, object]
    ) -> dict[Partition, Provenance]:
        """Return the footers of partitions with a file; known ones by their stamps alone."""
        stamps: Mapping[Partition, object] = (
            partitions if isinstance(partitions, Mapping) else dict.fromkeys(partitions)
        )

        def footer(partition: Partition) -> Provenance | None:
            return self.provenance(table, partition, stamps[partition])

        found = _mapped(footer, list(stamps), _FOOTERS_AT_ONCE if self.lists_at_once else 1)
        return {p: footer for p, footer in zip(stamps, found, strict=True) if footer}

    def provenance(
        self, table: Table, partition: Partition, stamp: object = None
    ) -> Provenance | None:
        """Return the provenance of a partition's rows, or None where there is no file.

        Without the file's stamp from a listing of this moment, it is requested if that costs less
        than the footer.
        """
        path = self.path(table, partition)
        try:
            if stamp is None and not self.lists_at_once:
                stamp = self.stamp(path)
            known = self._footers.get(path)
            if known and stamp is not None and known[0] == stamp:
                return known[1]
            provenance = provenance_of(self.metadata(table, partition).metadata)
        except FileNotFoundError:
            return None
        if stamp is not None:
            self._footers[path] = (stamp, provenance)
        return provenance

    def metadata(self, table: Table, partition: Partition) -> pq.FileMetaData:
        """Return the Parquet metadata of a file; of an object only the end is requested."""
        path = self.path(table, partition)
        if not self.lists_at_once:
            with self.open_file(path) as source:
                return pq.ParquetFile(source).metadata
        tail = self.fs.cat_file(path, start=-_TAIL)
        size = int.from_bytes(tail[-8:-4], "little") + 8
        if size > len(tail):
            tail = self.fs.cat_file(path, start=-size)
        return pq.ParquetFile(pa.BufferReader(tail)).metadata

    def delete(self, table: Table, partition: Partition) -> None:
        """Remove a partition's file; no error where there is none."""
        with suppress(FileNotFoundError):
            self.fs.rm_file(self.path(table, partition))

    def size(self, table: Table, partition: Partition) -> int:
        """Return the bytes of a partition's file."""
        return int(self.fs.size(self.path(table, partition)))

    def sweep(self, older_than_s: float = 3600) -> None:
        """Remove temporary files of killed writers; younger ones may still be in use."""
        if not self.is_local:
            return  # an object store's put leaves no temporary files
        for path in self.fs.glob(f"{self.root}/**/*{_TEMPORARY_SUFFIX}"):
            with suppress(FileNotFoundError):
                if time.time() - os.stat(path).st_mtime > older_than_s:  # noqa: PTH116
                    self.fs.rm_file(path)

    def stamp(self, path: str) -> object:
        """Return a value that changes whenever the file at `path` does."""
        if self.is_local:
            stat = os.stat(path)  # noqa: PTH116
            return stat.st_mtime_ns, stat.st_size, stat.st_ino
        return stamp_of(self.fs.info(path))


def _mapped(
    compute: Callable[[Partition], _T], partitions: Sequence[Partition], n_threads: int
) -> list[_T]:
    if n_threads == 1 or len(partitions) <= 1:
        return [compute(partition) for partition in partitions]
    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(compute, partitions))


class MemoryFiles(MemoryFileSystem):
    """Files in memory that other instances do not see, which end with the last reference."""

    cachable = False

    def __init__(self) -> None:
        super().__init__()
        self.store: dict[str, Any] = {}  # of the class in fsspec
        self.pseudo_dirs = [""]

    def _open(self, path: str, mode: str = "rb", *how: Any, **kwargs: Any) -> Any:
        """Open a file; every reader has a position of its own, unlike in fsspec."""
        if mode == "rb":
            return io.BytesIO(self.cat_file(path))
        return super()._open(path, mode, *how, **kwargs)
