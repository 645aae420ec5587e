"""Lineage: recorded inputs of tables, and the single rule that decides whether they are current.

Everything that an asset reads has a key and a version. The versions are stored in the footer of the
files that it writes; a partition is out of date if one of them differs from the present version.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

from gsum_resources.store.input_key import InputKey
from gsum_resources.store.parquet_store import ParquetStore
from gsum_resources.store.partition import DIMENSIONS, Listing, Partition, Provenance, version_of
from gsum_resources.store.table import Table


@dataclass
class Reads:
    """Inputs that a step has read so far, and its model requests without a reply.

    Attributes
    ----------
    tables : versions of the partitions read, by table.
    partitions : which of them were read as those of a family of methods, by table and family.
    others : versions of models and settings, and numbers of rows.
    failures, filtered : the document of each request that got no valid reply, and of each that a
        content filter rejected; "" for one on the whole corpus.
    """

    tables: dict[str, dict[Partition, str]] = field(default_factory=lambda: defaultdict(dict))
    partitions: dict[tuple[Table, str | None], set[Partition]] = field(
        default_factory=lambda: defaultdict(set)
    )
    others: dict[InputKey, str] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    filtered: list[str] = field(default_factory=list)

    def table(
        self, table: Table, hashes: Mapping[Partition, str], family: str | None = None
    ) -> None:
        """Record that these partitions of a table were read, all that there are of a family."""
        self.tables[table.name].update(hashes)
        self.partitions[table, family].update(hashes)

    def other(self, key: InputKey, version: str) -> None:
        """Record that a model or a setting was used, or rows were counted."""
        self.others[key] = version

    def inputs_of(self, partition: Partition) -> dict[str, str]:
        """Return the inputs that were read and that `partition` of the output depends on."""
        inputs = {str(key): version for key, version in self.others.items()}
        for (table, family), partitions in self.partitions.items():
            hashes = self.tables[table.name]
            matching = {p: hashes[p] for p in partitions if feeds(p, partition)}
            shared = {d: getattr(partition, d) for d in table.dimensions}
            # a result of one method depends on the same method's partitions only
            of = family if "method" in shared and partition.method is None else None
            inputs[str(InputKey("table", table.name, **shared, family=of))] = version_of(matching)
        return inputs


def feeds(source: Partition, target: Partition) -> bool:
    """Return whether `source` feeds `target`: equal in every dimension that both have."""
    pairs = ((getattr(source, name), getattr(target, name)) for name in DIMENSIONS)
    return all(a is None or b is None or a == b for a, b in pairs)


def code_version_of(table: Table, asset_version: str | None) -> str:
    """Return the code version of a file: the version of the asset and that of the columns."""
    return f"{asset_version or ''}/{table.fingerprint}"


class Lineage:
    """Compares recorded versions with present ones, and caches what it read.

    An instance is a snapshot of the warehouse: create a new one for each comparison.

    `other_version` returns the present version of a setting or model; None if it is unknown, which
    counts as unchanged.
    """

    def __init__(
        self,
        store: ParquetStore,
        tables: Mapping[str, Table],
        other_version: Callable[[InputKey], str | None],
        families: Mapping[str, Collection[str]] = MappingProxyType({}),
    ) -> None:
        self._store = store
        self._tables = tables
        self._other_version = other_version
        self._families = families
        self._present: dict[InputKey, str | None] = {}
        self._listed: dict[tuple[str, str], dict[Partition, Provenance]] = {}

    def provenances(self, table: str, corpus: str) -> dict[Partition, Provenance]:
        """Return the footers of all files of a table and corpus."""
        key = (table, corpus)
        if key not in self._listed:
            store, declared = self._store, self._tables[table]
            lister = self._files if store.lists_at_once else store
            self._listed[key] = store.footers(declared, lister.stamped(declared, corpus))
        return self._listed[key]

    @cached_property
    def _files(self) -> Listing:
        return self._store.list_files()

    def is_behind(self, table: str, corpus: str) -> bool:
        """Return whether an input of a file of a table has another version than when it was read.

        Only those whose present version is known count.
        """
        return any(
            self.present_version(InputKey.parse(key, provenance.asset)) not in (version, None)
            for provenance in self.provenances(table, corpus).values()
            for key, version in provenance.inputs.items()
        )

    def exists(self, table: str, partition: Partition) -> bool:
        """Return whether the partition has a file."""
        return partition in self.provenances(table, partition.corpus)

    def present_version(self, key: InputKey) -> str | None:
        """Return the present version of `key`; without files that of an empty set."""
        if key not in self._present:
            is_of_table = key.kind in ("table", "rows", "size")
            version_of_key = self._table_version if is_of_table else self._other_version
            self._present[key] = version_of_key(key)
        return self._present[key]

    def _table_version(self, key: InputKey) -> str:
        """Return the version of a table's rows, or their number where only that was read."""
        if key.name not in self._tables:
            return "gone"
        wanted = Partition(key.corpus or "", key.bucket, key.method)
        methods = None if key.family is None else self._families.get(key.family, ())
        footers = {
            partition: footer
            for partition, footer in self.provenances(key.name, wanted.corpus).items()
            if feeds(partition, wanted) and (methods is None or partition.method in methods)
        }
        if key.kind == "table":
            return version_of({p: footer.content_hash for p, footer in footers.items()})
        n_rows = sum(footer.rows for footer in footers.values())
        return str(n_rows if key.kind == "rows" else n_rows.bit_length())

    def changes(self, table: str, partition: Partition, code_version: str | None) -> list[str]:
        """Return the inputs whose version differs from the recorded one; [] also without a file."""
        provenance = self.provenances(table, partition.corpus).get(partition)
        if provenance is None:
            return []
        changed = [
            key
            for key, version in provenance.inputs.items()
            if self.present_version(InputKey.parse(key, provenance.asset)) not in (version, None)
        ]
        if provenance.code_version != code_version_of(self._tables[table], code_version):
            changed.append("code")
        return changed
