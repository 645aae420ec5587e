"""The steps from the contexts of a method to its answers, which are the same for all methods."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from gsum_assets.evaluation.answer import answer_questions, with_spent
from gsum_assets.evaluation.result_checks import answer_checks
from gsum_assets.pipeline.method import Inputs, Method, Step, run
from gsum_assets.pipeline.result import Result


def answer_steps(method: Method) -> Sequence[Step]:
    """Return the steps from contexts to answers, in order: refinements, then `summaries`."""
    purpose = "The answer, and what it cost in calls, tokens and seconds."
    version = "5" if method.weighted else "4"
    make = partial(_summaries, method=method)
    written = Step(
        make,
        {"summaries": purpose},
        ["language_model"],
        pool="llm",
        code_version=version,
        checks={"summaries": answer_checks(method.supported_questions)},
    )
    return (*method.refinements, written)


def with_k(method: Method, inputs: Inputs, k: int) -> Inputs:
    """Return the inputs with the tables that all question steps compute for `k` passages."""
    section, _, key = method.k.rpartition(".")
    inputs = replace(inputs, overrides={section: {key: k}})
    return inputs.with_tables(run((*method.retrieval_steps, *answer_steps(method)), inputs))


def _summaries(inputs: Inputs, method: Method) -> Result:
    """Return the rows of `summaries`, each with the cost of the earlier steps added."""
    answers = answer_questions(
        inputs.table("queries"),
        inputs.table(method.answered_from),
        inputs.model("language_model"),
        inputs.settings("answer")["max_words"],
        inputs.prompts("answers"),
        method.weighted,
        inputs.table("contexts"),
    )
    spent = [inputs.table(step.table) for step in (*method.preparations, *method.refinements)]
    return Result(with_spent(answers.rows, spent), answers.failures)
