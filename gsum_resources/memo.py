"""Content-addressed memos: what an expensive call returned, kept by the hash of what it was asked.

A memo is a folder in the store, `<root>/_memo/<kind>/<identity>/`, of immutable segments: Parquet
files, each written in one step, merged when there are many. Beside them lie the journals of calls
under way (`journal.py`), which are read too. So a killed run loses at most the calls in flight,
several processes can write at once, and each sees what the others have.
"""

import hashlib
import io
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gsum_resources.arrow import pc
from gsum_resources.content_hash import hash_texts
from gsum_resources.journal import Journal, JournalReader, open_journal
from gsum_resources.parquet_store import ParquetStore
from gsum_resources.progress import reporter
from gsum_resources.protocols import Embedder, Gradual, Metered, Telling

_BATCH = 512  # texts between two savings: about ten seconds of work on two cores
MERGE_AT = 64  # segments; a listing of that many is still one cheap request


def memo_folder(store: ParquetStore, kind: str, identity: str) -> str:
    """Where the memo of a model lies."""
    return f"{store.root}/_memo/{kind}/{hash_texts([identity], 8)}"


class Memo:
    """Bytes by key. Keys are 16-byte hashes, values are whatever the caller encodes."""

    def __init__(self, store: ParquetStore, kind: str, identity: str) -> None:
        self._store = store
        self._folder = memo_folder(store, kind, identity)
        self._values: dict[bytes, tuple[pa.Array, int]] = {}
        self._segments: dict[str, pa.Table] = {}
        self._reader = JournalReader(store, self._folder)
        self._journalled: dict[bytes, bytes] = {}
        self._lock = threading.RLock()

    def get(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """The values of those keys that are known."""
        found = {}
        with self._lock:
            self._store.fs.invalidate_cache(self._folder)
            # journals first: one that is folded after this is in a segment by then
            self._load_journals()
            self._load_new_segments()
            for key in keys:
                if key in self._values:
                    segment, row = self._values[key]
                    found[key] = segment[row].as_buffer().to_pybytes()
                elif key in self._journalled:
                    found[key] = self._journalled[key]
        return found

    def put(self, items: Mapping[bytes, bytes]) -> None:
        """Keep `items` as a segment; on return they are in the store."""
        if not items:
            return
        with self._lock:
            table = _as_table(items)
            self._add(_write_segment(self._store, self._folder, table), table)
            if len(self._segments) > MERGE_AT:
                self._merge()

    def open_journal(self) -> Journal:
        """A journal for single values, which every memo of this model reads from now on.

        Whoever opened it puts its values as a segment in the end, and removes it then.
        """
        return open_journal(self._store, self._folder)

    def _load_journals(self) -> None:
        for entry in self._reader.new_entries():
            if entry.value is not None:
                self._journalled[entry.key] = entry.value

    def _add(self, path: str, table: pa.Table) -> None:
        keys = table["key"].to_pylist()
        values = table["value"].combine_chunks()
        values = values if isinstance(values, pa.Array) else pa.concat_arrays(values.chunks)
        self._values.update((key, (values, row)) for row, key in enumerate(keys))
        self._segments[path] = table

    def _load_new_segments(self) -> None:
        fs = self._store.fs
        complete = False
        while not complete:  # what another process merged meanwhile is in a newer segment
            complete = True
            for path in sorted(set(fs.glob(f"{self._folder}/*.parquet")) - self._segments.keys()):
                try:
                    with fs.open(path, "rb") as source:
                        self._add(path, pq.read_table(source))
                except FileNotFoundError:
                    fs.invalidate_cache(self._folder)
                    complete = False

    def _merge(self) -> None:
        """Write the smaller half of the segments as one, then remove what it replaces.

        The larger ones stay, so that what a long run put early is not written again and again.
        """
        by_size = sorted(self._segments.items(), key=lambda s: (s[1].nbytes, s[0]))
        replaced = dict(by_size[: len(by_size) // 2 + 1])
        table = _as_table(
            {
                key: value
                for part in replaced.values()
                for key, value in zip(*(column.to_pylist() for column in part.columns), strict=True)
            }
        )
        merged = _write_segment(self._store, self._folder, table)
        for path in replaced:
            del self._segments[path]
        self._add(merged, table)
        for path in replaced.keys() - {merged}:
            with suppress(FileNotFoundError):
                self._store.fs.rm_file(path)


def fold_values(store: ParquetStore, folder: str, items: Mapping[bytes, bytes]) -> None:
    """Put what an orphaned journal holds as a segment of the memo in `folder`."""
    if items:
        _write_segment(store, folder, _as_table(items))


def forget_values(store: ParquetStore, kind: str, keys: Collection[bytes]) -> int:
    """Remove values from the memos of all models of a kind, and return how many.

    Nothing else may write to them meanwhile: a process that merges segments it has read would
    bring the values back.
    """
    wanted = pa.array(list(keys), pa.binary(16))
    n_removed = 0
    for path in store.fs.glob(f"{store.root}/_memo/{kind}/*/*.parquet") if keys else ():
        with store.fs.open(path, "rb") as source:
            table = pq.read_table(source)
        kept = table.filter(pc.invert(pc.is_in(table["key"], value_set=wanted)))
        if len(kept) < len(table):
            if len(kept):
                _write_segment(store, path.rpartition("/")[0], kept)
            store.fs.rm_file(path)
            n_removed += len(table) - len(kept)
    return n_removed


def _as_table(items: Mapping[bytes, bytes]) -> pa.Table:
    return pa.table(
        {
            "key": pa.array(list(items), pa.binary(16)),
            "value": pa.array(list(items.values()), pa.large_binary()),
        }
    )


def _write_segment(store: ParquetStore, folder: str, table: pa.Table) -> str:
    """A file named by its keys, so that to write it twice is to write it once."""
    digest = hashlib.blake2b(b"".join(table["key"].to_pylist()), digest_size=12)
    path = f"{folder}/{digest.hexdigest()}.parquet"
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd", use_dictionary=False)
    store.replace_file(path, buffer.getbuffer())
    return path


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
