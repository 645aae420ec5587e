"""`MemoizedEmbedder`: skips texts that this or another process has embedded before."""

import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import asdict, dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from gsum_resources.endpoint.budget import Amount, Reserve, Spending, free_of_charge
from gsum_resources.engine.blocks import LOCAL, Engine, Movable
from gsum_resources.messages.progress import reporter
from gsum_resources.protocols.models import Embedder, Metered, PassageScorer, Streaming
from gsum_resources.store.appended import path_of
from gsum_resources.store.content_hash import hash_texts
from gsum_resources.store.memo import Memo
from gsum_resources.store.parquet_store import ParquetStore
from gsum_resources.store.table import Table

_BATCH = 512  # texts per write to the memo: about ten seconds of work on two cores


Items = Sequence[tuple[bytes, str]]
"""Texts, each with its key in the memo."""


@dataclass(frozen=True)
class Batch:
    """Cost of embedding texts, or scoring pairs, without memo: a row of `embedding_calls`."""

    model: str
    n_texts: int
    tokens_in: int
    latency_s: float
    cost_usd: float


OnBatch = Callable[[Batch], None]


class Meter:
    """Measures the tokens and the time that a model takes, from creation on."""

    def __init__(self, model: Embedder | PassageScorer) -> None:
        self._model = model
        self._tokens, self._started = self._read(), time.perf_counter()

    @property
    def seconds(self) -> float:
        """Seconds since the meter was created."""
        return time.perf_counter() - self._started

    def batch(self, n_texts: int) -> Batch:
        """Return the cost of `n_texts` texts or pairs."""
        tokens = self._read() - self._tokens
        price = self._model.usd_per_million_tokens if isinstance(self._model, Metered) else 0.0
        return Batch(self._model.identity, n_texts, tokens, self.seconds, tokens * price / 1e6)

    def _read(self) -> int:
        return self._model.tokens_read if isinstance(self._model, Metered) else 0


