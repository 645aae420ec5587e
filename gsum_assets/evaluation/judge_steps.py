"""Steps for judgements of answers, win rates, and questions without references."""

from collections.abc import Sequence
from functools import partial

from gsum_assets.corpus.methods import Methods
from gsum_assets.evaluation.generate_questions import (
    QuestionsSettings,
    generate_questions,
    questions_skipped,
)
from gsum_assets.evaluation.judge_checks import NO_POSITION_BIAS
from gsum_assets.evaluation.judges.settings import JudgesSettings, judges_skipped
from gsum_assets.pipeline.corpus_settings import checked_section
from gsum_assets.pipeline.family import Family
from gsum_assets.pipeline.result import Result
from gsum_assets.pipeline.step import Inputs, Step
from gsum_assets.pipeline.tables import TABLES

_PURPOSE = {
    "judgements": "Verdicts of a language model: which of two answers is better, shown in both "
    "orders, and ratings of single answers. Requested in [judges] of corpus.toml.",
    "win_rates": "How often a method wins against another, with its 95% interval, and how often it "
    "would if both answers were equally long.",
}


def judging(families: Sequence[Family]) -> Step:
    """Return the step of `judgements` and `win_rates` over all methods that exist."""
    answers = [f"{family.name}/summaries" for family in families]
    read = [f"{family.name}/{family.answered_from}" for family in families]
    return Step(
        partial(_judged, families=families, answers=answers, read=read),
        _PURPOSE,
        ("queries", "corpus_settings", "judge_model", *answers, *read),
        pool="llm",
        code_version="4",
        apart=True,
        unites=True,
        checks={"judgements": [NO_POSITION_BIAS]},
    )


def _judged(
    inputs: Inputs, families: Sequence[Family], answers: Sequence[str], read: Sequence[str]
) -> Result:
    settings = checked_section(JudgesSettings, "judges", inputs.settings("judges"))
    judged = Methods(families).named(settings.methods, "[judges] methods")
    settings = settings.model_copy(update={"methods": judged})
    model = inputs.model("judge_model") if settings.methods else None
    skipped = judges_skipped(settings, model.identity if model else "")
    if skipped is not None or model is None:
        key = "skipped" if settings.methods else "not_asked_for"
        shown = dict.fromkeys(_PURPOSE, {key: skipped} if skipped else {})
        nothing = {"win_rates": TABLES["win_rates"].empty()}
        return Result(TABLES["judgements"].empty(), beside=nothing, shown=lambda: shown)
    # the judges are loaded only where some answer is judged
    from gsum_assets.evaluation.judges.judgements import judgements_and_win_rates

    return judgements_and_win_rates(inputs, answers, read, model, settings)


def _generated_questions(inputs: Inputs) -> Result:
    settings = checked_section(QuestionsSettings, "questions", inputs.settings("questions"))
    empty = TABLES["generated_questions"].empty()
    if not settings.n:
        return Result(empty)
    model = inputs.model("language_model")
    if skipped := questions_skipped(model.identity):
        return Result(empty, [skipped], shown=lambda: {"generated_questions": {"skipped": skipped}})
    return generate_questions(settings, model, inputs.prompts("questions"))


GENERATED_QUESTIONS = Step(
    _generated_questions,
    {
        "generated_questions": "Global questions of people with different interests, generated "
        "from the description in [questions] of corpus.toml; added to `queries` as split "
        "'generated'."
    },
    ("corpus_settings", "language_model"),
    pool="llm",
    code_version="3",
    work="simulation",
)
