"""Inputs of a check: partitions of one corpus, or of one method of a corpus."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa
import pyarrow.parquet as pq

from gsum_assets.pipeline.tables import TABLES
from gsum_resources.store.lineage import Lineage, feeds
from gsum_resources.store.parquet_store import ParquetStore, Partition, Provenance
from gsum_resources.store.table import Table


@dataclass(frozen=True)
class Subject:
    """An asset whose table is checked.

    Attributes
    ----------
    name : the asset, `retrieval/scores`.
    methods : methods of this asset in a table shared by several families; {None} if the table is
        not partitioned by method.
    asks_model : whether it sends requests to a language model.
    """

    name: str
    table: Table
    code_version: str | None
    methods: frozenset[str | None]
    asks_model: bool


@dataclass(frozen=True)
class CheckInputs:
    """Partitions of one corpus (and method), and the store and lineage that a check may read.

    Attributes
    ----------
    checked : the partitions to check: all, or the buckets that a run wrote.
    whole : all partitions of the corpus (and method) that have a file.
    """

    subject: Subject
    store: ParquetStore
    lineage: Lineage
    checked: tuple[Partition, ...]
    whole: tuple[Partition, ...]
    _read: dict[tuple[str, tuple[str, ...], tuple[str, ...]], pa.Table] = field(
        default_factory=dict
    )

    @property
    def corpus(self) -> str:
        """The corpus of the partitions."""
        return self.checked[0].corpus

    @property
    def method(self) -> str:
        """The method of the partitions; "" if the table has none."""
        return self.checked[0].method or ""

    def rows(
        self, name: str = "", columns: Sequence[str] = (), as_dictionaries: Sequence[str] = ()
    ) -> pa.Table:
        """Return the rows of a table (by default the checked one) for the partitions, cached."""
        key = (name, tuple(columns), tuple(as_dictionaries))
        if key not in self._read:
            table = TABLES[name] if name else self.subject.table
            wanted = [
                p
                for p in self.store.partitions(table, self.corpus)
                if any(feeds(p, checked) for checked in self.checked)
            ]
            self._read[key] = self.store.read(table, wanted, columns, as_dictionaries)[0]
        return self._read[key]

    def keys(self) -> pa.Table:
        """Return the key columns of all partitions."""
        table = self.subject.table
        texts = [c.name for c in table.columns if c.name in table.key and c.type == pa.string()]
        return self.store.read(table, self.whole, table.key, texts)[0]

    @cached_property
    def footers(self) -> Mapping[Partition, pq.FileMetaData]:
        """The Parquet metadata of all partitions."""
        return {p: self.store.metadata(self.subject.table, p) for p in self.whole}

    def changes(self) -> dict[Partition, list[str]]:
        """Return the inputs that changed since each checked partition was written."""
        name, version = self.subject.table.name, self.subject.code_version
        return {p: self.lineage.changes(name, p, version) for p in self.checked}

    def provenances(self) -> dict[Partition, Provenance]:
        """Return the provenance of each checked partition."""
        known = self.lineage.provenances(self.subject.table.name, self.corpus)
        return {p: known[p] for p in self.checked}
