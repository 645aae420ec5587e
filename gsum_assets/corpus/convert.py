"""Conversion of documents with reuse of stored results by content."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from types import TracebackType

from gsum_assets.corpus.conversion.converter import Converter
from gsum_assets.corpus.conversion.formats import Converted, converter_version
from gsum_assets.corpus.records import Record
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.store.parquet_store import ParquetStore, Partition

_TABLE = TABLES["converted_documents"]


@dataclass(frozen=True)
class ConvertedDocument:
    """The text of a file, see `converted_documents` in `tables.py`."""

    document_id: str
    content_hash: str
    converter: str
    title: str
    text: str
    page_starts: list[int]
    page_labels: list[str]


class Conversion:
    """Conversion of the documents of one corpus; the results are in `done`.

    The memo is the table `converted_documents`, so that deleted documents leave no copy. Its key is
    the content, since a renamed file is in another bucket. Failures are not stored: a file that
    could not be converted is tried again whenever its bucket is rebuilt.

    Parameters
    ----------
    on_page : called with the number of pages done, and of all pages of the current file.
    """

    def __init__(
        self,
        store: ParquetStore,
        corpus: str,
        on_page: Callable[[int, int], None] = lambda done, total: None,
    ) -> None:
        self._store = store
        self._corpus = corpus
        self._converter = Converter(on_page)
        self._read: dict[Partition, dict[tuple[str, str], Converted]] = {}
        self._done: dict[str, ConvertedDocument] = {}

    def __enter__(self) -> "Conversion":
        self._converter.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._converter.__exit__(kind, error, trace)

    def convert(self, record: Record) -> Converted:
        """Return the text of a record, from the table if it is stored there.

        Raises
        ------
        ConversionError
            If it has no readable text.
        """
        digest = hashlib.blake2b(record.content, digest_size=16).hexdigest()
        key = digest, converter_version(record.converter)
        converted = self._stored(key) or self._converter.convert(record.converter, record.content)
        self._done[record.document_id] = ConvertedDocument(
            record.document_id,
            *key,
            converted.title,
            converted.text,
            list(converted.page_starts),
            list(converted.labels),
        )
        return converted

    @property
    def done(self) -> list[ConvertedDocument]:
        """Documents converted or read from the table, one for each id."""
        return list(self._done.values())

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
                    tuple(row.get("page_labels") or ()),  # not stored by earlier versions
                )
                for row in rows.to_pylist()
            }
        return self._read[partition].get(key)
