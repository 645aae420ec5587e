"""Result of a step: rows, failures and metadata to show."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa

from gsum_assets.pipeline.tables import TABLES
from gsum_resources.store.lineage import feeds
from gsum_resources.store.parquet_store import ParquetStore, Partition, Provenance
from gsum_resources.store.table import Table


class Markdown(str):
    """A text to be rendered as Markdown."""

    __slots__ = ()


Shown = Mapping[str, Any]
"""Numbers, texts, mappings or `Markdown`, by label."""


class Result(NamedTuple):
    """Rows of a step's tables, with a line for each failure.

    Attributes
    ----------
    rows : rows of the first table that the step writes.
    failures : warnings, in whole sentences.
    beside : rows of its other tables, by name.
    shown : returns metadata to show, by table; called only if it is shown.
    """

    rows: pa.Table
    failures: Sequence[str] = ()
    beside: Mapping[str, pa.Table] = {}
    shown: Callable[[], Mapping[str, Shown]] = dict


def result_of(
    family: str, rows: Mapping[str, Sequence[dict]], failures: Sequence[str] = ()
) -> Result:
    """Return a result of rows by table of a family; the first table is that of `Result.rows`."""
    first, *others = (
        pa.Table.from_pylist(of_table, TABLES[f"{family}.{name}"].schema)
        for name, of_table in rows.items()
    )
    return Result(first, failures, dict(zip(list(rows)[1:], others, strict=True)))


@dataclass(frozen=True)
class Subject:
    """An asset whose table is checked.

    Attributes `name`: the asset, `retrieval/scores`; `asks_model`: whether it sends requests to a
    language model.
    """

    name: str
    table: Table
    asks_model: bool


@dataclass(frozen=True)
class CheckInputs:
    """Files of one corpus (and method), and the store that a check may read.

    Attribute `files`: all partitions of the corpus (and method) that have a file.
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


SHOWN = 10  # offenders named in a check's metadata


@dataclass(frozen=True)
class Finding:
    """Result of a check on one corpus, or on one method of a corpus.

    Attributes
    ----------
    checked : what was checked, "1,204 rows in 8 partitions".
    problem : what is wrong and how to repair it; "" if nothing is.
    n_wrong : number of wrong rows, partitions or requests.
    offenders : the first of them, value by column name.
    broke : whether the check itself raised an error.
    """

    checked: str
    problem: str = ""
    n_wrong: int = 0
    offenders: Sequence[Mapping[str, object]] = ()
    broke: bool = False


def found(checked: str, wrong: pa.Table, problem: str) -> Finding:
    """Return a finding whose offenders are the rows of `wrong`.

    Parameter `problem`: completes "<n of checked> …", for example "have no embedding".
    """
    if not wrong.num_rows:
        return Finding(checked)
    first = wrong.slice(0, SHOWN).to_pylist()
    return Finding(checked, f"{wrong.num_rows:,} of {checked} {problem}", wrong.num_rows, first)


def count(n: int, noun: str, plural: str = "") -> str:
    """Return `1 row`, `1,204 rows`."""
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


@dataclass(frozen=True)
class Check:
    """One property of a table.

    Attributes
    ----------
    name : name in the UI.
    meaning : the property in one sentence.
    run : checks one corpus (and method).
    warns : whether a failure is a warning, and does not mean that the data are broken.
    """

    name: str
    meaning: str
    run: Callable[[CheckInputs], Finding]
    warns: bool = False
