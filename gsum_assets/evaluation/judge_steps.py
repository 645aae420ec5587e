"""Steps for judgements of answers, win rates, and questions without references."""

from collections.abc import Sequence
from functools import partial

from gsum_assets.corpus.methods import Methods
from gsum_assets.evaluation.generate_questions import (
    QuestionsSettings,
    generate_questions,
)
from gsum_assets.evaluation.judge_checks import NO_POSITION_BIAS, VERDICTS_PARSED
from gsum_assets.evaluation.judges.settings import JudgesSettings, judges_skipped
from gsum_assets.pipeline.corpus_settings import checked_section
from gsum_assets.pipeline.cost import Cost
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
        ("queries", "assertions", "corpus_settings", "judge_model", *answers, *read),
        pool="llm",
        costs=[Cost("verdict", "judge_model", tokens_in=1500, tokens_out=100)],
        code_version="6",
        unites=True,
        checks={"judgements": [VERDICTS_PARSED, NO_POSITION_BIAS]},
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
    empty, beside = (TABLES[name].empty() for name in ("generated_questions", "assertions"))
    if not settings.n + settings.n_from_passages:
        return Result(empty, beside={"assertions": beside})
    model = inputs.model("language_model")
    topics, texts = [], {}
    if settings.n_from_passages:
        from gsum_assets.evaluation.question_topics import find_topics

        chunks = inputs.table("chunks")
        ids, titles = (inputs.column("documents", name) for name in ("document_id", "title"))
        topics = find_topics(dict(zip(ids, titles, strict=True)), chunks)
        columns = (chunks[name].to_pylist() for name in ("chunk_id", "text"))
        texts = dict(zip(*columns, strict=True))
    made = generate_questions(settings, model, inputs.prompts("questions"), topics, texts)
    shown = {} if made.rows.num_rows else {"generated_questions": {"skipped": made.failures[0]}}
    return made._replace(shown=lambda: shown)


GENERATED_QUESTIONS = Step(
    _generated_questions,
    {
        "generated_questions": "Questions generated as [questions] of corpus.toml requests: global "
        "ones of people with different interests from its description, local and global ones from "
        "the passages; added to `queries` as split 'generated'.",
        "assertions": "What a right answer to a question from passages says, with the passages "
        "that support it.",
    },
    ("documents", "chunks", "corpus_settings", "language_model"),
    pool="llm",
    code_version="4",
    work="simulation",
    costs=[Cost("generated question", tokens_in=1000, tokens_out=100)],
)
