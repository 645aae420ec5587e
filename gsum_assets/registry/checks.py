"""The checks of an asset: those of every table, and those of the step."""

from collections.abc import Mapping, Sequence

from gsum_assets.pipeline.check import Check
from gsum_assets.pipeline.check_inputs import Subject
from gsum_assets.registry import every_table
from gsum_assets.registry.declared import STEPS
from gsum_assets.registry.failures import latest_failures

CHECKS: Mapping[str, Sequence[Check]] = {
    "/".join(declared.path(table)): checks
    for declared in STEPS
    for table, checks in declared.step.checks.items()
}
"""The checks that steps declare, by asset."""

_SCHEMA = Check(
    "schema",
    "Columns, types and nullability are those declared, and each file has its provenance.",
    lambda inputs: every_table.schema(inputs.subject.table, inputs.footers),
)
_IDS_UNIQUE = Check(
    "ids_unique",
    "No two rows of a corpus (and method) have the same key.",
    lambda inputs: every_table.ids_unique(
        inputs.keys(), inputs.subject.table.key, len(inputs.files)
    ),
)
_REQUESTS_ANSWERED = Check(
    "requests_answered",
    "Every request to the language model got a valid reply.",
    lambda inputs: every_table.requests_answered(
        inputs.provenances(), latest_failures(inputs), inputs.corpus
    ),
    warns=True,
)


def checks_for(subject: Subject) -> list[Check]:
    """Return the checks of an asset's table: of every table, and of the step."""
    general = [_SCHEMA, _IDS_UNIQUE] if subject.table.key else [_SCHEMA]
    if subject.asks_model:
        general.append(_REQUESTS_ANSWERED)
    return [*general, *CHECKS.get(subject.name, ())]
