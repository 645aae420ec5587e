"""What embedding took: a row for each batch of texts that no memo had, in `embedding_calls`."""

import time
import uuid
from dataclasses import asdict, dataclass

import pyarrow as pa

from gsum_resources.appended import append_rows
from gsum_resources.memo import Batch
from gsum_resources.parquet_store import ParquetStore
from gsum_resources.table import Table


@dataclass(frozen=True)
class EmbeddingLedger:
    """Where batches are entered, on behalf of one asset."""

    store: ParquetStore
    table: Table
    corpus: str
    asset: str

    def enter(self, batch: Batch) -> None:
        """Put a batch that has just ended on record."""
        row = {"asset": self.asset, **asdict(batch), "time": time.time_ns() // 1000}
        rows = pa.Table.from_pylist([row], self.table.schema)
        append_rows(self.store, self.table, self.corpus, uuid.uuid4().hex, rows)
