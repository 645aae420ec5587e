"""Content-addressed memos: vectors and scores, kept by the hash of what they were computed from.

A memo is a folder in the store, `<root>/_memo/<kind>/<identity>/`, with a folder for each shard:
all keys that begin with the same four bits. There lie immutable segments, Parquet files sorted by
key, each written in one step and merged when there are many. A look-up reads the parts of files
that hold the wanted keys, so that a process never holds the whole memo. Several processes can
write at once, and each finds what the others have written.
"""

import hashlib
import io
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gsum_resources.arrow import pc
from gsum_resources.content_hash import hash_texts
from gsum_resources.parquet_store import ParquetStore
from gsum_resources.progress import reporter
from gsum_resources.protocols import Embedder, Gradual, Metered, Telling

_BATCH = 512  # texts between two savings: about ten seconds of work on two cores
_MERGE_AT = 16  # segments of a shard
_GROUP_ROWS = 1024  # what is read together; 1.5 MiB of 384-dimensional vectors
_RECENT_BYTES = 2**26  # of values that a process keeps


def memo_folder(store: ParquetStore, kind: str, identity: str) -> str:
    """Where the memo of a model lies."""
    return f"{store.root}/_memo/{kind}/{hash_texts([identity], 8)}"


class Memo:
    """Bytes by key. Keys are 16-byte hashes, values are whatever the caller encodes."""

    def __init__(self, store: ParquetStore, kind: str, identity: str) -> None:
        self._store = store
        self._folder = memo_folder(store, kind, identity)
        self._keys: dict[str, pa.ChunkedArray] = {}  # of known segments, by path
        self._recent = _Recent()
        self._lock = threading.RLock()

    def get(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """The values of those keys that are known."""
        with self._lock:
            wanted = list(dict.fromkeys(keys))
            found = self._recent.get(wanted)
            for shard, missing in _by_shard(k for k in wanted if k not in found).items():
                found |= self._look_up(shard, missing)
            self._recent.add(found)
        return found

    def put(self, items: Mapping[bytes, bytes]) -> None:
        """Keep `items`; on return they are in the store."""
        with self._lock:
            for shard, keys in _by_shard(items).items():
                write_segment(self._store, f"{self._folder}/{shard}", {k: items[k] for k in keys})
                if len(paths := self._segments(shard)) > _MERGE_AT:
                    self._merge(shard, paths)
            self._recent.add(items)

    def _segments(self, shard: str) -> list[str]:
        folder = f"{self._folder}/{shard}"
        self._store.fs.invalidate_cache(folder)
        return sorted(self._store.fs.glob(f"{folder}/*.parquet"))

    def _look_up(self, shard: str, keys: Collection[bytes]) -> dict[bytes, bytes]:
        """Read from a shard; what another process merged meanwhile is in a newer segment."""
        found: dict[bytes, bytes] = {}
        left = set(keys)
        while True:
            try:
                for path in self._segments(shard):
                    if not left:
                        break
                    found |= self._read(path, left)
                    left -= found.keys()
            except FileNotFoundError:
                continue
            return found

    def _read(self, path: str, keys: Collection[bytes]) -> dict[bytes, bytes]:
        """Read the values of keys from a segment, only from the groups of rows that hold any."""
        if path in self._keys and not _rows_of(self._keys[path], keys):
            return {}
        with self._store.fs.open(path, "rb") as source:
            file = pq.ParquetFile(source)
            if path not in self._keys:
                self._keys[path] = file.read(["key"])["key"]
            rows = _rows_of(self._keys[path], keys)
            found: dict[bytes, bytes] = {}
            for group in sorted({row // _GROUP_ROWS for row in rows}):
                at = [row - group * _GROUP_ROWS for row in rows if row // _GROUP_ROWS == group]
                part = file.read_row_group(group).take(at)
                found.update(zip(*(c.to_pylist() for c in part.columns), strict=True))
        return found

    def _merge(self, shard: str, paths: Sequence[str]) -> None:
        """Write the smaller half of the segments as one, then remove what it replaces.

        The larger ones stay, so that what a long run put early is not written again and again.
        """
        fs = self._store.fs
        with suppress(FileNotFoundError):  # another process does the same
            smallest = sorted(paths, key=lambda path: (fs.size(path), path))[: len(paths) // 2 + 1]
            items: dict[bytes, bytes] = {}
            for path in smallest:
                with fs.open(path, "rb") as source:
                    columns = pq.read_table(source).columns
                items.update(zip(*(column.to_pylist() for column in columns), strict=True))
            merged = write_segment(self._store, f"{self._folder}/{shard}", items)
            for path in set(smallest) - {merged}:
                self._keys.pop(path, None)
                with suppress(FileNotFoundError):
                    fs.rm_file(path)


class _Recent:
    """The values that were used last, up to `_RECENT_BYTES`."""

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
    """Keys by the first of their hexadecimal digits."""
    shards: dict[str, list[bytes]] = {}
    for key in keys:
        shards.setdefault(f"{key[0] >> 4:x}", []).append(key)
    return shards


def _rows_of(segment: pa.ChunkedArray, keys: Collection[bytes]) -> list[int]:
    """The rows of a segment that hold one of the keys."""
    is_in = pc.is_in(segment, value_set=pa.array(list(keys), pa.binary(16)))
    return np.flatnonzero(is_in.to_numpy()).tolist()


def write_segment(store: ParquetStore, folder: str, items: Mapping[bytes, bytes]) -> str:
    """Write values as a file named by its keys, so that to write it twice is to write it once."""
    keys = sorted(items)
    digest = hashlib.blake2b(b"".join(keys), digest_size=12)
    path = f"{folder}/{digest.hexdigest()}.parquet"
    values = pa.array([items[key] for key in keys], pa.large_binary())
    table = pa.table({"key": pa.array(keys, pa.binary(16)), "value": values})
    buffer = io.BytesIO()
    pq.write_table(
        table, buffer, compression="zstd", use_dictionary=False, row_group_size=_GROUP_ROWS
    )
    store.replace_file(path, buffer.getbuffer())
    return path


def shard_segments(store: ParquetStore, folder: str) -> None:
    """Put the segments that an older gsum wrote into a memo's folder itself into shards."""
    for path in store.fs.glob(f"{folder}/*.parquet"):
        with suppress(FileNotFoundError):  # another process does the same
            with store.fs.open(path, "rb") as source:
                columns = pq.read_table(source).columns
            items = dict(zip(*(column.to_pylist() for column in columns), strict=True))
            for shard, keys in _by_shard(items).items():
                write_segment(store, f"{folder}/{shard}", {key: items[key] for key in keys})
            store.fs.rm_file(path)


@dataclass(frozen=True)
class Batch:
    """What it took to embed texts, or score pairs, that no memo had: a row of `embedding_calls`."""

    model: str
    n_texts: int
    tokens_in: int
    latency_s: float
    cost_usd: float


OnBatch = Callable[[Batch], None]


def _tokens(embedder: Embedder) -> int:
    return embedder.tokens_read if isinstance(embedder, Metered) else 0


def _price(embedder: Embedder) -> float:
    return embedder.usd_per_million_tokens if isinstance(embedder, Metered) else 0.0


class MemoizedEmbedder:
    """An embedder that embeds each distinct text once."""

    def __init__(self, embedder: Embedder, store: ParquetStore) -> None:
        self._embedder = embedder
        self._on_progress: Callable[[int, int], None] | None = None
        self._on_batch: OnBatch = lambda batch: None
        self._memo = Memo(store, "embeddings", embedder.identity)

    @property
    def identity(self) -> str:
        """That of the embedder within."""
        return self._embedder.identity

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self._embedder.dimension

    def reporting(
        self, on_progress: Callable[[int, int], None], on_batch: OnBatch
    ) -> "MemoizedEmbedder":
        """The same embedder and memo.

        Parameters
        ----------
        on_progress : hears how many new texts are done, and of how many.
        on_batch : hears what each batch of new texts took.
        """
        told = copy(self)
        told._on_progress, told._on_batch = on_progress, on_batch
        return told

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Passages to float32 unit vectors, `(n_texts, dimension)`."""
        return self._remember("passage", texts)

    def embed_queries(self, texts: Sequence[str]) -> np.ndarray:
        """Queries to float32 unit vectors, `(n_texts, dimension)`."""
        return self._remember("query", texts)

    def _remember(self, side: str, texts: Sequence[str]) -> np.ndarray:
        keys = [bytes.fromhex(hash_texts([side, text])) for text in texts]
        known = self._memo.get(keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        pending = list(missing.items())
        report = self._on_progress or reporter("texts embedded", lambda _: None)
        for start in range(0, len(pending), _BATCH):

            def advance(done: int, _: int, before: int = start) -> None:
                report(before + done, len(pending))

            known.update(self._embed(side, pending[start : start + _BATCH], advance))
            report(min(start + _BATCH, len(pending)), len(pending))
        flat = np.frombuffer(b"".join(known[key] for key in keys), np.float32)
        # a served model tells its dimension at the price of a request
        return flat.reshape(len(keys), -1 if keys else self.dimension)

    def _embed(
        self,
        side: str,
        part: Sequence[tuple[bytes, str]],
        on_progress: Callable[[int, int], None],
    ) -> dict[bytes, bytes]:
        """Vectors of new texts by key, kept; those that a server sent before it failed, too."""
        fresh: dict[bytes, bytes] = {}
        before, started = _tokens(self._embedder), time.perf_counter()

        def hear(place: int, vector: np.ndarray) -> None:
            fresh[part[place][0]] = vector.tobytes()

        texts = [text for _, text in part]
        try:
            if isinstance(self._embedder, Telling):
                self._embedder.embed_telling(texts, hear)
            else:
                query = side == "query"
                embed = self._embedder.embed_queries if query else self._embedder.embed
                how = {"on_progress": on_progress} if isinstance(self._embedder, Gradual) else {}
                for place, vector in enumerate(embed(texts, **how)):
                    hear(place, vector)
        finally:
            if fresh:
                tokens, price = _tokens(self._embedder) - before, _price(self._embedder)
                seconds = time.perf_counter() - started
                cost = tokens * price / 1e6
                self._on_batch(Batch(self.identity, len(fresh), tokens, seconds, cost))
                self._memo.put(fresh)
        return fresh
