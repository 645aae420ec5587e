"""The warehouse: a Parquet file for each table and partition, replaced in one step.

A file's path is `<root>/<table>/corpus=<c>/[bucket=<b>/][method=<m>/]data.parquet`. Its footer
contains the provenance of its content, so that the store alone shows whether it is current, on any
machine.

A table about a whole corpus may have a second file, `changes.parquet`: the rows that differ from
`data.parquet`, its base (see `row_changes`). Its footer contains the provenance of the merged rows
and names the base that it belongs to; changes of another base are ignored, so that a base is
replaced first and its old changes are removed afterwards. Readers read the changes first: if the
base is replaced meanwhile, they get its new rows.
"""

import fcntl
import io
import json
import os
import time
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields, replace
from typing import IO, Any, NamedTuple

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq

from gsum_resources.store.arrow import decoded, decoded_schema, is_dictionary, pc, repeated
from gsum_resources.store.content_hash import content_hash, hash_of_columns, hash_texts
from gsum_resources.store.row_changes import (
    GONE,
    LEAST_ROWS,
    MOST_BYTES,
    MOST_ROWS,
    NONE,
    ROW,
    changes_of,
    difference,
    has_columns_of,
    merged,
)
from gsum_resources.store.table import Table

FOOTER_KEY = b"gsum.provenance"
FILE_NAME = "data.parquet"
CHANGES_NAME = "changes.parquet"
_TEMPORARY_SUFFIX = ".part"
_LOCKS = "_locks"
DIMENSIONS = ("corpus", "bucket", "method")
_DICTIONARY_BYTES = 2**23  # room for 300,000 ids; larger columns are written without a dictionary
_FILES_AT_ONCE = 4  # files read concurrently: hides an object store's latency, bounds memory
_FOOTERS_AT_ONCE = 16  # footers are small
_GROUP_ROWS = 2**20  # of a file, pyarrow's default
_GROUP = 2**25  # bytes of rows in a row group
_BLOCK = 2**23  # bytes of an object sent or requested at once
_WHOLE = 2**24  # smaller objects are read by one request, larger ones by ranges
_TAIL = 2**16  # bytes at the end of an object, which contain its footer


class StoreError(ValueError):
    """A table cannot be written or read; the message names table, column and asset."""


@dataclass(frozen=True, order=True)
class Partition:
    """The partition of a table that one file holds; dimensions that the table lacks are None."""

    corpus: str
    bucket: str | None = None
    method: str | None = None

    @property
    def path(self) -> str:
        """Hive-style path segments, `corpus=qmsum/bucket=03`."""
        values = ((name, getattr(self, name)) for name in DIMENSIONS)
        return "/".join(f"{name}={value}" for name, value in values if value is not None)

    @classmethod
    def from_path(cls, path: str) -> "Partition":
        """Return the partition named by the segments of `path`."""
        pairs = (segment.split("=", 1) for segment in path.split("/") if "=" in segment)
        return cls(**{name: value for name, value in pairs if name in DIMENSIONS})

    def is_of(self, table: Table) -> bool:
        """Return whether the partition has exactly the dimensions of a table."""
        return all((getattr(self, d) is not None) == (d in table.dimensions) for d in DIMENSIONS)


@dataclass(frozen=True)
class Provenance:
    """Origin of a file's content.

    Attributes
    ----------
    content_hash : hash of the rows without measured columns.
    code_version : code version of the asset that wrote the file.
    inputs : version of each input by its key: `table:chunks/corpus=qmsum`,
        `settings:chunking/corpus=qmsum`, `model:embedding_model`, and where only the number of rows
        counts `rows:documents/corpus=qmsum`, or its binary digits
        `size:lightpal.passage_edges/corpus=qmsum`.
    asset, run_id, time : asset and run that wrote the file, and when (ISO 8601, UTC).
    rows : number of rows.
    failed : number of model requests without a valid reply, so that rows are missing; they are
        repeated when the partition is materialized again.
    filtered : number of model requests that a content filter rejected, so that rows are missing for
        good.
    written : number of rows in the file that was written, fewer than `rows` in a file of changes.
    """

    content_hash: str
    code_version: str
    inputs: Mapping[str, str] = field(default_factory=dict)
    asset: str = ""
    run_id: str = ""
    time: str = ""
    rows: int = 0
    failed: int = 0
    written: int = 0
    filtered: int = 0

    @property
    def settings_hash(self) -> str:
        """Hash of the settings among the inputs."""
        return hash_texts(
            f"{key}={self.inputs[key]}"
            for key in sorted(self.inputs)
            if key.startswith("settings:")
        )


