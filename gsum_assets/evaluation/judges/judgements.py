"""Judgements of the answers of all methods, and win rates: all requests of a run in one batch."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from gsum_assets.corpus.methods import Methods
from gsum_assets.evaluation.checks import NO_POSITION_BIAS
from gsum_assets.evaluation.judges.bias import own_judge_note
from gsum_assets.evaluation.judges.cases import Case
from gsum_assets.evaluation.judges.material import Question, questions_to_judge
from gsum_assets.evaluation.judges.pairwise import comparisons
from gsum_assets.evaluation.judges.prompts import PROMPTS
from gsum_assets.evaluation.judges.ratings import accept_what_is_strictly_right, ratings
from gsum_assets.evaluation.judges.settings import JudgesSettings, judges_skipped
from gsum_assets.evaluation.judges.verdicts import UNPARSED
from gsum_assets.evaluation.judges.win_rates import win_rates
from gsum_assets.pipeline.corpus_settings import checked_section
from gsum_assets.pipeline.cost import Cost
from gsum_assets.pipeline.family import Family
from gsum_assets.pipeline.prompts import Prompts
from gsum_assets.pipeline.result import Result, Shown
from gsum_assets.pipeline.step import Inputs, Step
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.protocols.models import LanguageModel, Reply
from gsum_resources.store.arrow import pc

_PURPOSE = {
    "judgements": "Verdicts of a language model: which of two answers is better, shown in both "
    "orders, and ratings of single answers. Requested in [judges] of corpus.toml.",
    "win_rates": "How often a method wins against another, with its 95% interval.",
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
        costs=[Cost("verdict", "judge_model", tokens_in=1500, tokens_out=100)],
        code_version="7",
        aggregates_methods=True,
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
    result = judge_answers(
        inputs.table("queries"),
        of_methods(map(inputs.table, answers), "summaries", settings.methods),
        of_methods(map(inputs.table, read), "contexts", settings.methods),
        model,
        settings,
        inputs.prompts("judges"),
    )
    rates = win_rates(result.rows)
    return Result(result.rows, result.failures, {"win_rates": rates}, partial(_shown, result.rows))


def of_methods(results: Iterable[pa.Table], table: str, methods: Sequence[str]) -> pa.Table:
    """Return the rows of some methods from the results of each family.

    Of refined contexts only the columns of `contexts` are kept.
    """
    columns = [*TABLES[table].schema.names, "method"]
    tables = [rows.select(columns) for rows in results]
    united = pa.concat_tables(tables, promote_options="default")  # nullability may differ
    return united.filter(pc.is_in(united["method"], value_set=pa.array(list(methods))))


def judge_answers(
    queries: pa.Table,
    summaries: pa.Table,
    read: pa.Table,
    model: LanguageModel,
    settings: JudgesSettings,
    prompts: Prompts = PROMPTS,
) -> Result:
    """Return rows of `judgements`: every pairwise verdict and rating that the settings request.

    A reply without a verdict is counted.

    Parameters
    ----------
    summaries, read : rows of several methods, with column `method`, in any order; `read` has the
        texts that the answers were written from: `contexts`, or a method's refined contexts.

    Raises `ModelUnavailableError` if further requests are useless.
    """
    questions = questions_to_judge(queries, summaries, read, settings)
    compared = list(comparisons(questions, settings, prompts)) if settings.pairwise else []
    rated = list(ratings(questions, settings, prompts)) if settings.ratings else []
    cases = [*compared, *rated]
    open_cases = [case for case in cases if not case.is_settled]
    replies = model.complete([case.request for case in open_cases])
    judged = list(zip(open_cases, replies, strict=True))
    rows = [row for case, reply in judged for row in case.rows(reply)]
    rows += [row for case in cases if case.is_settled for row in case.rows(None)]
    accept_what_is_strictly_right(rows)
    rows.sort(key=lambda row: tuple(row[name] or "" for name in TABLES["judgements"].key))
    failures = [*_unanswered(questions, settings), *_cut(cases, settings), *_unparsed(judged)]
    return Result(pa.Table.from_pylist(rows, TABLES["judgements"].schema), failures)


def _unanswered(questions: Sequence[Question], settings: JudgesSettings) -> Iterator[str]:
    """Yield a line for each method without some answers or passages, or if no question is left."""
    if not questions:
        splits = f" of splits {settings.splits}" if settings.splits else ""
        yield (
            f"no question of kinds {settings.kinds}{splits}: nothing was judged; change kinds or "
            "splits in corpus.toml, table [judges]"
        )
        return
    for method in sorted(set(settings.methods)):
        without = [q.query_id for q in questions if method not in q.answers]
        if without:
            yield (
                f"method '{method}' has no answer to {len(without)} of {len(questions)} questions "
                f"(first: '{without[0]}'), which are not judged; materialize its summaries"
            )
        answered = [q for q in questions if method in q.answers]
        without = [q.query_id for q in answered if not q.passages.get(method)]
        if without and settings.ratings:
            yield (
                f"method '{method}' has no contexts of {len(without)} of {len(answered)} answers "
                f"(first: '{without[0]}'): their consistency is not judged"
            )


def _cut(cases: Sequence[Case], settings: JudgesSettings) -> Iterator[str]:
    """Yield a line if the judge of consistency did not see all passages."""
    shares = [case.share_shown for case in cases if case.share_shown is not None]
    if cut := [share for share in shares if share < 1]:
        yield (
            f"consistency: of {len(cut)} of {len(shares)} answers the judge was shown "
            f"{sum(cut) / len(cut):.0%} of the passages on average; raise [judges] "
            f"max_passage_characters, which is {settings.max_passage_characters}"
        )


def _unparsed(judged: Sequence[tuple[Case, Reply]]) -> Iterator[str]:
    """Yield a line for each judge with replies without a verdict."""
    for judge in sorted({case.judge for case, _ in judged}):
        first_rows = [next(iter(case.rows(reply))) for case, reply in judged if case.judge == judge]
        failed = [row for row in first_rows if row["verdict"] == UNPARSED]
        if failed:
            yield (
                f"{judge}: {len(failed)} of {len(first_rows)} replies hold no verdict; "
                f"first: {failed[0]['reason']}"
            )


def _shown(judgements: pa.Table) -> Mapping[str, Shown]:
    """Return the metadata of each table."""
    note = own_judge_note(judgements)
    warning = {"own_judge": note} if note else {}
    unparsed = pc.sum(pc.equal(judgements["verdict"], "unparsed")).as_py() or 0
    shown: dict[str, Any] = {"unparsed": unparsed}
    if (share := pc.mean(judgements["share_shown"]).as_py()) is not None:
        shown["share_of_passages_shown"] = share
    return {"judgements": {**shown, **warning}, "win_rates": warning}
