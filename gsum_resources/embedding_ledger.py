"""What embedding and scoring took: a row for each batch that no memo had, in `embedding_calls`."""

import time
import uuid
from collections.abc import Callable
from dataclasses import asdict, dataclass

import pyarrow as pa

from gsum_resources.appended import path_of
from gsum_resources.parquet_store import ParquetStore
from gsum_resources.protocols import Embedder, Metered, PassageScorer
from gsum_resources.table import Table


@dataclass(frozen=True)
class Batch:
    """What it took to embed texts, or score pairs, that no memo had: a row of `embedding_calls`."""

    model: str
    n_texts: int
    tokens_in: int
    latency_s: float
    cost_usd: float


OnBatch = Callable[[Batch], None]


class Meter:
    """Reads what a model takes from now on."""

    def __init__(self, model: Embedder | PassageScorer) -> None:
        self._model = model
        self._tokens, self._started = self._read(), time.perf_counter()

    @property
    def seconds(self) -> float:
        """How long ago this was made."""
        return time.perf_counter() - self._started

    def batch(self, n_texts: int) -> Batch:
        """Return what so many texts or pairs took."""
        tokens = self._read() - self._tokens
        price = self._model.usd_per_million_tokens if isinstance(self._model, Metered) else 0.0
        return Batch(self._model.identity, n_texts, tokens, self.seconds, tokens * price / 1e6)

    def _read(self) -> int:
        return self._model.tokens_read if isinstance(self._model, Metered) else 0


@dataclass(frozen=True)
class EmbeddingLedger:
    """Where batches are entered, on behalf of one asset."""

    store: ParquetStore
    table: Table
    corpus: str
    asset: str

    def enter(self, batch: Batch) -> None:
        """Put a batch that has just ended on record, as one more file of the corpus."""
        row = {"asset": self.asset, **asdict(batch), "time": time.time_ns() // 1000}
        rows = pa.Table.from_pylist([row], self.table.schema)
        path = path_of(self.store, self.table, self.corpus, uuid.uuid4().hex)
        self.store.write_file(path, rows, compression="zstd")
