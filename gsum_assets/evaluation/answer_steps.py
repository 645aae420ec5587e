"""The steps from the contexts of a family to its answers, which are the same for all families."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from gsum_assets.evaluation.answer import answer_questions, with_spent
from gsum_assets.evaluation.result_checks import answer_checks
from gsum_assets.pipeline.family import Family
from gsum_assets.pipeline.result import Result
from gsum_assets.pipeline.step import Inputs, Step, run


def answer_steps(family: Family) -> Sequence[Step]:
    """Return the steps from contexts to answers, in order: refinements, then `summaries`."""
    purpose = "The answer, and what it cost in calls, tokens and seconds."
    version = "5" if family.weighted else "4"
    make = partial(_summaries, family=family)
    written = Step(
        make,
        {"summaries": purpose},
        ["language_model"],
        pool="llm",
        code_version=version,
        checks={"summaries": answer_checks(family.supported_questions)},
    )
    return (*family.refinements, written)


def with_k(family: Family, inputs: Inputs, k: int) -> Inputs:
    """Return the inputs with the tables that all question steps compute for `k` passages."""
    section, _, key = family.k.rpartition(".")
    inputs = replace(inputs, overrides={section: {key: k}})
    return inputs.with_tables(run((*family.retrieval_steps, *answer_steps(family)), inputs))


def _summaries(inputs: Inputs, family: Family) -> Result:
    """Return the rows of `summaries`, each with the cost of the earlier steps added."""
    answers = answer_questions(
        inputs.table("queries"),
        inputs.table(family.answered_from),
        inputs.model("language_model"),
        inputs.settings("answer")["max_words"],
        inputs.prompts("answers"),
        family.weighted,
        inputs.table("contexts"),
    )
    spent = [inputs.table(step.table) for step in (*family.preparations, *family.refinements)]
    return Result(with_spent(answers.rows, spent), answers.failures)
