"""Observation of a corpus folder by content hashes, to detect changes."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from gsum_assets.corpus.buckets import Buckets
from gsum_assets.corpus.folder import COMMUNITIES_FILE, GRAPH_FILES, stamp_of
from gsum_assets.corpus.listing import digest_of
from gsum_assets.corpus.load import Loaded, Rejected, SourceDocument, bucket_of, scan
from gsum_assets.corpus.queries import QUERIES_FILE
from gsum_assets.corpus.rows import rows_of
from gsum_assets.pipeline.corpus_settings import load_settings
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.settings.paths import is_remote, unreadable
from gsum_resources.store.content_hash import content_hash, hash_texts
from gsum_resources.store.parquet_store import ParquetStore, Partition, Provenance
from gsum_resources.store.partition import bucket_names, version_of
from gsum_resources.store.table import Table

_LISTING = TABLES["source_documents"]
_HASHED = ("document_id", "content_hash")
_MOST_TRIES = 3


def sources(store: ParquetStore, corpora: Path, corpus: str) -> dict[str, tuple[str, int]]:
    """Store the listing of a corpus folder; return version and number of rows of each table.

    The number of buckets of a new corpus is fixed now. Raises `CorpusError` if the corpus cannot
    be read.
    """
    folder = corpora / corpus
    digest = stamp_of(folder).digest  # before it is read, so that a later change is noticed
    versions: dict[Table, dict[Partition, str]] = {}
    rejections = TABLES["rejected_documents"]
    rejected, _ = store.read(rejections, store.partitions(rejections, corpus))
    crashes = {
        row["document_id"]: row["n_crashes"]
        for row in rejected.to_pylist()
        if 0 < row.get("n_crashes", 0) < _MOST_TRIES  # not of earlier versions
    }
    for table, file, rows in found(folder, corpus, Buckets(store).fix(corpus, folder)):
        if table is _LISTING and crashes:
            rows = _to_try_again(rows, crashes)
        versions.setdefault(table, {})[file] = _keep(store, table, file, rows)
    counts = store.counts(list(versions), corpus)
    store.replace_file(_observed(store, corpus), digest.encode())
    return {
        table.name: (version_of(files), counts[table.name]) for table, files in versions.items()
    }


def has_changed(store: ParquetStore, corpora: Path, corpus: str) -> bool:
    """Return whether names, sizes or times of the files differ from when they were last read."""
    try:
        digest = store.fs.cat_file(_observed(store, corpus)).decode()
    except FileNotFoundError:
        return True
    return digest != stamp_of(corpora / corpus).digest


def forget_observation(store: ParquetStore, corpus: str) -> None:
    """Remove what is noted of the files of a deleted corpus."""
    with suppress(FileNotFoundError):
        store.fs.rm_file(_observed(store, corpus))


def _observed(store: ParquetStore, corpus: str) -> str:
    return f"{store.root}/_observed/{corpus}"


def found(folder: Path, corpus: str, n_buckets: int) -> Iterator[tuple[Table, Partition, pa.Table]]:
    """Yield the rows of each file of the tables of `sources`, as the folder is now."""
    by_bucket: dict[str, list[SourceDocument]] = {name: [] for name in bucket_names(n_buckets)}
    for document in scan(folder, load_settings(folder)):
        by_bucket[bucket_of(document.document_id, n_buckets)].append(document)
    for bucket, selected in by_bucket.items():
        yield _LISTING, Partition(corpus, bucket), rows_of(_LISTING, selected)
    yield TABLES["source_queries"], Partition(corpus), _hashes(folder, [QUERIES_FILE])
    graph = [*GRAPH_FILES, COMMUNITIES_FILE]
    yield TABLES["source_graph"], Partition(corpus), _hashes(folder, graph)


def _to_try_again(rows: pa.Table, crashes: Mapping[str, int]) -> pa.Table:
    """Return a listing in which documents on which a converter crashed have another hash.

    What is tried again is listed with its own hash by `changed_since`, so that each run is one try.
    Parameter `crashes`: the number of runs in which it did, by document id.
    """
    pairs = zip(*(rows[name].to_pylist() for name in _HASHED), strict=True)
    hashes = [_hash_again(digest, crashes.get(name, 0)) for name, digest in pairs]
    index = rows.schema.get_field_index("content_hash")
    return rows.set_column(index, rows.schema.field(index), pa.array(hashes, pa.string()))


def counted_crashes(read: Loaded, listed: pa.Table) -> list[Rejected]:
    """Return the rejected documents of a folder with the number of runs that failed by a crash."""
    hash_of = dict(zip(*(listed[name].to_pylist() for name in _HASHED), strict=True))
    n_before = {
        document.document_id: n
        for document in read.listing
        for n in range(1, _MOST_TRIES)
        if hash_of.get(document.document_id) == _hash_again(document.content_hash, n)
    }
    return [
        replace(one, n_crashes=n_before.get(one.document_id, 0) + 1) if one.n_crashes else one
        for one in read.rejected
    ]


def _hash_again(digest: str, n_crashes: int) -> str:
    return hash_texts([digest, str(n_crashes)], 16) if n_crashes else digest


def changed_since(
    store: ParquetStore, listed: Mapping[Partition, str], read: Sequence[SourceDocument]
) -> dict[Partition, str]:
    """Return the partitions of the listing that differ from what was read, with new versions.

    The listing is corrected, so that results of a file that changed after the observation depend on
    the version that was read. Otherwise the file, changed back, would count as unchanged.
    """
    corrected = {}
    buckets = Buckets(store)
    by_bucket: dict[Partition, list[SourceDocument]] = defaultdict(list)
    for corpus in {partition.corpus for partition in listed}:
        n_buckets = buckets.of(corpus)
        for document in read:
            bucket = bucket_of(document.document_id, n_buckets)
            by_bucket[Partition(corpus, bucket)].append(document)
    for partition, version in listed.items():
        rows = rows_of(_LISTING, by_bucket[partition])
        known = store.provenance(_LISTING, partition)
        is_last = known is not None and known.content_hash == version  # no observation since
        if is_last and content_hash(rows, _LISTING.ignored_by_hash) != version:
            corrected[partition] = _keep(store, _LISTING, partition, rows)
    return corrected


def _hashes(folder: Path, names: Sequence[str]) -> pa.Table:
    """Return the hashes of those named files that exist."""
    hashes = {}
    for name in names:
        file = folder / name
        try:
            if file.is_file():
                hashes[name] = digest_of(file).hex()
        except FileNotFoundError:  # deleted in this moment
            continue
        except OSError as error:  # the step that reads the file fails
            if is_remote(file):
                raise
            hashes[name] = unreadable(error)
    columns = [pa.array(list(column), pa.string()) for column in (hashes, hashes.values())]
    return pa.table(columns, schema=TABLES["source_queries"].schema)


def _keep(store: ParquetStore, table: Table, partition: Partition, rows: pa.Table) -> str:
    """Write `rows` unless the store has the same content; return their content hash."""
    known = store.provenance(table, partition)
    version = content_hash(rows, table.ignored_by_hash)
    footer = (known.content_hash, known.code_version) if known else None
    if footer != (version, table.fingerprint):
        now = datetime.now(UTC)
        if table is _LISTING:
            earlier = store.read(table, [partition])[0] if known else table.empty()
            rows = _dated(rows, earlier, now)
        provenance = Provenance("", table.fingerprint, asset=table.name, time=now.isoformat())
        store.write(table, partition, rows, provenance)
    return version


def _dated(listed: pa.Table, earlier: pa.Table, now: datetime) -> pa.Table:
    """Return a listing with the times since when its documents and their contents are known.

    The time at which a file was modified is that of its present content: touching it changes
    nothing. The `earlier` listing may lack the columns of times.
    """
    known: dict[str, dict[str, Any]] = {}
    for row in earlier.to_pylist():
        known.setdefault(row["document_id"], row)
    rows = listed.to_pylist()
    for row in rows:
        before = known.get(row["document_id"], {})
        is_same = before.get("content_hash") == row["content_hash"]
        row["added"] = before.get("added") or now
        row["changed"] = (before.get("changed") if is_same else None) or now
        row["modified"] = (before.get("modified") if is_same else None) or row["modified"]
    return pa.Table.from_pylist(rows, listed.schema)
