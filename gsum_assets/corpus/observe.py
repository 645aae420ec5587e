"""Looks at a corpus folder and notes what lies there, so that a change is seen by its content."""

import hashlib
import logging
from collections.abc import Sequence
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
GRAPH_FILES = ("graph/entities.parquet", "graph/relationships.parquet")


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
    return _files(warehouse, corpus, TABLES["source_queries"], [QUERIES_FILE])


def graph(warehouse: WarehouseIO, corpus: str) -> str:
    """Version of the graph that the corpus brings along; kept in the table `source_graph`."""
    return _files(warehouse, corpus, TABLES["source_graph"], GRAPH_FILES)


def _files(warehouse: WarehouseIO, corpus: str, table: Table, names: Sequence[str]) -> str:
    """Version of those of the named files that lie in the corpus folder."""
    hashes = {}
    for name in names:
        file = warehouse.home.corpora / corpus / name
        if file.is_file():
            with file.open("rb") as stream:
                digest = hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=16))
            hashes[name] = digest.hexdigest()
    columns = [pa.array(list(column), pa.string()) for column in (hashes, hashes.values())]
    rows = pa.table(columns, schema=table.schema)
    return _keep(warehouse.store, table, Partition(corpus), rows)


def _keep(store: ParquetStore, table: Table, partition: Partition, rows: pa.Table) -> str:
    """Write `rows` unless the store says the same already; their content hash."""
    known = store.provenance(table, partition)
    version = content_hash(rows, table.measured)
    if known is None or known.content_hash != version:
        now = datetime.now(UTC).isoformat()
        store.write(table, partition, rows, Provenance("", "", asset=table.name, time=now))
    return version
