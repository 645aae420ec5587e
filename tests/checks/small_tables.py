"""Checks of one family on tables small enough to know the answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import pyarrow as pa

from gsum_assets.pipeline.check_inputs import CheckInputs, Subject
from gsum_assets.pipeline.finding import Finding
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.registry.checks import CHECKS, checks_for

Tables = dict[str, pa.Table]
Rows = dict[str, list[tuple]]


@dataclass(frozen=True)
class SmallInputs:
    """Inputs of a check from tables by name."""

    subject: Subject
    tables: Tables
    corpus: str = "tales"
    method: str = "m"

    def rows(
        self, name: str = "", columns: Sequence[str] = (), as_dictionaries: Sequence[str] = ()
    ) -> pa.Table:
        rows = self.tables[name or self.subject.table.name]
        return rows.select([c for c in columns or rows.column_names if c in rows.column_names])


def run_check(table: str, name: str, tables: Tables) -> Finding:
    """Return the finding of a registered check of a table."""
    subject = Subject(table.replace(".", "/"), TABLES[table], None, frozenset(), False)
    (check,) = (check for check in checks_for(subject) if check.name == name)
    return check.run(cast(CheckInputs, SmallInputs(subject, tables)))


@dataclass(frozen=True)
class SmallTables:
    """Good rows of a family's tables, and the findings of its checks once some are replaced.

    Attributes
    ----------
    family : prefix of the names of its tables.
    columns : names of the columns of each table.
    good : rows of each table that pass every check.
    checks : table without the family's prefix, and name, of each check.
    """

    family: str
    columns: Mapping[str, str]
    good: Rows
    checks: Mapping[str, tuple[str, str]]

    def finding(self, check: str, **changed: list[tuple]) -> Finding:
        """Return the finding of a check after the rows of some tables are replaced."""
        return self._found(check, self.good | {self._name(n): rows for n, rows in changed.items()})

    def with_row(self, table: str, number: int, *row: object) -> list[tuple]:
        """The good rows of a table, one replaced; none given: left out; beyond the last: added."""
        rows = list(self.good[self._name(table)])
        rows[number : number + 1] = [row] if row else []
        return rows

    def assert_good_rows_pass(self, check: str) -> None:
        """In any order."""
        finding = self.finding(check)
        assert not finding.problem
        assert finding.checked[0] != "0"
        assert not self._found(check, {n: rows[::-1] for n, rows in self.good.items()}).problem

    def assert_every_check_is_tried(self) -> None:
        registered = {
            (name.removeprefix(f"{self.family}."), check.name)
            for name, table in TABLES.items()
            if name.startswith(f"{self.family}.")
            for check in (*table.checks, *CHECKS.get(name.replace(".", "/"), ()))
        }
        assert registered == set(self.checks.values())

    def assert_no_rows_pass(self, check: str) -> None:
        finding = self._found(check, {name: [] for name in self.good})
        assert not finding.problem
        assert finding.checked.startswith("0 ")

    def _name(self, table: str) -> str:
        return table if table in self.columns else f"{self.family}.{table}"

    def _found(self, check: str, rows: Rows) -> Finding:
        table, name = self.checks[check]
        tables = {name: self._table(name, rows[name]) for name in self.columns}
        return run_check(self._name(table), name, tables)

    def _table(self, name: str, values: Sequence[tuple]) -> pa.Table:
        names = self.columns[name].split()
        schema = pa.schema([TABLES[name].schema.field(column) for column in names])
        dicts = [dict(zip(names, row, strict=True)) for row in values]
        return pa.Table.from_pylist(dicts, schema)