class Stamp(NamedTuple):
    """A value that changes with the content of a partition's files; None: there are no changes."""

    base: object
    changes: object | None = None


class Listing:
    """The files of a store, or below a folder of it, at one moment: the result of one listing.

    Attributes
    ----------
    stamps : by table, its partitions with a value that changes with the content of their file.
    tables : names of the tables that have any file, also of those that are appended to.

    Parameters
    ----------
    root : root of the store.
    found : information on each file by its path, as of `fs.find` with details.
    """

    def __init__(self, root: str, found: Mapping[str, Mapping[str, Any]]) -> None:
        self.tables: set[str] = set()
        self.stamps: dict[str, dict[Partition, object]] = {}
        for path, info in found.items():
            table, _, rest = path[len(root) + 1 :].partition("/")
            is_changes = rest.endswith(f"/{CHANGES_NAME}")
            if rest.startswith("corpus=") and rest.endswith(".parquet") and not is_changes:
                self.tables.add(table)
                if rest.endswith(f"/{FILE_NAME}"):
                    partition = Partition.from_path(rest)
                    changes = found.get(_changes_path(path))
                    stamp = Stamp(stamp_of(info), stamp_of(changes) if changes else None)
                    self.stamps.setdefault(table, {})[partition] = stamp

    def partitions(self, table: Table, corpus: str | None = None) -> dict[Partition, object]:
        """Return the partitions of a table that have a file, in order, with their stamps."""
        found = self.stamps.get(table.name, {})
        wanted = (p for p in found if corpus in (None, p.corpus) and p.is_of(table))
        return {partition: found[partition] for partition in sorted(wanted)}


def stamp_of(info: Mapping[str, Any]) -> object:
    """Return a value that changes with the content of an object, from information on it."""
    return info.get("ETag") or info.get("created") or info.get("mtime"), info.get("size")


