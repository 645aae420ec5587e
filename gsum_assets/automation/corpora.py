"""Removal of a deleted corpus, for the sensor and the command line."""

from gsum_assets.corpus.buckets import Buckets
from gsum_resources.dagster_io.warehouse_io import WarehouseIO
from gsum_resources.state.requests import Requests
from gsum_resources.store.appended import APPENDED
from gsum_resources.store.array_cache import forget_arrays


def forget_tables(warehouse: WarehouseIO, requests: Requests, corpus: str) -> None:
    """Remove a corpus's files and requests; the caller removes its Dagster partitions.

    The ledgers are kept until `forget.py` has removed the replies that they list.
    """
    store = warehouse.store
    for table in warehouse.tables.values():
        if table.name in APPENDED:
            continue
        folder = f"{store.root}/{table.name}/corpus={corpus}"
        if store.fs.exists(folder):
            store.fs.rm(folder, recursive=True)
    forget_arrays(store, corpus)
    requests.forget(corpus)
    Buckets(store).forget(corpus)
    warehouse.rebuild_catalogue()
