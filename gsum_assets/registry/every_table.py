"""Checks of every table, and all checks of an asset: these and those that its step declares."""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gsum_assets.pipeline.check_inputs import Subject
from gsum_assets.pipeline.result import SHOWN, Check, Finding, count
from gsum_assets.registry.declared import STEPS
from gsum_assets.registry.failures import latest_failures
from gsum_resources.store.arrow import pc
from gsum_resources.store.parquet_store import FOOTER_KEY, Partition, Provenance
from gsum_resources.store.table import Table


def schema(table: Table, footers: Mapping[Partition, pq.FileMetaData]) -> Finding:
    """Check that columns, types and nullability are as declared, and each file has provenance."""
    checked = count(len(footers), "file")
    wrong = [
        {"partition": partition.path, "difference": difference}
        for partition, footer in footers.items()
        for difference in _differences(table, footer)
    ]
    if not wrong:
        return Finding(checked)
    n_files = len({row["partition"] for row in wrong})
    problem = (
        f"{n_files:,} of {checked} are not as tables.py declares '{table.name}' "
        f"(first: {wrong[0]['difference']}); materialize the asset again"
    )
    return Finding(checked, problem, n_files, wrong[:SHOWN])


def _differences(table: Table, footer: pq.FileMetaData) -> list[str]:
    """Return how a file differs from its declaration."""
    present = {f.name: f for f in footer.schema.to_arrow_schema()}
    declared = {f.name: f for f in table.schema}
    differences = [f"column '{name}' is missing" for name in declared if name not in present]
    differences += [f"column '{name}' is not declared" for name in present if name not in declared]
    for name in declared.keys() & present.keys():
        have, want = present[name], declared[name]
        if have.type != want.type and not _is_vector_of(have.type, want.type):
            differences.append(f"column '{name}' has type {have.type}, declared {want.type}")
        if have.nullable != want.nullable:
            allowed = "may be null" if have.nullable else "may not be null"
            differences.append(f"column '{name}' {allowed}, unlike its declaration")
    if FOOTER_KEY not in (footer.metadata or {}):
        differences.append("the footer has no provenance")
    return sorted(differences)


def _is_vector_of(have: pa.DataType, want: pa.DataType) -> bool:
    """Return whether a type is fixed-size lists of a declared list type, as vectors are stored."""
    return (
        pa.types.is_fixed_size_list(have)
        and pa.types.is_list(want)
        and have.value_type == want.value_type
    )


def ids_unique(keys: pa.Table, key: Sequence[str], n_partitions: int) -> Finding:
    """Check that no two rows of a corpus (and method) have the same key."""
    checked = f"{count(keys.num_rows, 'row')} in {count(n_partitions, 'partition')}"
    numbered = pa.table({name: _numbered(keys[name]) for name in key})
    if _are_distinct(numbered):
        return Finding(checked)
    repeated = _repeated(keys.select(list(key)), numbered)
    n_rows = pc.sum(repeated["rows"]).as_py()
    problem = (
        f"{n_rows:,} of {checked} share {count(repeated.num_rows, 'key')} ({', '.join(key)}); "
        "materialize the asset again"
    )
    return Finding(checked, problem, n_rows, repeated.slice(0, SHOWN).to_pylist())


def _are_distinct(numbered: pa.Table) -> bool:
    """Return whether all rows differ, by sorting one number for each row if that is possible."""
    codes = _codes(numbered)
    if codes is None:
        names = numbered.column_names
        groups = numbered.group_by(names, use_threads=False).aggregate([([], "count_all")])
        return groups.num_rows == numbered.num_rows
    if (codes[1:] > codes[:-1]).all():
        return True
    codes.sort()
    return bool((codes[1:] != codes[:-1]).all())


def _codes(numbered: pa.Table) -> np.ndarray | None:
    """Return a number for each row, equal only for equal rows; None if 63 bits are too few."""
    codes, size = np.zeros(numbered.num_rows, np.int64), 1
    for column in numbered.columns:
        if column.null_count or not pa.types.is_integer(column.type) or not len(column):
            return None
        bounds = pc.min_max(column).as_py()
        low, span = bounds["min"], bounds["max"] - bounds["min"] + 1
        size *= span
        if size >= 2**63:
            return None
        codes *= span
        first = 0
        for chunk in column.chunks:
            codes[first : first + len(chunk)] += chunk.to_numpy()
            first += len(chunk)
        codes -= low
    return codes


def _numbered(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return texts as dictionary indices, which are faster to compare; other values unchanged."""
    if pa.types.is_string(column.type):
        column = pc.dictionary_encode(column)
    if not pa.types.is_dictionary(column.type):
        return column
    indices = [chunk.indices for chunk in column.unify_dictionaries().chunks]
    return pa.chunked_array(indices, column.type.index_type)


def _repeated(keys: pa.Table, numbered: pa.Table) -> pa.Table:
    """Return the keys of several rows with their counts, in the order of their first rows."""
    names = keys.column_names
    indexed = numbered.append_column("index", [np.arange(keys.num_rows)])
    groups = indexed.group_by(names, use_threads=False).aggregate(
        [("index", "min"), ([], "count_all")]
    )
    groups = groups.filter(pc.greater(groups["count_all"], 1))
    return keys.take(groups["index_min"]).append_column("rows", groups["count_all"])


def requests_answered(
    provenances: Mapping[Partition, Provenance], failures: pa.Table, corpus: str
) -> Finding:
    """Check that every request to a language model got a valid reply.

    Parameters
    ----------
    failures : rows of `llm_calls` with an error, latest first.
    """
    failed = sum(provenance.failed for provenance in provenances.values())
    checked = count(len(provenances), "partition")
    if not failed:
        return Finding(checked)
    latest = failures.select(["document_id", "error"]).slice(0, min(failed, SHOWN)).to_pylist()
    first = f" (latest: {latest[0]['error']})" if latest else ""
    problem = (
        f"{count(failed, 'request')} got no valid reply, so that rows are missing{first}; "
        f"`gsum run {corpus}` repeats them"
    )
    return Finding(checked, problem, failed, latest)


CHECKS: Mapping[str, Sequence[Check]] = {
    "/".join(declared.path(table)): checks
    for declared in STEPS
    for table, checks in declared.step.checks.items()
}
"""The checks that steps declare, by asset."""

_SCHEMA = Check(
    "schema",
    "Columns, types and nullability are those declared, and each file has its provenance.",
    lambda inputs: schema(inputs.subject.table, inputs.footers),
)
_IDS_UNIQUE = Check(
    "ids_unique",
    "No two rows of a corpus (and method) have the same key.",
    lambda inputs: ids_unique(inputs.keys(), inputs.subject.table.key, len(inputs.files)),
)
_REQUESTS_ANSWERED = Check(
    "requests_answered",
    "Every request to the language model got a valid reply.",
    lambda inputs: requests_answered(inputs.provenances(), latest_failures(inputs), inputs.corpus),
    warns=True,
)


def checks_for(subject: Subject) -> list[Check]:
    """Return the checks of an asset's table: of every table, and of the step."""
    general = [_SCHEMA, _IDS_UNIQUE] if subject.table.key else [_SCHEMA]
    if subject.asks_model:
        general.append(_REQUESTS_ANSWERED)
    return [*general, *CHECKS.get(subject.name, ())]
