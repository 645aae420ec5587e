"""A process of the tests that writes replies in several threads: `DATABASE FOLDER NUMBER`."""

import sys
from concurrent.futures import ThreadPoolExecutor

from gsum_assets.pipeline.tables import TABLES
from gsum_resources.llm.ledger import Ledger
from gsum_resources.llm.ledgered_model import LedgeredModel
from gsum_resources.protocols.models import Request
from gsum_resources.store.parquet_store import ParquetStore
from tests.models import FirstWords

N_THREADS, N_PROCESSES, N_BATCHES, N_REQUESTS = 4, 3, 3, 10
CALLS = TABLES["llm_calls"]


def requests_of(process: int, thread: int, batch: int) -> list[Request]:
    """Return what is requested in one batch."""
    name = f"{process}-{thread}-{batch}"
    return [Request("answer", "Say it.", f"{name}-{i}", (f"boat {i}",)) for i in range(N_REQUESTS)]


def write(store: ParquetStore, process: int) -> None:
    """Request everything that is this process's, in four threads."""
    model = FirstWords()

    def work(thread: int) -> None:
        for batch in range(N_BATCHES):
            ledger = Ledger(store, CALLS, f"corpus-{thread % 2}", "a")
            LedgeredModel(model, store, ledger).complete(requests_of(process, thread, batch))

    with ThreadPoolExecutor(N_THREADS) as pool:
        list(pool.map(work, range(N_THREADS)))


if __name__ == "__main__":
    write(ParquetStore(sys.argv[2], sys.argv[1]), int(sys.argv[3]))
