"""Conversion of documents with reuse of stored results by content."""

import hashlib
from dataclasses import asdict
from functools import cached_property

import pyarrow as pa

from gsum_assets.corpus.conversion.converter import Converter
from gsum_assets.corpus.conversion.formats import Converted, converter_version
from gsum_assets.corpus.records import Record
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.store.parquet_store import ParquetStore, Partition

_TABLE = TABLES["converted_documents"]


class Conversion:
    """Conversion of the documents of one corpus; the memo is the table `converted_documents`.

    Its key is the content, since a renamed file is in another bucket. Failures are not stored.
    """

    def __init__(self, converter: Converter, store: ParquetStore, corpus: str) -> None:
        self._converter = converter
        self._store = store
        self._corpus = corpus
        self._read: dict[Partition, dict[tuple[str, str], Converted]] = {}
        self._rows: dict[str, dict] = {}

    def convert(self, record: Record) -> Converted:
        """Return the text of a record, from the table if it is stored there.

        Raises `ConversionError` if it has no readable text.
        """
        digest = hashlib.blake2b(record.content, digest_size=16).hexdigest()
        key = digest, converter_version(record.converter)
        converted = self._stored(key) or self._converter.convert(record.converter, record.content)
        self._rows[record.document_id] = {
            "document_id": record.document_id,
            "content_hash": key[0],
            "converter": key[1],
            "page_labels": converted.labels,
            **asdict(converted),
        }
        return converted

    @property
    def rows(self) -> pa.Table:
        """One row per document converted or read from the table."""
        return pa.Table.from_pylist(list(self._rows.values()), _TABLE.schema)

    @cached_property
    def _partitions(self) -> dict[tuple[str, str], Partition]:
        """The partition that holds each content and converter."""
        partition_of = {}
        for partition in self._store.partitions(_TABLE, self._corpus):
            rows, _ = self._store.read(_TABLE, [partition], ["content_hash", "converter"])
            columns = (rows[name].to_pylist() for name in ("content_hash", "converter"))
            partition_of.update(dict.fromkeys(zip(*columns, strict=True), partition))
        return partition_of

    def _stored(self, key: tuple[str, str]) -> Converted | None:
        partition = self._partitions.get(key)
        if partition is None:
            return None
        if partition not in self._read:
            rows, _ = self._store.read(_TABLE, [partition])
            self._read[partition] = {
                (row["content_hash"], row["converter"]): Converted(
                    row["title"],
                    row["text"],
                    tuple(row["page_starts"]),
                    tuple(row.get("page_labels") or ()),
                    row.get("left_out") or "",  # not stored by earlier versions
                )
                for row in rows.to_pylist()
            }
        return self._read[partition].get(key)