class MemoizedEmbedder:
    """An embedder that embeds each distinct text once, in blocks by `engine` if it is `Movable`.

    Without `stores_queries`, vectors of queries are kept in memory only.
    """

    def __init__(
        self,
        embedder: Embedder,
        store: ParquetStore,
        engine: Engine = LOCAL,
        stores_queries: bool = True,
    ) -> None:
        self._embedder = embedder
        self._stores_queries = stores_queries
        self._engine = engine
        self._on_progress: Callable[[int, int], None] | None = None
        self._on_batch: OnBatch = lambda batch: None
        self._reserve: Reserve = free_of_charge
        self._memo = Memo(store, "embeddings", embedder.identity)

    @property
    def identity(self) -> str:
        """Identity of the wrapped embedder."""
        return self._embedder.identity

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self._embedder.dimension

    def reporting(
        self,
        on_progress: Callable[[int, int], None],
        on_batch: OnBatch,
        reserve: Reserve = free_of_charge,
    ) -> "MemoizedEmbedder":
        """Return a copy that shares embedder and memo, and calls back.

        `on_progress` with the number of new texts embedded, and their total, `on_batch` with the
        cost of each batch of them, `reserve` with that of all new texts of a call.
        """
        embedder = copy(self)
        embedder._reserve = reserve
        embedder._on_progress, embedder._on_batch = on_progress, on_batch
        return embedder

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Return float32 unit vectors of passages, `(n_texts, dimension)`."""
        return self._remember("passage", texts)

    def embed_queries(self, texts: Sequence[str]) -> np.ndarray:
        """Return float32 unit vectors of queries, `(n_texts, dimension)`."""
        return self._remember("query", texts)

    def _remember(self, side: str, texts: Sequence[str]) -> np.ndarray:
        keys = [bytes.fromhex(hash_texts([side, text])) for text in texts]
        known = self._memo.get(keys, on_disk=self._stores_queries or side != "query")
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        pending = list(missing.items())
        report = self._on_progress or reporter("texts embedded", lambda _: None)
        blocks = [pending[start : start + _BATCH] for start in range(0, len(pending), _BATCH)]
        is_spread = self._engine.spreads and isinstance(self._embedder, Movable)
        embedded = self._spread if is_spread else self._in_turn
        if pending:  # before the model is loaded
            report(0, len(pending))
        for number, fresh in enumerate(embedded(side, blocks, report)):
            known.update(fresh)
            report(min((number + 1) * _BATCH, len(pending)), len(pending))
        flat = np.frombuffer(b"".join(known[key] for key in keys), np.float32)
        # reading the dimension of a served model costs a request
        return flat.reshape(len(keys), -1 if keys else self.dimension)

    def _in_turn(
        self, side: str, blocks: Sequence[Items], report: Callable[[int, int], None]
    ) -> Iterator[dict[bytes, bytes]]:
        """Yield the new vectors of each block by key, embedded in this process."""
        total = sum(map(len, blocks))
        with self._reserve(self._most_spent(blocks)) as spending:
            for number, block in enumerate(blocks):

                def advance(done: int, _: int, before: int = number * _BATCH) -> None:
                    report(before + done, total)

                yield self._embed(side, block, advance, spending)

    def _most_spent(self, blocks: Sequence[Items]) -> Amount:
        """Return what a served embedder is expected to cost: a token for four bytes."""
        if not isinstance(self._embedder, Metered):
            return Amount()
        texts = [text for block in blocks for _, text in block]
        tokens = sum(-(-len(text.encode("utf-8", "replace")) // 4) for text in texts)
        return Amount(len(texts), tokens, tokens * self._embedder.usd_per_million_tokens / 1e6)

    def _spread(
        self, side: str, blocks: Sequence[Items], _: Callable[[int, int], None]
    ) -> Iterator[dict[bytes, bytes]]:
        """Yield the same, embedded by the engine and stored by this process."""
        assert isinstance(self._embedder, Movable)
        embedder = self._embedder.unloaded(self._engine.threads)
        vectors = self._engine.map_blocks(
            partial(_embed_of, embedder),
            ((side, [text for _, text in block]) for block in blocks),
            step="texts embedded",
            model=self.identity,
        )
        meter = Meter(self._embedder)
        for block, of_block in zip(blocks, vectors, strict=True):
            fresh = {key: row.tobytes() for (key, _), row in zip(block, of_block, strict=True)}
            self._on_batch(meter.batch(len(fresh)))
            self._memo.put(fresh)
            yield fresh
            meter = Meter(self._embedder)

    def _embed(
        self, side: str, items: Items, on_progress: Callable[[int, int], None], spending: Spending
    ) -> dict[bytes, bytes]:
        """Return new vectors by key, stored even if the server fails before the last one."""
        fresh: dict[bytes, bytes] = {}
        meter = Meter(self._embedder)

        def keep(index: int, vector: np.ndarray) -> None:
            fresh[items[index][0]] = vector.tobytes()

        texts = [text for _, text in items]
        try:
            if isinstance(self._embedder, Streaming):
                self._embedder.embed_streaming(texts, keep)
            else:
                query = side == "query"
                embed = self._embedder.embed_queries if query else self._embedder.embed
                takes_progress = getattr(self._embedder, "takes_progress", False)
                how = {"on_progress": on_progress} if takes_progress else {}
                for index, vector in enumerate(embed(texts, **how)):
                    keep(index, vector)
        finally:
            if fresh:
                batch = meter.batch(len(fresh))
                spending.add(Amount(batch.n_texts, batch.tokens_in, batch.cost_usd))
                self._on_batch(batch)
                self._memo.put(fresh, on_disk=self._stores_queries or side != "query")
        return fresh


def _embed_of(embedder: Embedder) -> Callable[[tuple[str, Sequence[str]]], np.ndarray]:
    """Return the function that embeds a block: a side, "passage" or "query", and its texts."""

    def embed(block: tuple[str, Sequence[str]]) -> np.ndarray:
        side, texts = block
        return embedder.embed_queries(texts) if side == "query" else embedder.embed(texts)

    return embed


def enter_batch(store: ParquetStore, table: Table, corpus: str, asset: str, batch: Batch) -> None:
    """Write a finished batch of an asset as a new file of the corpus."""
    row = {"asset": asset, **asdict(batch), "time": time.time_ns() // 1000}
    rows = pa.Table.from_pylist([row], table.schema)
    path = path_of(store, table, corpus, uuid.uuid4().hex)
    store.write_file(path, rows, compression="zstd")
