"""Declaration of a table: named, typed, documented columns and its partition dimensions."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from gsum_resources.store.content_hash import hash_texts


@dataclass(frozen=True)
class Column:
    """A column: its Arrow type, a one-line description, whether it may be null.

    A column that is `ignored_by_hash` (latency, time) may differ after a rebuild: the content hash
    leaves it out. A `label` is a string that names no document and quotes none, nor a question or
    reply: a kind, a model, a metric, a hash.
    """

    name: str
    type: pa.DataType
    meaning: str
    nullable: bool = False
    ignored_by_hash: bool = False
    label: bool = False

    @property
    def is_text(self) -> bool:
        """Whether values may name or quote a document, question or reply: strings, but labels."""
        of_list = self.type.value_type if pa.types.is_list(self.type) else self.type
        return pa.types.is_string(of_list) and not self.label


@dataclass(frozen=True)
class Table:
    """A table of the warehouse.

    Attributes
    ----------
    name : name in SQL, `documents` or `gor.record_edges`.
    row : completes the sentence "One row per …".
    columns : columns in the file; the partition dimensions are in its path.
    dimensions : the hive dimensions, a subset of corpus, bucket, method, in that order.
    key : columns that identify a row within a partition.
    """

    name: str
    row: str
    columns: tuple[Column, ...]
    dimensions: tuple[str, ...] = ("corpus",)
    key: tuple[str, ...] = ()

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of a file."""
        return pa.schema([pa.field(c.name, c.type, c.nullable) for c in self.columns])

    @property
    def fingerprint(self) -> str:
        """Hash of the columns' names, types and nullability."""
        return hash_texts([str(self.schema)], 4)

    @property
    def ignored_by_hash(self) -> frozenset[str]:
        """Names of the columns that the content hash leaves out."""
        return frozenset(c.name for c in self.columns if c.ignored_by_hash)

    def empty(self) -> pa.Table:
        """Return an empty table with the full schema."""
        # `Schema.empty_table` would import pandas, which the definitions do not need
        return pa.table([pa.nulls(0, column.type) for column in self.columns], schema=self.schema)


@dataclass(frozen=True)
class View:
    """A view over tables, or over views that are defined before it.

    Attributes
    ----------
    name : name in SQL, for example `graphrag_compat.entities`.
    row : completes the sentence "One row per …".
    select : SQL query of the view.
    columns : comments on its columns, by name; others have the comment of a column of the same
        name in a table that the query names.
    """

    name: str
    row: str
    select: str
    columns: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Macro:
    """A query with arguments over tables and views: `from hubs('board')`.

    Attributes
    ----------
    name : name in SQL.
    arguments : names of its arguments, with defaults in SQL: `("of_corpus", "days := 1")`. A name
        must not be that of a column that the query reads: DuckDB would take the argument.
    row : completes the sentence "One row per …".
    select : SQL query, in which arguments stand by their names.
    """

    name: str
    arguments: tuple[str, ...]
    row: str
    select: str
