"""Dagster asset checks: one step for each asset."""

import logging
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import dagster as dg

from gsum_assets.dagster_assets.evaluate import Verdict, evaluate, in_turn
from gsum_assets.dagster_assets.partitions import partitions_of
from gsum_assets.pipeline.check_inputs import Subject
from gsum_assets.pipeline.tables import TABLES, table_of
from gsum_assets.registry.checks import checks_for
from gsum_assets.registry.declared import STEP_OF
from gsum_resources.dagster_io.dagster_private import STEPS_LOGGER
from gsum_resources.dagster_io.failure import explained
from gsum_resources.dagster_io.table_metadata import length_of
from gsum_resources.dagster_io.warehouse_io import partition_of
from gsum_resources.models.by_work import LANGUAGE_MODELS
from gsum_resources.store.lineage import Lineage
from gsum_resources.store.parquet_store import ParquetStore, Partition
from gsum_resources.store.table import Table

_CELL = 200  # characters
# columns of offenders that gsum writes itself, and names of files
_SHOWN = ("of", "partition", "difference", "changed", "what", "error", "file")
_LABELS = {c.name for table in TABLES.values() for c in table.columns if c.label}
_NO_RESULT = re.compile(r"Blocking asset check '(.+):\w+' emitted no result")


def concerns_no_kept_table(record: logging.LogRecord) -> bool:
    """Return False for Dagster's warning that a blocking check of a gsum table gave no result.

    A run that keeps a table (`keeps_what_is_current`) does not check it again, since it was checked
    when it was written.
    """
    warning = _NO_RESULT.match(record.getMessage())
    return warning is None or warning[1] not in STEP_OF


logging.getLogger(STEPS_LOGGER).addFilter(concerns_no_kept_table)


def checks_of(
    assets: Collection[dg.AssetsDefinition | dg.SourceAsset],
    store: ParquetStore,
    new_lineage: Callable[[], Lineage],
) -> list[dg.AssetChecksDefinition]:
    """Return the checks of every materializable asset.

    They have no partitions of their own: a check with partitions (in preview in Dagster 1.13)
    loses them in a run over a range, and its badge in the UI is that of the last partition anyway.

    Parameters
    ----------
    new_lineage : returns a new `Lineage`.
    """
    return [
        _checks_of(spec, store, new_lineage)
        for asset in assets
        if isinstance(asset, dg.AssetsDefinition)
        for spec in asset.specs
    ]


def _checks_of(
    spec: dg.AssetSpec, store: ParquetStore, new_lineage: Callable[[], Lineage]
) -> dg.AssetChecksDefinition:
    subject = subject_of(spec)
    checks = checks_for(subject)

    @dg.multi_asset_check(
        name=f"{spec.key.to_python_identifier()}_checks",
        specs=[
            dg.AssetCheckSpec(c.name, asset=spec.key, description=c.meaning, blocking=c.blocking)
            for c in checks
        ],
        can_subset=True,
    )
    def run_checks(context: dg.AssetCheckExecutionContext) -> Iterator[dg.AssetCheckResult]:
        names = {key.name for key in context.selected_asset_check_keys}
        wanted = [check for check in checks if check.name in names]
        partitions = _partitions_of_run(context, spec.partitions_def)
        with explained(), in_turn(subject, store):
            verdicts = evaluate(subject, wanted, store, new_lineage(), partitions)
            yield from (_result(spec.key, subject.table, verdict) for verdict in verdicts)
            _report_again(context, spec.key, subject.table, verdicts)

    return run_checks


def subject_of(spec: dg.AssetSpec) -> Subject:
    """Return the subject of an asset's checks."""
    return Subject(
        name=spec.key.to_user_string(),
        table=table_of(spec.key.path),
        code_version=spec.code_version,
        methods=frozenset(p.method for p in partitions_of(spec.partitions_def, "")),
        asks_model=any(dep.asset_key.path[-1] in LANGUAGE_MODELS for dep in spec.deps),
    )


def _partitions_of_run(
    context: dg.AssetCheckExecutionContext, definition: dg.PartitionsDefinition | None
) -> list[Partition] | None:
    """Return the partitions of the run; None if it has none."""
    if context.has_partition_key:
        keys: Sequence[str] = [context.partition_key]
    elif context.has_partition_key_range:
        keys = context.partition_keys
    else:
        return None
    return [partition_of(key, definition) for key in keys]


def _result(asset: dg.AssetKey, table: Table, verdict: Verdict) -> dg.AssetCheckResult:
    return dg.AssetCheckResult(
        asset_key=asset,
        check_name=verdict.check.name,
        passed=verdict.passed,
        severity=_severity(verdict),
        description=verdict.description,
        metadata=_metadata(verdict, table),
    )


def _report_again(
    context: dg.AssetCheckExecutionContext,
    asset: dg.AssetKey,
    table: Table,
    verdicts: Sequence[Verdict],
) -> None:
    """Report these verdicts once more, outside the run, if Dagster shows others.

    Dagster shows the verdicts of the run that began last, although a run that began earlier may
    have checked later.
    """
    shown = context.instance.event_log_storage.get_latest_asset_check_execution_by_key(
        list(context.selected_asset_check_keys)
    )
    for verdict in verdicts:
        contrary = "FAILED" if verdict.passed else "SUCCEEDED"
        if shown[dg.AssetCheckKey(asset, verdict.check.name)].status.value == contrary:
            context.instance.report_runless_asset_event(reported(asset, table, verdict))


def reported(asset: dg.AssetKey, table: Table, verdict: Verdict) -> dg.AssetCheckEvaluation:
    """Return a verdict as the event that reports it outside a run."""
    return dg.AssetCheckEvaluation(
        asset,
        verdict.check.name,
        verdict.passed,
        _metadata(verdict, table),
        severity=_severity(verdict),
        description=verdict.description,
    )


def _severity(verdict: Verdict) -> dg.AssetCheckSeverity:
    return dg.AssetCheckSeverity.ERROR if verdict.is_error else dg.AssetCheckSeverity.WARN


def _metadata(verdict: Verdict, table: Table) -> dict[str, dg.MetadataValue]:
    metadata: dict[str, dg.MetadataValue] = {
        "looked_at": dg.MetadataValue.int(verdict.n_checked),
        "wrong": dg.MetadataValue.int(verdict.n_wrong),
    }
    if verdict.offenders:
        metadata["first"] = dg.MetadataValue.md(_markdown(verdict.offenders, table))
    return metadata


def _markdown(rows: Sequence[Mapping[str, object]], table: Table) -> str:
    """Return rows, which may differ in their columns, as a Markdown table.

    Of a text only the length is shown, as in previews. Rows are named by ids, also of documents.
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    lines += [
        "| " + " | ".join(_cell(name, row.get(name, ""), table) for name in names) + " |"
        for row in rows
    ]
    return "\n".join(lines)


def _cell(name: str, value: object, table: Table) -> str:
    may_quote = _may_quote(name, table)
    if may_quote and isinstance(value, str | list) and value and isinstance(value[0], str):
        return length_of(value)
    text = " ".join(str(value).split()).replace("|", "\\|").replace("<", "&lt;")
    return text if len(text) <= _CELL else text[: _CELL - 1] + "…"


def _may_quote(name: str, table: Table) -> bool:
    """Return whether a column of offenders may quote a document, question or reply."""
    if name.endswith("_id") or name in _SHOWN:
        return False
    declared = {column.name: column for column in table.columns}
    return declared[name].is_text if name in declared else name not in _LABELS
