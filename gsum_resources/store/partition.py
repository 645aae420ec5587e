"""Partitions of tables: their files, and the provenance in the footers of these."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from gsum_resources.store.content_hash import hash_texts
from gsum_resources.store.table import Table

FOOTER_KEY = b"gsum.provenance"
FILE_NAME = "data.parquet"
DIMENSIONS = ("corpus", "bucket", "method")


class StoreError(ValueError):
    """A table cannot be written or read; the message names table, column and asset."""


def bucket_names(n_buckets: int) -> list[str]:
    """Return the names of all buckets of a corpus, in order: "00" to "99", "100" to "1023"."""
    return [f"{i:02d}" for i in range(n_buckets)]


@dataclass(frozen=True, order=True)
class Partition:
    """The partition of a table that one file holds; dimensions that the table lacks are None."""

    corpus: str
    bucket: str | None = None
    method: str | None = None

    @property
    def path(self) -> str:
        """Hive-style path segments, `corpus=qmsum/bucket=03`."""
        values = ((name, getattr(self, name)) for name in DIMENSIONS)
        return "/".join(f"{name}={value}" for name, value in values if value is not None)

    @classmethod
    def from_path(cls, path: str) -> "Partition":
        """Return the partition named by the segments of `path`."""
        pairs = (segment.split("=", 1) for segment in path.split("/") if "=" in segment)
        return cls(**{name: value for name, value in pairs if name in DIMENSIONS})

    def is_of(self, table: Table) -> bool:
        """Return whether the partition has exactly the dimensions of a table."""
        return all((getattr(self, d) is not None) == (d in table.dimensions) for d in DIMENSIONS)


@dataclass(frozen=True)
class Provenance:
    """Origin of a file's content.

    Attributes
    ----------
    content_hash : hash of the rows, of columns that count for it.
    code_version : code version of the asset that wrote the file.
    inputs : version of each input by its key: `table:chunks/corpus=qmsum`,
        `settings:chunking/corpus=qmsum`, `model:embedding_model`, and where only the number of rows
        counts `rows:documents/corpus=qmsum`, or its binary digits
        `size:lightpal.passage_edges/corpus=qmsum`.
    asset, run_id, time : asset and run that wrote the file, and when (ISO 8601, UTC).
    rows : number of rows.
    failed : number of model requests without a valid reply, so that rows are missing; they are
        repeated when the partition is materialized again.
    filtered : number of model requests that a content filter rejected, so that rows are missing for
        good.
    """

    content_hash: str
    code_version: str
    inputs: Mapping[str, str] = field(default_factory=dict)
    asset: str = ""
    run_id: str = ""
    time: str = ""
    rows: int = 0
    failed: int = 0
    filtered: int = 0

    @property
    def settings_hash(self) -> str:
        """Hash of the settings among the inputs."""
        return hash_texts(
            f"{key}={self.inputs[key]}"
            for key in sorted(self.inputs)
            if key.startswith("settings:")
        )


class Listing:
    """The files of a store, or below a folder of it, at one moment, from `fs.find` with details.

    Attributes
    ----------
    stamps : by table, its partitions with a value that changes with the content of their file.
    tables : names of the tables that have any file, also of those that are appended to.
    """

    def __init__(self, root: str, found: Mapping[str, Mapping[str, Any]]) -> None:
        self.tables: set[str] = set()
        self.stamps: dict[str, dict[Partition, object]] = {}
        for path, info in found.items():
            table, _, rest = path[len(root) + 1 :].partition("/")
            if rest.startswith("corpus=") and rest.endswith(".parquet"):
                self.tables.add(table)
                if rest.endswith(f"/{FILE_NAME}"):
                    partition = Partition.from_path(rest)
                    self.stamps.setdefault(table, {})[partition] = stamp_of(info)

    def stamped(self, table: Table, corpus: str | None = None) -> dict[Partition, object]:
        """Return the partitions of a table that have a file, in order, with their stamps."""
        found = self.stamps.get(table.name, {})
        wanted = (p for p in found if corpus in (None, p.corpus) and p.is_of(table))
        return {partition: found[partition] for partition in sorted(wanted)}


def stamp_of(info: Mapping[str, Any]) -> object:
    """Return a value that changes with the content of an object, from information on it."""
    return info.get("ETag") or info.get("created") or info.get("mtime"), info.get("size")


def version_of(hashes: Mapping[Partition, str]) -> str:
    """Return a version of a set of partitions that changes with any member or its content."""
    return hash_texts(f"{partition.path}={hashes[partition]}" for partition in sorted(hashes))


def provenance_of(metadata: Mapping[bytes, bytes] | None) -> Provenance:
    """Return the provenance in the metadata of a file's footer."""
    if not metadata or FOOTER_KEY not in metadata:
        raise StoreError(
            "a file of the warehouse has no provenance: it was not written by gsum; remove it"
        )
    footer = json.loads(metadata[FOOTER_KEY])
    return Provenance(**{f.name: footer[f.name] for f in fields(Provenance) if f.name in footer})
