"""Lineage: recorded inputs of tables, and the single rule that decides whether they are current.

Everything that an asset reads has a key and a version. The versions are stored in the footer of the
files that it writes; a partition is out of date if one of them differs from the present version.
The automation condition, the command line and the check `lineage_is_current` all use
`Lineage.changes`.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from gsum_resources.parquet_store import (
    Listing,
    ParquetStore,
    Partition,
    Provenance,
    version_of,
)
from gsum_resources.table import Table

Step = tuple[str, str]  # run id, step key


@dataclass
class Reads:
    """Inputs that each running step has read so far, and its model requests without a reply."""

    tables: dict[Step, dict[str, dict[Partition, str]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(dict))
    )
    others: dict[Step, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))
    failures: dict[Step, list[str]] = field(default_factory=lambda: defaultdict(list))
    filtered: dict[Step, list[str]] = field(default_factory=lambda: defaultdict(list))

    def table(self, step: Step, name: str, hashes: Mapping[Partition, str]) -> None:
        """Record that `step` read these partitions of a table."""
        self.tables[step][name].update(hashes)

    def other(self, step: Step, key: str, version: str) -> None:
        """Record that `step` used a model or a setting."""
        self.others[step][key] = version

    def failure(self, step: Step, document_id: str) -> None:
        """Record that a model gave `step` no valid reply on a document, "" for the whole corpus."""
        self.failures[step].append(document_id)

    def filter(self, step: Step, document_id: str) -> None:
        """Record that a content filter rejected a request on a document, "" for the corpus."""
        self.filtered[step].append(document_id)

    def inputs_of(self, step: Step, partition: Partition) -> dict[str, str]:
        """Return the inputs that `step` read and that `partition` of its output depends on."""
        inputs = {
            key: version
            for key, version in self.others[step].items()
            if "/corpus=" not in key or key.endswith(f"/corpus={partition.corpus}")
        }
        for name, hashes in self.tables[step].items():
            matching = {p: h for p, h in hashes.items() if feeds(p, partition)}
            shared = Partition(
                partition.corpus,
                partition.bucket if any(p.bucket for p in hashes) else None,
                partition.method if any(p.method for p in hashes) else None,
            )
            inputs[f"table:{name}/{shared.path}"] = version_of(matching)
        return inputs


def feeds(source: Partition, target: Partition) -> bool:
    """Return whether `source` feeds `target`: equal in every dimension that both have."""
    return all(
        a is None or b is None or a == b
        for a, b in (
            (source.corpus, target.corpus),
            (source.bucket, target.bucket),
            (source.method, target.method),
        )
    )


def code_version_of(table: Table, asset_version: str | None) -> str:
    """Return the code version of a file: the version of the asset and that of the columns."""
    return f"{asset_version or ''}/{table.fingerprint}"


class Lineage:
    """Compares recorded versions with present ones, and caches what it read.

    An instance is a snapshot of the warehouse: create a new one for each comparison.

    Parameters
    ----------
    store : the warehouse.
    tables : declared tables by name.
    other_version : returns the present version of a `settings:` key, or of a `model:` key with the
        asset that reads the model, `model:language_model/asset=gor/topics`; None if it is unknown,
        which counts as unchanged.
    """

    def __init__(
        self,
        store: ParquetStore,
        tables: Mapping[str, Table],
        other_version: Callable[[str], str | None],
    ) -> None:
        self._store = store
        self._tables = tables
        self._other_version = other_version
        self._present: dict[str, str | None] = {}
        self._listed: dict[tuple[str, str], dict[Partition, Provenance]] = {}

    def provenances(self, table: str, corpus: str) -> dict[Partition, Provenance]:
        """Return the footers of all files of a table and corpus."""
        key = (table, corpus)
        if key not in self._listed:
            declared = self._tables[table]
            if self._store.lists_at_once:
                present = self._files.partitions(declared, corpus)
                self._listed[key] = self._store.footers(declared, present)
            else:
                found = (
                    (partition, self._store.provenance(declared, partition))
                    for partition in self._store.partitions(declared, corpus)
                )
                self._listed[key] = {partition: p for partition, p in found if p is not None}
        return self._listed[key]

    @cached_property
    def _files(self) -> Listing:
        """All files of an object store, from one listing."""
        return self._store.list_files()

    def exists(self, table: str, partition: Partition) -> bool:
        """Return whether the partition has a file."""
        return partition in self.provenances(table, partition.corpus)

    def present_version(self, key: str) -> str | None:
        """Return the present version of `key`; without files that of an empty set."""
        if key not in self._present:
            kind, _, name = key.partition(":")
            self._present[key] = (
                self._table_version(name) if kind == "table" else self._other_version(key)
            )
        return self._present[key]

    def _table_version(self, name_and_path: str) -> str:
        name, _, path = name_and_path.partition("/")
        wanted = Partition.from_path(path)
        if name not in self._tables:
            return "gone"
        known = self.provenances(name, wanted.corpus)
        return version_of({p: v.content_hash for p, v in known.items() if feeds(p, wanted)})

    def changes(self, table: str, partition: Partition, code_version: str | None) -> list[str]:
        """Return the inputs whose version differs from the recorded one; [] if current.

        A partition without a file has no recorded inputs: it is missing, not out of date.
        """
        provenance = self.provenances(table, partition.corpus).get(partition)
        if provenance is None:
            return []
        changed = [
            key
            for key, version in provenance.inputs.items()
            if self.present_version(_read_by(key, provenance.asset)) not in (version, None)
        ]
        if provenance.code_version != code_version_of(self._tables[table], code_version):
            changed.append("code")
        return changed


def _read_by(key: str, asset: str) -> str:
    """Return a key with the asset that reads it: kinds of work may have their own models."""
    return f"{key}/asset={asset}" if key.startswith("model:") else key
