"""Ratings of single answers: G-Eval's consistency and relevance, LLM-Rater's LR-1 and LR-2."""

from collections.abc import Iterator, Sequence
from functools import partial

import pyarrow as pa

from gsum_assets.evaluation.judges.cases import Case, Judged
from gsum_assets.evaluation.judges.material import Question
from gsum_assets.evaluation.judges.prompts import BY_QUESTION, BY_REFERENCES, OMITTED, PROMPTS
from gsum_assets.evaluation.judges.settings import JudgesSettings
from gsum_assets.evaluation.judges.verdicts import (
    PermissiveRating,
    Rating,
    StrictRating,
    Verdict,
)
from gsum_assets.pipeline.prompts import Prompts
from gsum_resources.store.arrow import pc

_VALUES = {"yes": 1.0, "partly": 1.0, "no": 0.0}
_MAX_WORDS = 30
_METRICS = {
    ("g_eval", "consistency"): "g_eval_consistency",
    ("g_eval", "relevance"): "g_eval_relevance",
    ("llm_rater", "lr1"): "lr1",
    ("llm_rater", "lr2"): "lr2",
}
SCHEMA = pa.schema(
    [
        *(pa.field(name, pa.string(), False) for name in ("method", "query_id", "metric")),
        pa.field("value", pa.float64(), False),
    ]
)
"""Columns of `rating_scores`."""


def ratings(
    questions: Sequence[Question], settings: JudgesSettings, prompts: Prompts = PROMPTS
) -> Iterator[Case]:
    """Yield every rating of every answer, for every repeat."""
    for question in questions:
        for method in sorted(question.answers):
            for repeat in range(1, settings.repeats + 1):
                yield from _of_answer(question, method, repeat, settings, prompts)


def _of_answer(
    question: Question, method: str, repeat: int, settings: JudgesSettings, prompts: Prompts
) -> Iterator[Case]:
    answer = question.answers[method]

    def case(
        judge: str,
        criterion: str,
        instructions: str,
        schema: type[Verdict],
        kind: str = "",
        texts: Sequence[str] = (),
        share_shown: float | None = None,
    ) -> Case:
        return Case(
            question,
            judge,
            [criterion],
            method,
            opponent=None,
            first=None,
            repeat=repeat,
            instructions=instructions,
            schema=schema,
            texts={"answer": [answer], kind: texts},
            judged=partial(_rated, criterion),
            max_words=_MAX_WORDS,
            temperature=settings.temperature,
            drawn_for=(method, judge, criterion, str(repeat)),
            share_shown=share_shown,
        )

    if passages := question.passages.get(method):
        shown, n_omitted, share = within_budget(passages, settings.max_passage_characters)
        omitted = OMITTED.format(n=len(passages), n_omitted=n_omitted) if n_omitted else ""
        text = prompts.text("consistency", omitted=omitted)
        yield case("g_eval", "consistency", text, Rating, "passage", shown, share)
    references = question.references
    source, texts = BY_REFERENCES if references else BY_QUESTION
    text = prompts.text("relevance", source=source, texts=texts)
    yield case("g_eval", "relevance", text, Rating, "reference", references)
    if references:
        text = prompts.text("strict")
        yield case("llm_rater", "lr1", text, StrictRating, "reference", references)
        text = prompts.text("permissive")
        yield case("llm_rater", "lr2", text, PermissiveRating, "reference", references)


def _rated(criterion: str, rating: Verdict) -> Iterator[Judged]:
    match rating:
        case Rating():
            yield criterion, str(rating.rating), float(rating.rating), rating.reason
        case StrictRating() | PermissiveRating():
            yield criterion, rating.verdict, _VALUES[rating.verdict], rating.reason


def within_budget(passages: Sequence[str], max_characters: int) -> tuple[list[str], int, float]:
    """Return the passages that fit into the budget, best first.

    Returns
    -------
    The passages shown, the number cut or left out, and the fraction of characters shown.
    """
    shown: list[str] = []
    left = max_characters
    for passage in passages:
        if left <= 0:
            break
        shown.append(passage[:left])
        left -= len(passage)
    n_omitted = len(passages) - len(shown) + (left < 0)
    return shown, n_omitted, sum(map(len, shown)) / max(1, sum(map(len, passages)))


def accept_what_is_strictly_right(rows: list[dict]) -> None:
    """Accept answers in LR-2 that LR-1 accepts, in place."""
    strictly_right = {
        (row["query_id"], row["method"], row["repeat"])
        for row in rows
        if row["criterion"] == "lr1" and row["verdict"] == "yes"
    }
    for row in rows:
        is_right = (row["query_id"], row["method"], row["repeat"]) in strictly_right
        if row["criterion"] == "lr2" and row["verdict"] == "no" and is_right:
            row["reason"] = f"yes by lr1; no when asked permissively: {row['reason']}"
            row["verdict"], row["value"] = "yes", 1.0


def rating_scores(judgements: pa.Table) -> pa.Table:
    """Return one row per method, question and metric: the mean over parsed repeats.

    Values are 1 to 5 for `g_eval_consistency` and `g_eval_relevance`, 0 to 1 for `lr1` and `lr2`.
    """
    rated = judgements.filter(
        pc.and_(pc.is_null(judgements["opponent"]), pc.is_valid(judgements["value"]))
    )
    by = ["method", "query_id", "judge", "criterion"]
    rows = [
        {
            "method": row["method"],
            "query_id": row["query_id"],
            "metric": _METRICS.get((row["judge"], row["criterion"]), f"judge_{row['criterion']}"),
            "value": row["value_mean"],
        }
        for row in rated.group_by(by).aggregate([("value", "mean")]).to_pylist()
    ]
    rows.sort(key=lambda row: (row["method"], row["query_id"], row["metric"]))
    return pa.Table.from_pylist(rows, SCHEMA)
