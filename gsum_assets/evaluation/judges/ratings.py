"""Ratings of single answers: G-Eval's consistency and relevance, LLM-Rater's LR-1 and LR-2.

Also the share of a question's assertions that an answer makes, and the claims of an answer.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from gsum_assets.evaluation.judges.material import Question, mark_of, marked, seed_of
from gsum_assets.evaluation.judges.prompts import BY_QUESTION, BY_REFERENCES, OMITTED, PROMPTS
from gsum_assets.evaluation.judges.settings import JudgesSettings
from gsum_assets.evaluation.judges.verdicts import (
    UNPARSED,
    AssertionRating,
    ClaimList,
    PermissiveRating,
    Rating,
    StrictRating,
    UnparsedError,
    Verdict,
    verdict_in,
)
from gsum_assets.evaluation.statements import claim_metrics
from gsum_assets.pipeline.prompts import Prompts
from gsum_resources.protocols.models import Reply, Request
from gsum_resources.store.arrow import pc

_VALUES = {"yes": 1.0, "partly": 1.0, "no": 0.0}
_MAX_WORDS = 30
_MAX_WORDS_OF_CLAIMS = 600
_METRICS = {
    ("g_eval", "consistency"): "g_eval_consistency",
    ("g_eval", "relevance"): "g_eval_relevance",
    ("llm_rater", "lr1"): "lr1",
    ("llm_rater", "lr2"): "lr2",
    ("assertions", "met"): "judge_assertions",
}
SCHEMA = pa.schema(
    [
        *(pa.field(name, pa.string(), False) for name in ("method", "query_id", "metric")),
        pa.field("value", pa.float64(), False),
    ]
)
"""Columns of `rating_scores`."""


@dataclass(frozen=True)
class RatedAnswer:
    """A request to rate one answer of a method.

    Attributes
    ----------
    judge, criterion : 'g_eval' with consistency or relevance, 'llm_rater' with lr1 or lr2,
        'assertions' with met, 'claims' with claims.
    other_texts : texts to compare the answer with: passages or references.
    share_shown : fraction of the passages shown, by characters; None if none are needed.
    repeat : number of the repetition, from 1.
    """

    question: Question
    method: str
    judge: str
    criterion: str
    instructions: str
    schema: type[Verdict]
    kind: str
    other_texts: tuple[str, ...]
    share_shown: float | None
    repeat: int
    temperature: float

    @property
    def _mark(self) -> str:
        return mark_of([self.question.text, self.question.answers[self.method], *self.other_texts])

    @property
    def request(self) -> Request:
        """Request to the judge."""
        answer = marked("answer", [self.question.answers[self.method]], self._mark)
        return Request(
            task="score",
            instructions=self.instructions,
            question=self.question.text,
            passages=answer + marked(self.kind, self.other_texts, self._mark),
            max_words=_MAX_WORDS_OF_CLAIMS if self.schema is ClaimList else _MAX_WORDS,
            temperature=self.temperature,
            seed=seed_of(
                self.question.query_id, self.method, self.judge, self.criterion, str(self.repeat)
            ),
            schema=self.schema,
            document_id=self.question.document_id,
        )

    def rows(self, reply: Reply) -> Iterator[dict]:
        """Yield the rows of `judgements`: several for claims, one for everything else."""
        try:
            rating = verdict_in(reply, self.schema, self._mark)
        except UnparsedError as problem:
            rated = [(self.criterion, UNPARSED, None, str(problem))]
        else:
            rated = self._rated(rating)
        for criterion, verdict, value, reason in rated:
            yield {
                "query_id": self.question.query_id,
                "judge": self.judge,
                "criterion": criterion,
                "method": self.method,
                "opponent": None,
                "first": None,
                "repeat": self.repeat,
                "verdict": verdict,
                "value": value,
                "reason": reason,
                "model": reply.model,
                "is_own": self.question.is_written_by(reply.model, self.method),
                "share_shown": self.share_shown,
            }

    def _rated(self, rating: Verdict) -> Iterator[tuple[str, str, float, str]]:
        """Yield criterion, verdict, value and reason of a parsed reply."""
        match rating:
            case Rating():
                yield self.criterion, str(rating.rating), float(rating.rating), rating.reason
            case StrictRating() | PermissiveRating():
                yield self.criterion, rating.verdict, _VALUES[rating.verdict], rating.reason
            case AssertionRating():  # the first assertion is text [2]
                n = len(self.other_texts)
                n_said = len({number for number in rating.said if 2 <= number <= n + 1})
                yield self.criterion, f"{n_said} of {n}", n_said / n, rating.reason
            case ClaimList():
                claims = list(dict.fromkeys(filter(None, map(str.strip, rating.claims))))
                answer = self.question.answers[self.method]
                for metric, value in claim_metrics(claims, answer):
                    listed = "\n".join(claims) if metric == self.criterion else ""
                    yield metric, f"{value:g}", value, listed


def ratings(
    questions: Sequence[Question], settings: JudgesSettings, prompts: Prompts = PROMPTS
) -> Iterator[RatedAnswer]:
    """Yield every rating of every answer, for every repeat."""
    for question in questions:
        for method in sorted(question.answers):
            for repeat in range(1, settings.repeats + 1):
                for fields in _rating_fields(question, method, settings, prompts):
                    yield RatedAnswer(question, method, *fields, repeat, settings.temperature)


def _rating_fields(
    question: Question, method: str, settings: JudgesSettings, prompts: Prompts
) -> Iterator[tuple[str, str, str, type[Verdict], str, tuple[str, ...], float | None]]:
    """Yield judge, criterion, instructions, schema, kind and texts, and share shown."""
    if settings.claims:
        yield "claims", "claims", prompts.text("claims"), ClaimList, "text", (), None
    if not settings.ratings:
        return
    if assertions := question.assertions:
        instructions = prompts.text("assertions")
        yield "assertions", "met", instructions, AssertionRating, "statement", assertions, None
    if passages := question.passages.get(method):
        shown, n_omitted, share = within_budget(passages, settings.max_passage_characters)
        omitted = OMITTED.format(n=len(passages), n_omitted=n_omitted) if n_omitted else ""
        instructions = prompts.text("consistency", omitted=omitted)
        yield "g_eval", "consistency", instructions, Rating, "passage", tuple(shown), share
    references = question.references
    source, texts = BY_REFERENCES if references else BY_QUESTION
    instructions = prompts.text("relevance", source=source, texts=texts)
    yield "g_eval", "relevance", instructions, Rating, "reference", references, None
    if references:
        instructions = prompts.text("strict")
        yield "llm_rater", "lr1", instructions, StrictRating, "reference", references, None
        instructions = prompts.text("permissive")
        yield "llm_rater", "lr2", instructions, PermissiveRating, "reference", references, None


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

    Values are 1 to 5 for `g_eval_consistency` and `g_eval_relevance`, 0 to 1 for `lr1`, `lr2` and
    `judge_assertions`. Claims that a judge listed have the metrics of `statements.py`, as
    `judge_claims`.
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
