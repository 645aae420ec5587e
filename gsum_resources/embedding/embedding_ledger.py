"""Tokens, time and cost of embedding and scoring: one row per batch in `embedding_calls`."""

import time
import uuid
from collections.abc import Callable
from dataclasses import asdict, dataclass

import pyarrow as pa

from gsum_resources.protocols.models import Embedder, Metered, PassageScorer
from gsum_resources.store.appended import path_of
from gsum_resources.store.parquet_store import ParquetStore
from gsum_resources.store.table import Table


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


@dataclass(frozen=True)
class EmbeddingLedger:
    """Records the batches of one asset and corpus."""

    store: ParquetStore
    table: Table
    corpus: str
    asset: str

    def enter(self, batch: Batch) -> None:
        """Write a finished batch as a new file of the corpus."""
        row = {"asset": self.asset, **asdict(batch), "time": time.time_ns() // 1000}
        rows = pa.Table.from_pylist([row], self.table.schema)
        path = path_of(self.store, self.table, self.corpus, uuid.uuid4().hex)
        self.store.write_file(path, rows, compression="zstd")