class ParquetStore:
    """Reads and writes the warehouse under a local folder or any fsspec URL.

    In an object store every operation is a request, so that listings and footers are requested for
    many files at once, and nothing is cached that another host may change.

    Parameters
    ----------
    state_url : path or URL of the state database (`state.py`); by default `state.db` in a local
        root folder, or beside it if it is called `warehouse`, as in a home.

    Attributes
    ----------
    lists_at_once : whether one listing of the whole store costs less than one for each table.
    """

    def __init__(self, root: str, state_url: str = "") -> None:
        self.fs, self.root = open_url(root)
        self.url = root
        self.is_local = "file" in self.fs.protocol
        self.lists_at_once = not self.is_local
        # so that a large object's bytes are not in memory as a whole besides the rows
        self._by_ranges = {} if self.is_local else {"buffer_size": _BLOCK, "pre_buffer": False}
        folder, name = os.path.split(self.root)
        state_folder = folder if name == "warehouse" else self.root
        self.state_url = state_url or (f"{state_folder}/state.db" if self.is_local else "")
        self._footers: dict[str, tuple[Any, Provenance]] = {}

    def path(self, table: Table, partition: Partition) -> str:
        """Return the path of a partition's file, beside which changes may be."""
        return f"{self.root}/{table.name}/{partition.path}/{FILE_NAME}"

    def write(
        self, table: Table, partition: Partition, rows: pa.Table, provenance: Provenance
    ) -> Provenance:
        """Validate `rows` against the schema and replace the partition's rows in one step.

        Of a large table about a whole corpus only changes are written, if they are few. Rows that
        differ only in measured columns are no changes: they keep their earlier measurement.

        Returns the provenance, completed with content hash and row counts.

        Raises
        ------
        StoreError
            If a column is missing, unknown, of a wrong type, or null where this is not allowed.
        """
        rows = conform(table, rows, provenance.asset)
        version, n = content_hash(rows, table.measured), rows.num_rows
        provenance = replace(provenance, content_hash=version, rows=n, written=n)
        path = self.path(table, partition)
        is_large = table.has_changes and n >= LEAST_ROWS
        changes = self._changes(table, path, rows, version) if is_large else None
        if changes:
            base, changed = changes
            n_changed = changed.num_rows - changed[ROW].null_count
            provenance = replace(provenance, written=n_changed)
            self._write_rows(_changes_path(path), changed, provenance, base=base)
            return provenance
        self._write_rows(path, rows, provenance, file=uuid.uuid4().hex)
        if is_large or (table.has_changes and self.is_local):  # elsewhere each removal is a request
            self._remove(_changes_path(path))
        return provenance

    def _changes(
        self, table: Table, path: str, rows: pa.Table, version: str
    ) -> tuple[str, pa.Table] | None:
        """Return the id of the base at `path` and the changes that make it `rows`.

        None if there is no such base, or if it should be replaced: the changes are not few, or the
        comparison would cost more than it saves.
        """
        compared = [name for name in rows.column_names if name not in table.measured]
        texts = [f.name for f in table.schema if pa.types.is_string(f.type)]
        try:
            with self.open_file(path) as source:
                file = pq.ParquetFile(source, read_dictionary=texts, **self._by_ranges)
                footer = _footer(file.metadata.metadata)
                if "file" not in footer or not has_columns_of(rows.schema, file.schema_arrow):
                    return None
                n_rows = max(rows.num_rows, file.metadata.num_rows)
                if footer["content_hash"] == version == _hash_of(file, compared):
                    found = NONE  # and the base is not damaged
                elif n_rows > MOST_ROWS or rows.nbytes > MOST_BYTES:
                    return None
                else:
                    found = difference(_rows_of(file, compared), rows.select(compared))
        except (OSError, pa.ArrowException, StoreError):  # none, or a damaged one: replace it
            return None
        return (footer["file"], changes_of(rows, found)) if found else None

    def _write_rows(self, path: str, rows: pa.Table, provenance: Provenance, **ids: str) -> None:
        """Write or replace a file with its provenance and ids in the footer."""
        content = asdict(provenance) | {"settings_hash": provenance.settings_hash} | ids
        rows = rows.replace_schema_metadata({FOOTER_KEY: json.dumps(content, sort_keys=True)})
        schema = decoded_schema(rows.schema)
        texts = [f.name for f in schema if not _holds_numbers(f.type)]
        how: dict[str, Any] = {
            "compression": {
                leaf: "zstd" if leaf.split(".")[0] in texts else "none" for leaf in _leaves(schema)
            },
            "use_dictionary": texts,
            "dictionary_pagesize_limit": _DICTIONARY_BYTES,
        }
        self.write_file(path, rows, **how)

    def compact(self, corpus: str) -> None:
        """Merge all changes of a corpus into their bases, so that no file has replaced rows.

        To be called while nobody writes tables of the corpus.
        """
        for changes in self.fs.glob(f"{self.root}/*/corpus={corpus}/{CHANGES_NAME}"):
            path = changes.removesuffix(CHANGES_NAME) + FILE_NAME
            with suppress(FileNotFoundError):
                base = _provenance(_footer(self._metadata(path).metadata))
                newest = self._newest(path, has_changes=True)
                if newest != base:
                    if newest.content_hash == base.content_hash:
                        continue  # the base has no other rows, and may be large
                    rows, _ = self._read_rows(path, has_changes=True)
                    newest = replace(newest, written=newest.rows)
                    self._write_rows(path, rows, newest, file=uuid.uuid4().hex)
            self._remove(changes)

    def write_file(self, path: str, rows: pa.Table, **how: Any) -> None:
        """Write or replace a Parquet file in one step.

        Parameters
        ----------
        how : options of `pyarrow.parquet.write_table`.
        """
        if self.is_local:
            with self._temporary_path(path) as temporary, pa.OSFile(temporary, "wb") as file:
                _write_rows(rows, file, **how)
        else:
            with self.new_file(path) as file:
                _write_rows(rows, file, **how)

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
    def alone(self, name: str) -> Iterator[None]:
        """Hold an exclusive lock `name` against other processes of this machine and other threads.

        Others wait; the system releases the lock of a dead process, and the empty lock file
        remains. An object store has no locks: there, nobody waits.
        """
        if not self.is_local:
            yield
            return
        path = f"{self.root}/{_LOCKS}/{name}"
        self.fs.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH120
        with open(path, "ab") as file:  # noqa: PTH123
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

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

        Parameters
        ----------
        as_dictionaries : columns of texts to read as dictionaries, for texts that occur in many
            rows: a fifth of the memory, a tenth of the time. The dimensions are then dictionaries
            as well.
        """

        encode = bool(as_dictionaries)

        def read_partition(partition: Partition) -> tuple[Partition, str, pa.Table] | None:
            path = self.path(table, partition)
            try:
                rows, provenance = self._read_rows(
                    path, table.has_changes, columns, as_dictionaries
                )
            except FileNotFoundError:
                return None
            rows = _with_dimensions(table, partition, rows, encode)
            return partition, provenance.content_hash, rows

        with ThreadPoolExecutor(_FILES_AT_ONCE) as pool:
            found = [result for result in pool.map(read_partition, partitions) if result]
        hashes = {partition: version for partition, version, _ in found}
        return _concatenate(table, [rows for *_, rows in found], columns), hashes

    def _read_rows(
        self,
        path: str,
        has_changes: bool,
        columns: Sequence[str] | None = None,
        as_dictionaries: Sequence[str] = (),
    ) -> tuple[pa.Table, Provenance]:
        """Return the rows at `path`, merged with their changes, and their provenance."""
        how: dict[str, Any] = {"read_dictionary": list(as_dictionaries) or None, **self._by_ranges}
        footer, changes = {}, None
        if has_changes:
            with suppress(FileNotFoundError), self.open_file(_changes_path(path)) as source:
                file = pq.ParquetFile(source, **how)
                footer = _footer(file.metadata.metadata)
                changes = _rows_of(file, [*columns, ROW, GONE] if columns else None)
        with self.open_file(path) as source:
            file = pq.ParquetFile(source, **how)
            of_base = _footer(file.metadata.metadata)
            rows = _rows_of(file, list(columns) if columns else None)
        if changes is None or not _belongs(footer, of_base):
            return rows, _provenance(of_base)
        return merged(rows, changes), _provenance(footer)

    @contextmanager
    def open_file(self, path: str) -> Iterator[Any]:
        """Yield an open file for reading.

        A small object is read whole, by one request, and of a large one the ranges that are read.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        """
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

    def partitions(self, table: Table, corpus: str | None = None) -> list[Partition]:
        """Return the partitions that have a file, in order."""
        return list(self.stamped(table, corpus))

    def stamped(self, table: Table, corpus: str | None = None) -> dict[Partition, object]:
        """Return the partitions that have a file, in order, with their stamps where listed.

        A stamp is None where a listing has none; `footers` then asks for it.
        """
        if self.lists_at_once:
            folder = f"{table.name}/corpus={corpus}" if corpus else table.name
            return self.list_files(folder).partitions(table, corpus)
        levels = [f"corpus={corpus}" if corpus else "corpus=*"]
        levels += [f"{name}=*" for name in table.dimensions[1:]]
        pattern = "/".join([self.root, table.name, *levels, FILE_NAME])
        found = (Partition.from_path(path[len(self.root) :]) for path in self.fs.glob(pattern))
        return {partition: None for partition in sorted(found)}  # noqa: C420 - its value type

    def count(self, table: Table, corpus: str) -> int:
        """Return the number of rows of a corpus, read from the footers only."""
        return self.counts([table], corpus)[table.name]

    def counts(self, tables: Sequence[Table], corpus: str) -> dict[str, int]:
        """Return the number of rows of a corpus in each of some tables, by name."""
        listing = self.list_files() if self.lists_at_once and len(tables) > 1 else None
        counts = {}
        for table in tables:
            found = listing.partitions(table, corpus) if listing else self.stamped(table, corpus)
            counts[table.name] = sum(f.rows for f in self.footers(table, found).values())
        return counts

    def footers(
        self, table: Table, partitions: Collection[Partition] | Mapping[Partition, object]
    ) -> dict[Partition, Provenance]:
        """Return the footers of those partitions that have a file.

        Parameters
        ----------
        partitions : with their stamps, as in `stamped`, known footers are not requested again.
        """
        stamps: Mapping[Partition, object] = (
            partitions if isinstance(partitions, Mapping) else dict.fromkeys(partitions)
        )

        def footer(partition: Partition) -> Provenance | None:
            return self.provenance(table, partition, stamps[partition])

        with ThreadPoolExecutor(_FOOTERS_AT_ONCE if self.lists_at_once else _FILES_AT_ONCE) as pool:
            found = pool.map(footer, stamps)
            return {p: footer for p, footer in zip(stamps, found, strict=True) if footer}

    def provenance(
        self, table: Table, partition: Partition, stamp: object = None
    ) -> Provenance | None:
        """Return the provenance of a partition's rows, or None where there is no file.

        Parameters
        ----------
        stamp : the files' stamp from a listing of this moment; None: it is requested if that costs
            less than the footers.
        """
        path = self.path(table, partition)
        has_changes = table.has_changes
        try:
            if stamp is None and not self.lists_at_once:
                stamp = self._stamp(path, has_changes)
            known = self._footers.get(path)
            if known and stamp is not None and known[0] == stamp:
                return known[1]
            has_changes &= not isinstance(stamp, Stamp) or stamp.changes is not None
            found = self._newest(path, has_changes)
        except FileNotFoundError:
            return None
        if stamp is not None:
            self._footers[path] = (stamp, found)
        return found

    def _newest(self, path: str, has_changes: bool) -> Provenance:
        """Return the provenance of the changes of the file at `path`, or else that of the file."""
        changes: Mapping[str, Any] = {}
        if has_changes:
            with suppress(FileNotFoundError):
                changes = _footer(self._metadata(_changes_path(path)).metadata)
        footer = _footer(self._metadata(path).metadata)
        return _provenance(changes if _belongs(changes, footer) else footer)

    def metadata(self, table: Table, partition: Partition) -> pq.FileMetaData:
        """Return the Parquet metadata of a partition's base, whose columns its changes have."""
        return self._metadata(self.path(table, partition))

    def _metadata(self, path: str) -> pq.FileMetaData:
        """Return the Parquet metadata of a file; of an object only the end is requested."""
        if not self.lists_at_once:
            with self.fs.open(path, "rb") as source:
                return pq.ParquetFile(source).metadata
        tail = self.fs.cat_file(path, start=-_TAIL)
        size = int.from_bytes(tail[-8:-4], "little") + 8
        if size > len(tail):
            tail = self.fs.cat_file(path, start=-size)
        return pq.ParquetFile(pa.BufferReader(tail)).metadata

    def delete(self, table: Table, partition: Partition) -> None:
        """Remove a partition's files; no error where there are none."""
        path = self.path(table, partition)
        self._remove(path)  # first: its changes alone are no table
        if table.has_changes:
            self._remove(_changes_path(path))

    def size(self, table: Table, partition: Partition) -> int:
        """Return the bytes of a partition's files."""
        path = self.path(table, partition)
        n_bytes = int(self.fs.size(path))
        if table.has_changes:
            with suppress(FileNotFoundError):
                n_bytes += int(self.fs.size(_changes_path(path)))
        return n_bytes

    def _remove(self, path: str) -> None:
        with suppress(FileNotFoundError):
            self.fs.rm_file(path)

    def sweep(self, older_than_s: float = 3600) -> None:
        """Remove temporary files of killed writers; younger ones may still be in use."""
        if not self.is_local:
            return  # an object store's put leaves no temporary files
        for path in self.fs.glob(f"{self.root}/**/*{_TEMPORARY_SUFFIX}"):
            with suppress(FileNotFoundError):
                if time.time() - os.stat(path).st_mtime > older_than_s:  # noqa: PTH116
                    self.fs.rm_file(path)

    def _stamp(self, path: str, has_changes: bool) -> Stamp:
        """Return a value that changes whenever the file at `path` or its changes do."""
        changes = None
        if has_changes:
            with suppress(FileNotFoundError):
                changes = self._stamp_of_file(_changes_path(path))
        return Stamp(self._stamp_of_file(path), changes)

    def _stamp_of_file(self, path: str) -> object:
        if self.is_local:
            stat = os.stat(path)  # noqa: PTH116
            return stat.st_mtime_ns, stat.st_size, stat.st_ino
        return stamp_of(self.fs.info(path))


