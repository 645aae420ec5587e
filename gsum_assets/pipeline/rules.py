"""Evaluation of the rules that tables declare."""

import re

import duckdb
import pyarrow as pa

from gsum_assets.pipeline.check import Check
from gsum_assets.pipeline.check_inputs import CheckInputs
from gsum_assets.pipeline.finding import Finding, count, found, together
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
    with duckdb.connect() as connection:
        for name, rows in _read(check, inputs).items():
            connection.register(name, rows)
        return together([_evaluate(rule, check, inputs, connection) for rule in check.rules])


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


def _evaluate(
    rule: Rule, check: TableCheck, inputs: CheckInputs, connection: duckdb.DuckDBPyConnection
) -> Finding:
    subject = inputs.subject
    rows = rule.examined or check.examined or f'FROM "{subject.table.name}"'
    shown = "*" if rule.examined else check.shown
    wrong = connection.sql(f"SELECT {shown} FROM ({rows}) AS it WHERE {rule.wrong} ORDER BY ALL")
    ((n_rows,),) = connection.sql(f"SELECT count(*) FROM ({rows})").fetchall()
    remedy = rule.remedy or check.remedy or f"materialize {subject.name} again"
    return found(
        count(n_rows, *(rule.noun or check.noun).split("|")),
        wrong.to_arrow_table(),
        f"{rule.problem}; {remedy.replace('{corpus}', inputs.corpus)}",
    )
