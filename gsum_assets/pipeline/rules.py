"""Evaluation of the rules that tables declare."""

import re
from collections.abc import Sequence
from dataclasses import replace

import duckdb
import pyarrow as pa

from gsum_assets.pipeline.check import Check
from gsum_assets.pipeline.check_inputs import CheckInputs
from gsum_assets.pipeline.finding import SHOWN, Finding, count, together
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.store.table import Rule, TableCheck


def as_check(declared: TableCheck) -> Check:
    """Return a declared check as one that can be run."""
    return Check(
        declared.name,
        declared.meaning,
        lambda inputs: rules_hold(declared, inputs),
        declared.warns,
        declared.blocking,
    )


def rules_hold(check: TableCheck, inputs: CheckInputs) -> Finding:
    """Check that no row breaks one of a check's rules; only columns that these name are read."""
    every = check.examined or f'FROM "{inputs.subject.table.name}"'
    sources = list(dict.fromkeys(rule.examined or every for rule in check.rules))
    findings: dict[Rule, Finding] = {}
    with duckdb.connect() as connection:
        for name, rows in _read(check, inputs).items():
            connection.register(name, rows)
        for source in sources:
            rules = [rule for rule in check.rules if (rule.examined or every) == source]
            n_rows, *n_wrong = _counts(connection, source, rules)
            for rule, n in zip(rules, n_wrong, strict=True):
                findings[rule] = Finding(count(n_rows, *(rule.noun or check.noun).split("|")))
                if n:
                    shown = "*" if rule.examined else check.shown
                    first = connection.sql(
                        f"SELECT {shown} FROM ({source}) AS it WHERE {rule.wrong} "
                        f"ORDER BY ALL LIMIT {SHOWN}"
                    )
                    remedy = (
                        rule.remedy or check.remedy or f"materialize {inputs.subject.name} again"
                    )
                    findings[rule] = replace(
                        findings[rule],
                        problem=f"{n:,} of {findings[rule].checked} {rule.problem}; "
                        + remedy.replace("{corpus}", inputs.corpus),
                        n_wrong=n,
                        offenders=first.to_arrow_table().to_pylist(),
                    )
    return together([findings[rule] for rule in check.rules])


def _counts(
    connection: duckdb.DuckDBPyConnection, source: str, rules: Sequence[Rule]
) -> Sequence[int]:
    """Return the number of rows, and how many of them break each rule."""
    flags = ", ".join(f"{rule.wrong} AS wrong_{i}" for i, rule in enumerate(rules))
    counts = ", ".join(["count(*)", *(f"count_if(wrong_{i})" for i in range(len(rules)))])
    (row,) = connection.sql(
        f"SELECT {counts} FROM (SELECT {flags} FROM ({source}) AS it)"
    ).fetchall()
    return row


def _read(check: TableCheck, inputs: CheckInputs) -> dict[str, pa.Table]:
    """Return the checked table, and others that the rules name, by name."""
    checked = inputs.subject.table.name
    sql = " ".join([check.examined, *(f"{rule.wrong} {rule.examined}" for rule in check.rules)])
    shown_of = _tables_in(check.examined) or {checked}

    def columns_of(name: str) -> list[str]:
        words = set(re.findall(r"\w+", f"{sql} {check.shown}" if name in shown_of else sql))
        return [column.name for column in TABLES[name].columns if column.name in words]

    return {
        name: inputs.rows("" if name == checked else name, columns_of(name))
        for name in {checked, *_tables_in(sql)}
    }


def _tables_in(sql: str) -> set[str]:
    return {name for name in re.findall(r'"([\w.]+)"', sql) if name in TABLES}