def open_url(url: str) -> tuple[Any, str]:
    """Return the file system of a path or URL, and the path in it.

    Listings are not cached: other hosts write there, too.
    """
    fs, path = fsspec.core.url_to_fs(url)
    if "file" not in fs.protocol:
        fs, path = fsspec.core.url_to_fs(url, use_listings_cache=False)
    return fs, path.rstrip("/")


def version_of(hashes: Mapping[Partition, str]) -> str:
    """Return a version of a set of partitions that changes with any member or its content."""
    return hash_texts(f"{partition.path}={hashes[partition]}" for partition in sorted(hashes))


def conform(table: Table, rows: pa.Table, asset: str) -> pa.Table:
    """Return `rows` with exactly the table's columns, in order and of the declared types.

    A variable-length list of floats may be passed as a fixed-size list, as vectors are stored, and
    texts as a dictionary.

    Raises
    ------
    StoreError
        If the columns do not match; the message names table, asset and column.
    """
    where = f"table '{table.name}' written by asset '{asset}'"
    names = [column.name for column in table.columns]
    missing = [name for name in names if name not in rows.column_names]
    unknown = [n for n in rows.column_names if n not in names and n not in DIMENSIONS]
    if missing or unknown:
        raise StoreError(f"{where}: missing columns {missing}, unknown columns {unknown}")
    arrays, fields = [], []
    for column in table.columns:
        array = rows.column(column.name)
        if _is_vector_of(array.type, column.type):  # without rows the length is meaningless
            array = array if len(array) else pa.chunked_array([], column.type)
        elif array.type != column.type and not _is_dictionary_of(array.type, column.type):
            array = _cast(array, column.type, f"{where}: column '{column.name}'")
        if array.null_count and not column.nullable:
            raise StoreError(
                f"{where}: column '{column.name}' has {array.null_count} nulls, none allowed"
            )
        arrays.append(array)
        fields.append(pa.field(column.name, array.type, column.nullable))
    return pa.table(arrays, schema=pa.schema(fields))


