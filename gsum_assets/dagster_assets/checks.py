"""Dagster asset checks: evaluated by the step that has written the table, for its corpus."""

import warnings
from collections.abc import Mapping, Sequence

import dagster as dg

from gsum_assets.answering.workspace import Workspace
from gsum_assets.dagster_assets.partitions import corpora
from gsum_assets.pipeline.result import SHOWN, Check, CheckInputs, Finding, Subject, count
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.refresh.step import Refreshed
from gsum_assets.registry.declared import Declared
from gsum_assets.registry.every_table import checks_for
from gsum_resources.models.by_work import LANGUAGE_MODELS
from gsum_resources.store.table import Table

_CELL = 200  # characters
# columns of offenders that gsum writes itself, and names of files
_SHOWN = ("of", "partition", "difference", "what", "error", "file")
_LABELS = {c.name for table in TABLES.values() for c in table.columns if c.label}


def subject_of(declared: Declared, name: str) -> Subject:
    """Return a table of a step as the subject of checks."""
    asks_model = not {*LANGUAGE_MODELS}.isdisjoint(declared.reads)
    return Subject("/".join(declared.path(name)), declared.table(name), asks_model)


def check_specs(declared: Declared) -> list[dg.AssetCheckSpec]:
    """Return the checks of all tables of a step."""
    warnings.simplefilter("ignore", dg.PreviewWarning)  # of checks by partition
    return [
        dg.AssetCheckSpec(
            check.name,
            asset=dg.AssetKey(declared.path(name)),
            description=check.meaning,
            partitions_def=corpora,
        )
        for name in declared.step.writes
        for check in checks_for(subject_of(declared, name))
    ]


def check_results(
    workspace: Workspace, context: dg.AssetExecutionContext, done: Refreshed, name: str
) -> list[dg.AssetCheckResult]:
    """Evaluate the checks of a table of a step on all files of the corpus."""
    subject = subject_of(done.declared, name)
    store, corpus = workspace.store, context.partition_key
    methods = (None, *done.declared.methods)
    files = [f for f in store.partitions(subject.table, corpus) if f.method in methods]
    checked = {
        method: CheckInputs(subject, store, tuple(f for f in files if f.method == method))
        for method in dict.fromkeys(file.method for file in files)
    }
    key = dg.AssetKey(done.declared.path(name))
    return [_result(check, key, subject, checked) for check in checks_for(subject)]


def _result(
    check: Check, key: dg.AssetKey, subject: Subject, checked: Mapping[str | None, CheckInputs]
) -> dg.AssetCheckResult:
    findings = {method: _finding(check, inputs) for method, inputs in checked.items()}
    wrong = {method: finding for method, finding in findings.items() if finding.problem}
    lines = [
        (f"{method}: " if method else "") + (finding.problem or finding.checked)
        for method, finding in (wrong or findings).items()
    ]
    offenders = [
        {**({"of": method} if method else {}), **offender}
        for method, finding in wrong.items()
        for offender in finding.offenders
    ]
    is_error = not check.warns or any(finding.broke for finding in wrong.values())
    metadata: dict[str, dg.MetadataValue] = {
        "wrong": dg.MetadataValue.int(sum(finding.n_wrong for finding in wrong.values()))
    }
    if offenders:
        metadata["first"] = dg.MetadataValue.md(_markdown(offenders[:SHOWN], subject.table))
    return dg.AssetCheckResult(
        asset_key=key,
        check_name=check.name,
        passed=not wrong,
        severity=dg.AssetCheckSeverity.ERROR if is_error else dg.AssetCheckSeverity.WARN,
        description="; ".join(lines) or "no rows",
        metadata=metadata,
    )


def _finding(check: Check, inputs: CheckInputs) -> Finding:
    try:
        return check.run(inputs)
    except Exception as error:  # a failed check; it does not fail the run
        problem = f"could not be checked: {type(error).__name__}: {error}"
        return Finding("", problem, 1, broke=True)


def _markdown(rows: Sequence[Mapping[str, object]], table: Table) -> str:
    """Return rows, which may differ in their columns, as a Markdown table."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    lines += [
        "| " + " | ".join(_cell(name, row.get(name, ""), table) for name in names) + " |"
        for row in rows
    ]
    return "\n".join(lines)


def _cell(name: str, value: object, table: Table) -> str:
    """Return a cell; of a text that may quote a document, question or reply, its length."""
    declared = {column.name: column for column in table.columns}
    may_quote = declared[name].is_text if name in declared else name not in _LABELS
    may_quote &= not (name.endswith("_id") or name in _SHOWN)
    if may_quote and isinstance(value, str | list) and value and isinstance(value[0], str):
        unit = "character" if isinstance(value, str) else "value"
        return count(len(value), unit)
    text = " ".join(str(value).split()).replace("|", "\\|").replace("<", "&lt;")
    return text if len(text) <= _CELL else text[: _CELL - 1] + "…"
