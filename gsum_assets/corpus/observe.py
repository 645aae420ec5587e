"""Looks at a corpus folder and notes what lies there, so that a change is seen by its content."""

import hashlib
import logging
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from gsum_assets.corpus.folder import GRAPH_FILES
from gsum_assets.corpus.load import N_BUCKETS, SourceDocument, bucket_of, scan
from gsum_assets.corpus.queries import QUERIES_FILE
from gsum_assets.corpus.rows import rows_of
from gsum_assets.corpus.settings import CorpusError, load_settings
from gsum_assets.tables import TABLES
from gsum_resources.content_hash import content_hash
from gsum_resources.parquet_store import ParquetStore, Partition, Provenance
from gsum_resources.table import Table

if TYPE_CHECKING:
    from gsum_resources.warehouse_io import WarehouseIO

_LISTING = TABLES["source_documents"]


def documents(
    warehouse: "WarehouseIO", corpus: str, log: logging.Logger | Any
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
    buckets = (f"{i:02d}" for i in range(N_BUCKETS))
    return {
        Partition(corpus, bucket): _keep(
            warehouse.store, _LISTING, Partition(corpus, bucket), _bucket_rows(found, bucket)
        )
        for bucket in buckets
    }


def changed_since(
    store: ParquetStore,
    listed: Mapping[Partition, str],
    read: Sequence[SourceDocument],
) -> dict[Partition, str]:
    """The partitions of the listing that are not what was read just now, with their new version.

    They are corrected, so that what is made of a file which changed after the look counts as made
    from what it was: else that file, changed back, would look as if nothing had happened.

    Parameters
    ----------
    listed : version of each partition that was listed.
    read : all that was read of these.
    """
    corrected = {}
    for partition, version in listed.items():
        rows = _bucket_rows(read, partition.bucket or "")
        known = store.provenance(_LISTING, partition)
        is_last = known is not None and known.content_hash == version  # no look came between
        if is_last and content_hash(rows, _LISTING.measured) != version:
            corrected[partition] = _keep(store, _LISTING, partition, rows)
    return corrected


def _bucket_rows(found: Sequence[SourceDocument], bucket: str) -> pa.Table:
    """The rows of a bucket."""
    selected = [document for document in found if bucket_of(document.document_id) == bucket]
    return rows_of(_LISTING, selected)


def queries(warehouse: "WarehouseIO", corpus: str) -> str:
    """Version of the corpus's questions; kept in the table `source_queries`."""
    return _files(warehouse, corpus, TABLES["source_queries"], [QUERIES_FILE])


def graph(warehouse: "WarehouseIO", corpus: str) -> str:
    """Version of the graph that the corpus brings along; kept in the table `source_graph`."""
    return _files(warehouse, corpus, TABLES["source_graph"], GRAPH_FILES)


def _files(warehouse: "WarehouseIO", corpus: str, table: Table, names: Sequence[str]) -> str:
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
