"""Content-addressed memos: what an expensive call returned, kept by the hash of what it was asked.

A memo is a folder of immutable segment files in the store, `<root>/_memo/<kind>/<identity>/`.
Each `put` writes one segment in one step, so a killed run loses at most the calls in flight, and
several processes can write at once. Segments are merged when there are many.
"""

import hashlib
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gsum_resources.content_hash import hash_texts
from gsum_resources.parquet_store import ParquetStore
from gsum_resources.protocols import Embedder

_BATCH = 512  # texts between two savings: about ten seconds of work on two cores
MERGE_AT = 64  # segments; a listing of that many is still one cheap request


class Memo:
    """Bytes by key. Keys are 16-byte hashes, values are whatever the caller encodes."""

    def __init__(self, store: ParquetStore, kind: str, identity: str) -> None:
        self._store = store
        self._folder = f"{store.root}/_memo/{kind}/{hash_texts([identity], 8)}"
        self._values: dict[bytes, tuple[pa.Array, int]] = {}
        self._segments: set[str] = set()

    def get(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """The values of those keys that are known."""
        self._load_new_segments()
        found = {}
        for key in keys:
            if key in self._values:
                segment, row = self._values[key]
                found[key] = segment[row].as_buffer().to_pybytes()
        return found

    def put(self, items: Mapping[bytes, bytes]) -> None:
        """Keep `items`; on return they are in the store."""
        if not items:
            return
        table = pa.table(
            {
                "key": pa.array(list(items), pa.binary(16)),
                "value": pa.array(list(items.values()), pa.large_binary()),
            }
        )
        self._add(self._write(table), table)
        if len(self._segments) > MERGE_AT:
            self._merge()

    def _write(self, table: pa.Table) -> str:
        digest = hashlib.blake2b(b"".join(table["key"].to_pylist()), digest_size=12)
        path = f"{self._folder}/{digest.hexdigest()}.parquet"
        buffer = io.BytesIO()
        pq.write_table(table, buffer, compression="zstd", use_dictionary=False)
        self._store.replace_file(path, buffer.getbuffer())
        return path

    def _add(self, path: str, table: pa.Table) -> None:
        keys = table["key"].to_pylist()
        values = table["value"].combine_chunks()
        values = values if isinstance(values, pa.Array) else pa.concat_arrays(values.chunks)
        self._values.update((key, (values, row)) for row, key in enumerate(keys))
        self._segments.add(path)

    def _load_new_segments(self) -> None:
        fs = self._store.fs
        for path in sorted(set(fs.glob(f"{self._folder}/*.parquet")) - self._segments):
            try:
                with fs.open(path, "rb") as source:
                    self._add(path, pq.read_table(source))
            except FileNotFoundError:
                continue  # another process merged it meanwhile; its rows are in a newer segment

    def _merge(self) -> None:
        """Write all known rows as one segment, then remove the segments it replaces."""
        replaced = set(self._segments)
        keys = sorted(self._values)
        table = pa.table(
            {
                "key": pa.array(keys, pa.binary(16)),
                "value": pa.array(
                    (self._values[k][0][self._values[k][1]].as_py() for k in keys),
                    pa.large_binary(),
                ),
            }
        )
        self._segments, self._values = set(), {}
        merged = self._write(table)
        self._add(merged, table)
        for path in replaced - {merged}:
            if self._store.fs.exists(path):
                self._store.fs.rm_file(path)


class MemoizedEmbedder:
    """An embedder that embeds each distinct text once."""

    def __init__(self, embedder: Embedder, store: ParquetStore) -> None:
        self._embedder = embedder
        self._on_progress: Callable[[int, int], None] = lambda done, total: None
        self._memo = Memo(store, "embeddings", embedder.identity)

    @property
    def identity(self) -> str:
        """That of the embedder within."""
        return self._embedder.identity

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self._embedder.dimension

    def reporting(self, on_progress: Callable[[int, int], None]) -> "MemoizedEmbedder":
        """The same embedder and memo, telling `on_progress` how many new texts are done."""
        told = copy(self)
        told._on_progress = on_progress
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
        embed = self._embedder.embed_queries if side == "query" else self._embedder.embed
        for start in range(0, len(pending), _BATCH):
            part = pending[start : start + _BATCH]
            vectors = embed([text for _, text in part])
            fresh = {key: row.tobytes() for (key, _), row in zip(part, vectors, strict=True)}
            self._memo.put(fresh)
            known.update(fresh)
            self._on_progress(start + len(part), len(pending))
        flat = np.frombuffer(b"".join(known[key] for key in keys), np.float32)
        return flat.reshape(len(keys), self.dimension)
