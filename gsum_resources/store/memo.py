"""Content-addressed memos: vectors and scores, stored by the hash of their inputs.

A memo is a folder `<root>/_memo/<kind>/<identity>/` with one folder per shard: the keys that share
their first four bits. A shard holds immutable segments, Parquet files sorted by key. When there are
many, those of similar size are merged, so that a value is rewritten once for each class of sizes.
"""

import hashlib
import math
import threading
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gsum_resources.store.content_hash import hash_texts
from gsum_resources.store.parquet_store import ParquetStore

_MERGE_AT = 16  # number of segments in a shard from which some are merged
_ALIKE = 8  # so many segments of one class of sizes become one; classes grow by this factor
_GROUP_ROWS = 1024  # rows per row group; 1.5 MiB of 384-dimensional vectors
_RECENT_BYTES = 2**26  # values kept in memory by a process


class Memo:
    """Bytes by key, which several processes may write. Keys are 16-byte hashes."""

    def __init__(self, store: ParquetStore, kind: str, identity: str) -> None:
        self._store = store
        self._folder = f"{store.root}/_memo/{kind}/{hash_texts([identity], 8)}"
        self._keys: dict[str, np.ndarray] = {}  # of known segments, ascending, by path
        self._recent = _Recent()
        self._merge_at: dict[str, int] = {}  # number of segments, by shard
        self._lock, self._writing = threading.RLock(), threading.Lock()

    def exists(self) -> bool:
        """Return whether any value was stored."""
        return self._store.fs.exists(self._folder)

    def get(self, keys: Iterable[bytes], on_disk: bool = True) -> dict[bytes, bytes]:
        """Return the stored values of `keys`; `on_disk=False`: those in this process's memory."""
        with self._lock:
            wanted = list(dict.fromkeys(keys))
            values = self._recent.get(wanted)
            if not on_disk:
                return values
            missing = _by_shard(k for k in wanted if k not in values)
            segments = self._segments(missing)
            for shard, keys_of_shard in missing.items():
                values |= self._look_up(shard, keys_of_shard, segments[shard])
            self._recent.add(values)
        return values

    def put(self, items: Mapping[bytes, bytes], on_disk: bool = True) -> None:
        """Store `items`, which are on disk when this returns, unless the store writes behind.

        `on_disk=False`: the most recent ones are kept in this process's memory alone.
        """
        with self._lock:
            self._recent.add(items)
        if not on_disk:
            return
        if writing := self._store.writes_behind:
            writing.submit(self._write, dict(items))
        else:
            self._write(items)

    def _write(self, items: Mapping[bytes, bytes]) -> None:
        with self._writing:
            by_shard = _by_shard(items)
            for shard, keys in by_shard.items():
                _write_segment(self._store, f"{self._folder}/{shard}", {k: items[k] for k in keys})
            for shard, paths in self._segments(by_shard).items():
                if len(paths) >= self._merge_at.get(shard, _MERGE_AT):
                    n_merged = self._merge_alike(shard, paths)
                    self._merge_at[shard] = max(_MERGE_AT, len(paths) - n_merged + _ALIKE)

    def _segments(self, shards: Collection[str]) -> dict[str, list[str]]:
        """Return the paths of the segments of each shard; of an object store by one listing."""
        fs, root = self._store.fs, self._folder
        if self._store.lists_at_once:
            folder = root if len(shards) > 1 else f"{root}/{''.join(shards)}"
            paths = [str(path) for path in fs.find(folder)] if shards else []
        else:
            paths = [path for shard in shards for path in fs.glob(f"{root}/{shard}/*.parquet")]
        return {
            shard: sorted(path for path in paths if path.startswith(f"{root}/{shard}/"))
            for shard in shards
        }

    def _look_up(
        self, shard: str, keys: Collection[bytes], segments: Sequence[str]
    ) -> dict[bytes, bytes]:
        """Return values in a shard; if another process merged segments, they are listed again."""
        values: dict[bytes, bytes] = {}
        try:
            for path in segments:
                if left := set(keys) - values.keys():
                    values |= self._read(path, left)
        except FileNotFoundError:
            return self._look_up(shard, keys, self._segments([shard])[shard])
        return values

    def _read(self, path: str, keys: Collection[bytes]) -> dict[bytes, bytes]:
        """Return the values of keys in a segment, reading only row groups that hold any of them."""
        if path in self._keys and not _rows_of(self._keys[path], keys):
            return {}
        with self._store.open_file(path) as source:
            file = pq.ParquetFile(source)
            if path not in self._keys:
                keys_of_file = file.read(["key"])["key"].combine_chunks()
                first, end = keys_of_file.offset, keys_of_file.offset + len(keys_of_file)
                self._keys[path] = np.frombuffer(keys_of_file.buffers()[1], "S16")[first:end]
            rows = _rows_of(self._keys[path], keys)
            values: dict[bytes, bytes] = {}
            for group in sorted({row // _GROUP_ROWS for row in rows}):
                at = [row - group * _GROUP_ROWS for row in rows if row // _GROUP_ROWS == group]
                values |= _items(file.read_row_group(group).take(at))
        return values

    def _merge_alike(self, shard: str, paths: Sequence[str]) -> int:
        """Merge classes of sizes that have many segments; return how many fewer are left."""
        classes: dict[int, list[str]] = {}
        with suppress(FileNotFoundError):  # another process merges
            for path in paths:
                size = max(1, self._store.fs.size(path))
                classes.setdefault(int(math.log(size, _ALIKE)), []).append(path)
            for alike in (classes[c] for c in sorted(classes) if len(classes[c]) >= _ALIKE):
                self._merge(shard, alike)
        return sum(len(alike) - 1 for alike in classes.values() if len(alike) >= _ALIKE)

    def _merge(self, shard: str, paths: Sequence[str]) -> None:
        items: dict[bytes, bytes] = {}
        for path in paths:
            with self._store.open_file(path) as source:
                items |= _items(pq.read_table(source))
        merged = _write_segment(self._store, f"{self._folder}/{shard}", items)
        for path in set(paths) - {merged}:
            self._keys.pop(path, None)
            with suppress(FileNotFoundError):
                self._store.fs.rm_file(path)


class _Recent:
    """The most recently used values, up to `_RECENT_BYTES`."""

    def __init__(self) -> None:
        self._values: OrderedDict[bytes, bytes] = OrderedDict()
        self._n_bytes = 0

    def get(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        return {key: self._values[key] for key in keys if key in self._values}

    def add(self, items: Mapping[bytes, bytes]) -> None:
        for key, value in items.items():
            self._n_bytes += len(value) - len(self._values.pop(key, b""))
            self._values[key] = value
        while self._n_bytes > _RECENT_BYTES:
            self._n_bytes -= len(self._values.popitem(last=False)[1])


def _by_shard(keys: Iterable[bytes]) -> dict[str, list[bytes]]:
    shards: dict[str, list[bytes]] = {}
    for key in keys:
        shards.setdefault(f"{key[0] >> 4:x}", []).append(key)
    return shards


def _rows_of(segment: np.ndarray, keys: Collection[bytes]) -> list[int]:
    """Return the rows of a segment that hold one of the keys."""
    wanted = np.array(sorted(keys), "S16")
    rows = np.searchsorted(segment, wanted)
    is_there = rows < len(segment)
    is_there[is_there] = segment[rows[is_there]] == wanted[is_there]
    return rows[is_there].tolist()


def _write_segment(store: ParquetStore, folder: str, items: Mapping[bytes, bytes]) -> str:
    """Write values as a file named by the hash of its keys; writing it twice is idempotent."""
    keys = sorted(items)
    digest = hashlib.blake2b(b"".join(keys), digest_size=12)
    path = f"{folder}/{digest.hexdigest()}.parquet"
    values = pa.array([items[key] for key in keys], pa.large_binary())
    table = pa.table({"key": pa.array(keys, pa.binary(16)), "value": values})
    how = {"compression": "zstd", "use_dictionary": False, "row_group_size": _GROUP_ROWS}
    store.write_file(path, table, **how)
    return path


def _items(rows: pa.Table) -> dict[bytes, bytes]:
    return dict(zip(*(column.to_pylist() for column in rows.columns), strict=True))
