"""Checks by table; those of a method are declared in its folder."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec

from gsum_assets.corpus import document_checks as documents
from gsum_assets.evaluation import judge_checks as judges
from gsum_assets.evaluation import result_checks as results
from gsum_assets.pipeline.check import Check
from gsum_assets.pipeline.check_inputs import CheckInputs, Subject
from gsum_assets.pipeline.finding import Finding
from gsum_assets.pipeline.registered import FOLDERS
from gsum_assets.pipeline.rules import as_check
from gsum_assets.registry import every_table
from gsum_assets.registry.failures import latest_failures
from gsum_assets.retrieval.oracles import askable
from gsum_resources.llm.extractive import NAME as EXTRACTIVE
from gsum_resources.store.arrow import pc

_OF_METHODS = [
    import_module(f"{folder}.checks").CHECKS for folder in FOLDERS if find_spec(f"{folder}.checks")
]

CHECKS: Mapping[str, Sequence[Check]] = {
    "rejected_documents": [
        Check(
            "none_rejected",
            "Every document of the corpus folder could be read.",
            lambda inputs: documents.none_rejected(inputs.rows(), inputs.corpus),
            warns=True,
        )
    ],
    "chunks": [
        Check(
            "cover_documents",
            "Each chunk is an exact slice of its document, and every character that is not blank "
            "lies in a chunk.",
            lambda inputs: documents.cover_documents(
                inputs.rows("", ["document_id", "start", "end", "text"]),
                inputs.rows("documents", ["document_id", "text"]),
            ),
            blocking=True,
        )
    ],
    "chunk_embeddings": [
        Check(
            "finite",
            "Each chunk has one vector, finite and of unit length, and all have one dimension.",
            lambda inputs: documents.finite(
                inputs.rows(),
                inputs.rows("chunks", ["chunk_id", "document_id"]),
                _dimensions(inputs),
            ),
            blocking=True,
        )
    ],
    "query_embeddings": [
        Check(
            "finite",
            "Each question has one vector, finite and of unit length.",
            lambda inputs: documents.finite(
                inputs.rows(), inputs.rows("queries", ["query_id"]), _dimensions(inputs), "query"
            ),
        )
    ],
    "summaries": [
        Check(
            "every_question_answered",
            "Each question of `queries` has an answer.",
            lambda inputs: results.every_question_answered(
                askable(inputs.method, inputs.rows("queries")), inputs.rows(), inputs.corpus
            ),
            warns=True,
        ),
        Check(
            "speakers_are_right",
            "Each sentence that the embedded model selected stands under the name of its speaker.",
            lambda inputs: _speakers(inputs, selected=True),
        ),
        Check(
            "models_name_speakers",
            "A language model quotes no sentence under the name of a speaker who did not say it.",
            lambda inputs: _speakers(inputs, selected=False),
            warns=True,
        ),
    ],
    "judgements": [
        Check(
            "no_position_bias",
            "The judge does not prefer an answer because of its position.",
            lambda inputs: judges.no_position_bias(inputs.rows()),
            warns=True,
        ),
    ],
    **{table: own for checks in _OF_METHODS for table, own in checks.items()},
}
"""Checks by table, besides those of every table and those that the table declares."""

_SCHEMA = Check(
    "schema",
    "Columns, types and nullability are those declared, and each file has its provenance.",
    lambda inputs: every_table.schema(inputs.subject.table, inputs.footers),
)
_IDS_UNIQUE = Check(
    "ids_unique",
    "No two rows of a corpus (and method) have the same key.",
    lambda inputs: every_table.ids_unique(
        inputs.keys(), inputs.subject.table.key, len(inputs.whole)
    ),
)
_LINEAGE_IS_CURRENT = Check(
    "lineage_is_current",
    "Inputs, settings, models and code have not changed since each partition was written.",
    lambda inputs: every_table.lineage_is_current(inputs.changes(), inputs.corpus),
    warns=True,
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
    """Return the checks of an asset's table: of every table, declared ones, and others."""
    general = [_SCHEMA, _IDS_UNIQUE] if subject.table.key else [_SCHEMA]
    general.append(_LINEAGE_IS_CURRENT)
    if subject.asks_model:
        general.append(_REQUESTS_ANSWERED)
    declared = [as_check(check) for check in subject.table.checks]
    return [*general, *declared, *CHECKS.get(subject.table.name, ())]


def _speakers(inputs: CheckInputs, selected: bool) -> Finding:
    """Check the names of speakers in answers by `extractive`, or in those by other models."""
    rows = inputs.rows()
    is_selected = pc.equal(rows["model"], EXTRACTIVE)
    return results.speakers_are_right(
        rows.filter(is_selected if selected else pc.invert(is_selected)),
        lambda: inputs.rows("documents", ["text"]),
    )


def _dimensions(inputs: CheckInputs) -> set[int]:
    """Return the vector lengths of all buckets that have rows."""
    return {
        getattr(footer.schema.to_arrow_schema().field("embedding").type, "list_size", 0)
        for footer in inputs.footers.values()
        if footer.num_rows
    }
