"""Verdicts on answers: all requests of a run in one batch."""

from collections.abc import Iterator, Sequence

import pyarrow as pa

from gsum_assets.evaluation.judges.material import Question, questions_to_judge
from gsum_assets.evaluation.judges.pairwise import Comparison, comparisons
from gsum_assets.evaluation.judges.prompts import PROMPTS
from gsum_assets.evaluation.judges.ratings import (
    RatedAnswer,
    accept_what_is_strictly_right,
    ratings,
)
from gsum_assets.evaluation.judges.settings import JudgesSettings
from gsum_assets.evaluation.judges.verdicts import UNPARSED
from gsum_assets.pipeline.prompts import Prompts
from gsum_assets.pipeline.result import Result
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.protocols.models import LanguageModel, Reply

_TABLE = TABLES["judgements"]


def judge_answers(
    queries: pa.Table,
    summaries: pa.Table,
    read: pa.Table,
    model: LanguageModel,
    settings: JudgesSettings,
    prompts: Prompts = PROMPTS,
    assertions: pa.Table | None = None,
) -> Result:
    """Request every pairwise verdict and every rating in the settings from `model`.

    Parameters
    ----------
    summaries, read : rows of several methods, with column `method`, in any order; `read` has the
        texts that the answers were written from: `contexts`, or a method's refined contexts.
    assertions : rows of `assertions`; None: no question has any.

    Returns
    -------
    Result
        Rows of `judgements` ordered by their key.

    Raises
    ------
    ModelUnavailableError
        If further requests are useless. A reply without a verdict is counted, not raised.
    """
    questions = questions_to_judge(queries, summaries, read, settings, assertions)
    compared = list(comparisons(questions, settings, prompts)) if settings.pairwise else []
    rated = list(ratings(questions, settings, prompts))
    open_cases = [*(case for case in compared if not case.is_settled), *rated]
    replies = model.complete([case.request for case in open_cases])
    judged = list(zip(open_cases, replies, strict=True))
    rows = [row for case, reply in judged for row in case.rows(reply)]
    rows += [row for case in compared if case.is_settled for row in case.settled_rows()]
    accept_what_is_strictly_right(rows)
    rows.sort(key=lambda row: tuple(row[name] or "" for name in _TABLE.key))
    failures = [*_unanswered(questions, settings), *_cut(rated, settings), *_unparsed(judged)]
    return Result(pa.Table.from_pylist(rows, _TABLE.schema), failures)


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


def _cut(rated: Sequence[RatedAnswer], settings: JudgesSettings) -> Iterator[str]:
    """Yield a line if the judge of consistency did not see all passages."""
    shares = [case.share_shown for case in rated if case.share_shown is not None]
    if cut := [share for share in shares if share < 1]:
        yield (
            f"consistency: of {len(cut)} of {len(shares)} answers the judge was shown "
            f"{sum(cut) / len(cut):.0%} of the passages on average; raise [judges] "
            f"max_passage_characters, which is {settings.max_passage_characters}"
        )


def _unparsed(judged: Sequence[tuple[Comparison | RatedAnswer, Reply]]) -> Iterator[str]:
    """Yield a line for each judge with replies without a verdict."""
    for judge in sorted({case.judge for case, _ in judged}):
        first_rows = [next(iter(case.rows(reply))) for case, reply in judged if case.judge == judge]
        failed = [row for row in first_rows if row["verdict"] == UNPARSED]
        if failed:
            yield (
                f"{judge}: {len(failed)} of {len(first_rows)} replies hold no verdict; "
                f"first: {failed[0]['reason']}"
            )