def _cast(array: pa.ChunkedArray, wanted: pa.DataType, where: str) -> pa.ChunkedArray:
    """Widen numbers and cast all-null columns; raise an error for other types."""
    numeric = pa.types.is_integer(array.type) and pa.types.is_integer(wanted)
    numeric |= pa.types.is_floating(array.type) and pa.types.is_floating(wanted)
    string_like = pa.types.is_large_string(array.type) and pa.types.is_string(wanted)
    empty_list = pa.types.is_list(array.type) and pa.types.is_null(array.type.value_type)
    times = pa.types.is_timestamp(array.type) and pa.types.is_timestamp(wanted)
    if not (numeric or string_like or empty_list or times or pa.types.is_null(array.type)):
        raise StoreError(f"{where} has type {array.type}, expected {wanted}")
    try:
        return pc.cast(array, wanted)
    except pa.ArrowInvalid as error:
        raise StoreError(f"{where} does not fit {wanted}: {error}") from error


def _is_vector_of(found: pa.DataType, declared: pa.DataType) -> bool:
    return (
        pa.types.is_fixed_size_list(found)
        and pa.types.is_list(declared)
        and found.value_type == declared.value_type
    )


def _is_dictionary_of(found: pa.DataType, declared: pa.DataType) -> bool:
    return is_dictionary(found) and found.value_type == declared


