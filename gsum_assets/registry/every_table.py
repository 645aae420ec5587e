"""All checks of an asset: those that its step declares, and that its requests were answered."""

from collections.abc import Mapping, Sequence

import duckdb
import pyarrow as pa

from gsum_assets.pipeline.result import SHOWN, Check, CheckInputs, Finding, Subject, count
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.registry.declared import STEPS
from gsum_resources.store.catalogue import define_views

_LATEST_FAILURES = """
    SELECT document_id, error
    FROM (
        SELECT *, row_number() OVER (PARTITION BY prompt_hash ORDER BY time DESC) AS age
        FROM llm_calls
        WHERE corpus = $corpus AND asset = $asset
          AND time <= $written::TIMESTAMPTZ
    )
    WHERE age = 1 AND error IS NOT NULL
    ORDER BY time DESC
    LIMIT $n
"""


def requests_answered(inputs: CheckInputs) -> Finding:
    """Check that every request to a language model got a valid reply."""
    failed = sum(provenance.failed for provenance in inputs.provenances().values())
    checked = count(len(inputs.files), "partition")
    if not failed:
        return Finding(checked)
    latest = latest_failures(inputs).slice(0, min(failed, SHOWN)).to_pylist()
    first = f" (latest: {latest[0]['error']})" if latest else ""
    problem = (
        f"{count(failed, 'request')} got no valid reply, so that rows are missing{first}; "
        f"`gsum run {inputs.corpus}` repeats them"
    )
    return Finding(checked, problem, failed, latest)


def latest_failures(inputs: CheckInputs) -> pa.Table:
    """Return `document_id` and `error` of the requests whose last call failed, latest first.

    The ledger has no methods, so only calls before the partitions were written count.
    """
    provenances = inputs.provenances().values()
    with duckdb.connect() as connection:
        define_views(connection, inputs.store, [TABLES["llm_calls"]])
        values = {
            "corpus": inputs.corpus,
            "asset": inputs.subject.name,
            "written": max(provenance.time for provenance in provenances),
            "n": sum(provenance.failed for provenance in provenances),
        }
        return connection.sql(_LATEST_FAILURES, params=values).to_arrow_table()


CHECKS: Mapping[str, Sequence[Check]] = {
    "/".join(declared.path(table)): checks
    for declared in STEPS
    for table, checks in declared.step.checks.items()
}
"""The checks that steps declare, by asset."""

_REQUESTS_ANSWERED = Check(
    "requests_answered",
    "Every request to the language model got a valid reply.",
    requests_answered,
    warns=True,
)


def checks_for(subject: Subject) -> list[Check]:
    """Return the checks of an asset's table."""
    general = [_REQUESTS_ANSWERED] if subject.asks_model else []
    return [*general, *CHECKS.get(subject.name, ())]
