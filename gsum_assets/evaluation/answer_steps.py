"""The steps from the contexts of a family to its answers, which are the same for all families."""

from collections.abc import Sequence
from functools import cache, partial

import pyarrow as pa

from gsum_assets.evaluation.answer import Answered, answer_questions, with_spent
from gsum_assets.evaluation.answer_sources import Texts, answer_sources, readings_of
from gsum_assets.evaluation.checks import CITATIONS_SUPPORT, answer_checks
from gsum_assets.evaluation.passages import labels_for
from gsum_assets.evaluation.support import Support
from gsum_assets.pipeline.family import Family
from gsum_assets.pipeline.result import Result
from gsum_assets.pipeline.step import Inputs, Step
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.store.arrow import pc


def answer_steps(family: Family) -> Sequence[Step]:
    """Return the steps from contexts to answers, in order: refinements, then `summaries`."""
    purpose = "The answer, and what it cost in calls, tokens and seconds."
    version = "7" if family.weighted else "6"
    written = Step(
        partial(_summaries, family=family),
        {
            "summaries": purpose,
            "answer_sources": "Where each sentence of the answer stands: word for word, or in a "
            "passage that the model cites.",
        },
        [*family.read_by_questions, "language_model", "embedding_model"],
        pool="llm",
        costs=family.costs,
        code_version=version,
        checks={
            "summaries": answer_checks(family.supported_questions),
            "answer_sources": [CITATIONS_SUPPORT],
        },
    )
    return (*family.refinements, written)


def _summaries(inputs: Inputs, family: Family) -> Result:
    """Return the rows of `summaries`, each with the cost of the earlier steps added."""
    section, _, key = family.prompt_tokens.rpartition(".")
    model, passages = inputs.model("language_model"), inputs.table(family.answered_from)
    settings = inputs.settings("answer")
    is_chunk = pc.equal(passages["node_kind"], "chunk")
    texts = passages.filter(is_chunk).select(["node_id", "text"])
    inputs.on_passages(dict(zip(*(column.to_pylist() for column in texts.columns), strict=True)))
    answers = answer_questions(
        inputs.table("queries"),
        passages,
        model,
        settings["max_words"],
        inputs.prompts("answers"),
        family.weighted,
        inputs.table("contexts"),
        labels_for(model, inputs, pc.unique(passages["document_id"]).drop_null().to_pylist()),
        inputs.settings(section)[key] if key else None,
        settings["by_kind"],
        settings["response_type"],
    )
    spent = [inputs.table(step.table) for step in (*family.preparations, *family.refinements)]
    only_quotes = getattr(model, "only_quotes", False)  # it reads no instructions
    beside = {"answer_sources": _sources(inputs, family, answers, only_quotes)}
    return Result(with_spent(answers.rows, spent), answers.failures, beside)


def _sources(inputs: Inputs, family: Family, answers: Answered, only_quotes: bool) -> pa.Table:
    """Return the rows of `answer_sources`."""
    rows = [row for row in answers.rows.to_pylist() if not row["is_refusal"]]
    if not rows:
        return TABLES["answer_sources"].empty()
    readings = readings_of(
        {
            (row["query_id"], row["sample"]): answers.shown[row["query_id"], row["sample"]]
            for row in rows
        },
        family.texts_read(inputs),
        cache(lambda: inputs.column("documents", "document_id")),
    )
    document_ids = sorted({i for reading in readings.values() for i in reading.document_ids})
    texts = Texts(inputs.tables["chunks"].rows_with("document_id", document_ids))
    return answer_sources(
        rows,
        answers.cited,
        readings,
        texts,
        Support(lambda: inputs.model("embedding_model")),
        only_quotes,
    )