def _write_rows(rows: pa.Table, file: Any, row_group_size: int | None = None, **how: Any) -> None:
    """Write rows as Parquet; dictionaries as texts, which are in memory for a row group only.

    A row group of lists has levels as large as its values; a small one bounds them.
    """
    n_groups = -(-rows.nbytes // _GROUP) or 1
    row_group_size = row_group_size or min(_GROUP_ROWS, -(-rows.num_rows // n_groups) or 1)
    if not any(is_dictionary(f.type) for f in rows.schema):
        pq.write_table(rows, file, row_group_size=row_group_size, **how)
        return
    with pq.ParquetWriter(file, decoded_schema(rows.schema), **how) as writer:
        for at in range(0, rows.num_rows, row_group_size):
            part = decoded(rows.slice(at, row_group_size))
            writer.write_table(part, row_group_size=row_group_size)


def _holds_numbers(kind: pa.DataType) -> bool:
    """Return whether a type is lists of numbers: vectors, hashes and scores hardly shrink."""
    is_list = pa.types.is_fixed_size_list(kind) or pa.types.is_list(kind)
    return is_list and pa.types.is_primitive(kind.value_type)


def _leaves(schema: pa.Schema) -> list[str]:
    """Return Parquet's names of the leaf columns, `embedding.list.element` for a list."""
    return [
        f"{f.name}.list.element"
        if pa.types.is_list(f.type) or pa.types.is_fixed_size_list(f.type)
        else f.name
        for f in schema
    ]


def _changes_path(path: str) -> str:
    """Return the path of the changes of the file at `path`."""
    return path.removesuffix(FILE_NAME) + CHANGES_NAME


def _footer(metadata: Mapping[bytes, bytes] | None) -> dict[str, Any]:
    """Return what a file's footer says on its content and origin."""
    if not metadata or FOOTER_KEY not in metadata:
        raise StoreError(
            "a file of the warehouse has no provenance: it was not written by gsum; remove it"
        )
    return json.loads(metadata[FOOTER_KEY])


def _belongs(changes: Mapping[str, Any], base: Mapping[str, Any]) -> bool:
    """Return whether changes are those of a base, by the footers of both."""
    return "base" in changes and changes["base"] == base.get("file")


def _provenance(footer: Mapping[str, Any]) -> Provenance:
    return Provenance(**{f.name: footer[f.name] for f in fields(Provenance) if f.name in footer})


def _rows_of(file: pq.ParquetFile, columns: list[str] | None) -> pa.Table:
    """Return all rows; one row group after the other, as each needs its levels in memory."""
    if file.num_row_groups < 2:
        return file.read(columns=columns)
    groups = (file.read_row_group(i, columns) for i in range(file.num_row_groups))
    return pa.concat_tables(groups)


def _hash_of(file: pq.ParquetFile, columns: list[str]) -> str:
    """Return the content hash of some columns of a file, with one of them in memory at a time."""
    return hash_of_columns((name, _rows_of(file, [name]).column(name)) for name in columns)


def _with_dimensions(table: Table, partition: Partition, rows: pa.Table, encode: bool) -> pa.Table:
    n = rows.num_rows
    for name in table.dimensions:
        value = getattr(partition, name)
        zeros = pa.repeat(pa.scalar(0, pa.int32()), n)
        column = pa.DictionaryArray.from_arrays(zeros, [value]) if encode else repeated(value, n)
        rows = rows.append_column(name, column)
    return rows.replace_schema_metadata(None)


def _concatenate(
    table: Table, tables: Iterable[pa.Table], columns: Sequence[str] | None
) -> pa.Table:
    """Return all rows as one table, without empty tables, whose vectors have no length."""
    tables = list(tables)
    filled = [each for each in tables if each.num_rows] or tables[:1]
    if filled:
        return pa.concat_tables(filled)
    fields = [pa.field(name, pa.string()) for name in table.dimensions]
    chosen = [f for f in table.schema if columns is None or f.name in columns]
    return pa.schema([*chosen, *fields]).empty_table()
