"""Steps for judgements of answers, win rates, and questions without references."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from gsum_assets.evaluation.generate_questions import (
    QuestionsSettings,
    generate_questions,
    questions_skipped,
)
from gsum_assets.evaluation.judges.judge import judge_answers, judges_skipped
from gsum_assets.evaluation.judges.own_judge import own_judge_note
from gsum_assets.evaluation.judges.position_bias import position_bias
from gsum_assets.evaluation.judges.settings import JudgesSettings
from gsum_assets.evaluation.judges.win_rates import to_markdown, win_rates
from gsum_assets.pipeline.corpus_settings import CorpusError, checked_section
from gsum_assets.pipeline.method import Inputs, Method, Step
from gsum_assets.pipeline.result import Markdown, Picture, Result, Shown
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.plots.position_bias import position_bias as draw_position_bias
from gsum_assets.plots.win_rate_matrix import win_rate_matrix
from gsum_resources.messages.suggest import did_you_mean
from gsum_resources.store.arrow import pc

_PURPOSE = {
    "judgements": "Verdicts of a language model: which of two answers is better, shown in both "
    "orders, and ratings of single answers. Requested in [judges] of corpus.toml.",
    "win_rates": "How often a method wins against another, with its 95% interval.",
}


def judging(methods: Sequence[Method]) -> Step:
    """Return the step of `judgements` and `win_rates` over all methods that exist."""
    answers = [f"{method.name}/summaries" for method in methods]
    read = [f"{method.name}/{method.answered_from}" for method in methods]
    return Step(
        partial(_judged, methods=methods, answers=answers, read=read),
        _PURPOSE,
        ("queries", "corpus_settings", "judge_model", *answers, *read),
        pool="llm",
        code_version="3",
        apart=True,
    )


def _judged(
    inputs: Inputs, methods: Sequence[Method], answers: Sequence[str], read: Sequence[str]
) -> Result:
    settings = checked_section(JudgesSettings, "judges", inputs.settings("judges"))
    known = [variant for method in methods for variant in method.variants]
    if strangers := sorted(set(settings.methods) - set(known)):
        nearest = did_you_mean(strangers[0], known)
        raise CorpusError(f"[judges] methods: unknown method '{strangers[0]}'{nearest}")
    model = inputs.model("judge_model") if settings.methods else None
    skipped = judges_skipped(settings, model.identity if model else "")
    if skipped is not None or model is None:
        key = "skipped" if settings.methods else "not_asked_for"
        shown = dict.fromkeys(_PURPOSE, {key: skipped} if skipped else {})
        nothing = {"win_rates": win_rates(TABLES["judgements"].empty())}
        return Result(TABLES["judgements"].empty(), beside=nothing, shown=lambda: shown)
    judged = judge_answers(
        inputs.table("queries"),
        of_methods(map(inputs.table, answers), "summaries", settings.methods),
        of_methods(map(inputs.table, read), "contexts", settings.methods),
        model,
        settings,
        inputs.prompts("judges"),
    )
    rates = win_rates(judged.rows)
    shown = partial(_shown, inputs.corpus, judged.rows, rates)
    return Result(judged.rows, judged.failures, {"win_rates": rates}, shown)


def of_methods(results: Iterable[pa.Table], table: str, variants: Sequence[str]) -> pa.Table:
    """Return the rows of some variants from the results of each method.

    Of refined contexts only the columns of `contexts` are kept.
    """
    columns = [*TABLES[table].schema.names, "method"]
    tables = [rows.select(columns) for rows in results]
    united = pa.concat_tables(tables, promote_options="default")  # nullability may differ
    return united.filter(pc.is_in(united["method"], value_set=pa.array(list(variants))))


def _shown(corpus: str, judgements: pa.Table, rates: pa.Table) -> Mapping[str, Shown]:
    """Return the metadata of each table."""
    note = own_judge_note(judgements)
    warning = {"own_judge": note} if note else {}
    matrix = Picture(win_rate_matrix(rates, corpus, None), "win rates") if rates.num_rows else None
    unparsed = pc.sum(pc.equal(judgements["verdict"], "unparsed")).as_py() or 0
    shown: dict[str, Any] = {"unparsed": unparsed}
    if (share := pc.mean(judgements["share_shown"]).as_py()) is not None:
        shown["share_of_passages_shown"] = share
    if (bias := position_bias(judgements)).num_rows:
        plot = Picture(draw_position_bias(bias, corpus), "position bias of the judge")
        shown = {"plot": plot, **shown}
    return {
        "judgements": {**shown, **warning},
        "win_rates": {
            **({"plot": matrix} if matrix else {}),
            "overall": Markdown(to_markdown(rates)),
            **warning,
        },
    }


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
)
