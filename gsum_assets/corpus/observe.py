"""Looks at a corpus folder and notes what lies there, so that a change is seen by its content."""

import hashlib
import logging
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from gsum_assets.corpus.load import N_BUCKETS, bucket_of, scan
from gsum_assets.corpus.rows import rows_of
from gsum_assets.corpus.settings import CorpusError, load_settings
from gsum_assets.tables import TABLES
from gsum_resources.content_hash import content_hash
from gsum_resources.parquet_store import ParquetStore, Partition, Provenance
from gsum_resources.table import Table
from gsum_resources.warehouse_io import WarehouseIO

QUERIES_FILE = "queries.jsonl"


def documents(
    warehouse: WarehouseIO, corpus: str, log: logging.Logger | Any
) -> dict[Partition, str]:
    """Version of every bucket of `corpus`; keeps the listing in the table `source_documents`.

    A corpus that cannot be read is left as it was, with a warning: others must go on.
    """
    folder = warehouse.home.corpora / corpus
    try:
        found = scan(folder, load_settings(folder))
    except CorpusError as error:
        log.warning(str(error))
        return {}
    table = TABLES["source_documents"]
    versions = {}
    for bucket in (f"{i:02d}" for i in range(N_BUCKETS)):
        share = [d for d in found if bucket_of(d.document_id) == bucket]
        rows = rows_of(table, share, corpus).drop_columns(["corpus"])
        partition = Partition(corpus, bucket)
        versions[partition] = _keep(warehouse.store, table, partition, rows)
    return versions


def queries(warehouse: WarehouseIO, corpus: str) -> str:
    """Version of the corpus's questions; kept in the table `source_queries`."""
    file = warehouse.home.corpora / corpus / QUERIES_FILE
    found = [file.read_bytes()] if file.is_file() else []
    table = TABLES["source_queries"]
    rows = pa.table(
        [
            pa.array([QUERIES_FILE for _ in found], pa.string()),
            pa.array([hashlib.blake2b(b, digest_size=16).hexdigest() for b in found], pa.string()),
        ],
        schema=table.schema,
    )
    return _keep(warehouse.store, table, Partition(corpus), rows)


def _keep(store: ParquetStore, table: Table, partition: Partition, rows: pa.Table) -> str:
    """Write `rows` unless the store says the same already; their content hash."""
    known = store.provenance(table, partition)
    version = content_hash(rows, table.measured)
    if known is None or known.content_hash != version:
        now = datetime.now(UTC).isoformat()
        store.write(table, partition, rows, Provenance("", "", asset=table.name, time=now))
    return version
