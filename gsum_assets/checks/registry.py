"""Which checks each table has; those of a method stand in its folder."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec

from gsum_assets.checks import documents, every_table, judges, results
from gsum_assets.checks.check import Check
from gsum_assets.checks.failures import latest_failures
from gsum_assets.checks.part import Part, Subject
from gsum_assets.registered import FOLDERS
from gsum_assets.retrieval.oracles import askable

_OF_METHODS = [
    import_module(f"{one}.checks").CHECKS for one in FOLDERS if find_spec(f"{one}.checks")
]

CHECKS: Mapping[str, Sequence[Check]] = {
    "rejected_documents": [
        Check(
            "none_rejected",
            "Every document of the corpus folder could be taken in.",
            lambda part: documents.none_rejected(part.rows(), part.corpus),
            warns=True,
        )
    ],
    "chunks": [
        Check(
            "cover_documents",
            "Each chunk is an exact slice of its document, and every character that is not blank "
            "lies in a chunk.",
            lambda part: documents.cover_documents(part.rows(), part.rows("documents")),
        )
    ],
    "chunk_embeddings": [
        Check(
            "finite",
            "Each chunk has one vector, finite and of unit length, and all have one dimension.",
            lambda part: documents.finite(
                part.rows(), part.rows("chunks", ["chunk_id", "document_id"]), _dimensions(part)
            ),
        )
    ],
    "query_embeddings": [
        Check(
            "finite",
            "Each question has one vector, finite and of unit length.",
            lambda part: documents.finite(
                part.rows(), part.rows("queries", ["query_id"]), _dimensions(part), "query"
            ),
        )
    ],
    "rankings": [
        Check(
            "ranks_consecutive",
            "The ranks of each question and level count up from 1.",
            lambda part: results.ranks_consecutive(part.rows()),
        )
    ],
    "contexts": [
        Check(
            "cite_what_exists",
            "Passages that are chunks exist in `chunks`, with the same text.",
            lambda part: results.cite_what_exists(
                part.rows(), part.rows("chunks", ["chunk_id", "text"])
            ),
        )
    ],
    "summaries": [
        Check(
            "every_question_answered",
            "Each question of `queries` has an answer.",
            lambda part: results.every_question_answered(
                askable(part.method, part.rows("queries")), part.rows(), part.corpus
            ),
            warns=True,
        )
    ],
    "scores": [
        Check(
            "in_range",
            "Every score is finite and between 0 and 1.",
            lambda part: results.in_range(part.rows()),
        )
    ],
    "leaderboard": [
        Check(
            "mean_in_interval",
            "Every mean lies within its 95% interval.",
            lambda part: results.mean_in_interval(part.rows()),
        )
    ],
    "curves": [
        Check(
            "mean_in_interval",
            "Every mean lies within its 95% interval.",
            lambda part: results.mean_in_interval(part.rows()),
        )
    ],
    "comparisons": [
        Check(
            "mean_in_interval",
            "Every mean difference lies within its 95% interval.",
            lambda part: results.difference_in_interval(part.rows()),
        )
    ],
    "judgements": [
        Check(
            "verdicts_parsed",
            "Every reply of the judge held a verdict.",
            lambda part: judges.verdicts_parsed(part.rows(), part.corpus),
            warns=True,
        ),
        Check(
            "no_position_bias",
            "The judge does not prefer an answer for the place where it is shown.",
            lambda part: judges.no_position_bias(part.rows()),
            warns=True,
        ),
    ],
    **{table: own for checks in _OF_METHODS for table, own in checks.items()},
}
"""Checks of one table each, besides those that every table has; methods add theirs here."""

_SCHEMA = Check(
    "schema",
    "Columns, types and nullability are those declared, and each file tells its provenance.",
    lambda part: every_table.schema(part.subject.table, part.footers),
)
_IDS_UNIQUE = Check(
    "ids_unique",
    "No two rows of a corpus (and method) have the same key.",
    lambda part: every_table.ids_unique(part.keys(), part.subject.table.key, len(part.whole)),
)
_LINEAGE_IS_CURRENT = Check(
    "lineage_is_current",
    "Inputs, settings, models and code are those that each partition was made from.",
    lambda part: every_table.lineage_is_current(part.changes(), part.corpus),
    warns=True,
)
_REQUESTS_ANSWERED = Check(
    "requests_answered",
    "Every request to the language model got a valid reply.",
    lambda part: every_table.requests_answered(
        part.provenances(), latest_failures(part), part.corpus
    ),
    warns=True,
)


def checks_for(subject: Subject) -> list[Check]:
    """The checks of an asset's table: those of every table that apply, then its own."""
    general = [_SCHEMA, _IDS_UNIQUE] if subject.table.key else [_SCHEMA]
    general.append(_LINEAGE_IS_CURRENT)
    if subject.asks_model:
        general.append(_REQUESTS_ANSWERED)
    return [*general, *CHECKS.get(subject.table.name, ())]


def _dimensions(part: Part) -> set[int]:
    """The vector lengths of all buckets that have rows."""
    return {
        getattr(footer.schema.to_arrow_schema().field("embedding").type, "list_size", 0)
        for footer in part.footers.values()
        if footer.num_rows
    }
