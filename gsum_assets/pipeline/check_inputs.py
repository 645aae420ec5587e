"""Inputs of a check: partitions of one corpus, or of one method of a corpus."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from gsum_assets.pipeline.tables import TABLES
from gsum_resources.store.lineage import feeds
from gsum_resources.store.parquet_store import ParquetStore, Partition, Provenance
from gsum_resources.store.table import Table


@dataclass(frozen=True)
class Subject:
    """An asset whose table is checked.

    Attributes
    ----------
    name : the asset, `retrieval/scores`.
    asks_model : whether it sends requests to a language model.
    """

    name: str
    table: Table
    asks_model: bool


@dataclass(frozen=True)
class CheckInputs:
    """Files of one corpus (and method), and the store that a check may read.

    Attributes
    ----------
    files : all partitions of the corpus (and method) that have a file.
    """

    subject: Subject
    store: ParquetStore
    files: tuple[Partition, ...]
    _read: dict[tuple[str, tuple[str, ...]], pa.Table] = field(default_factory=dict)

    @property
    def corpus(self) -> str:
        """The corpus of the files."""
        return self.files[0].corpus

    @property
    def method(self) -> str:
        """The method of the files; "" if the table has none."""
        return self.files[0].method or ""

    def rows(self, name: str = "", columns: Sequence[str] = ()) -> pa.Table:
        """Return the rows of a table (by default the checked one) for the files, cached."""
        key = (name, tuple(columns))
        if key not in self._read:
            table = TABLES[name] if name else self.subject.table
            wanted = [
                p
                for p in self.store.partitions(table, self.corpus)
                if any(feeds(p, checked) for checked in self.files)
            ]
            self._read[key] = self.store.read(table, wanted, columns)[0]
        return self._read[key]

    def provenances(self) -> dict[Partition, Provenance]:
        """Return the provenance of each file."""
        return self.store.footers(self.subject.table, self.files)
