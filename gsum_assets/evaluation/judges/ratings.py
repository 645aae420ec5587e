"""Ratings of single answers: G-Eval's consistency and relevance, LLM-Rater's LR-1 and LR-2."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gsum_assets.evaluation.judges.material import Question, mark_of, marked, seed_of, within_budget
from gsum_assets.evaluation.judges.own_judge import is_own_judge
from gsum_assets.evaluation.judges.prompts import BY_QUESTION, BY_REFERENCES, OMITTED, PROMPTS
from gsum_assets.evaluation.judges.settings import JudgesSettings
from gsum_assets.evaluation.judges.verdicts import (
    UNPARSED,
    PermissiveRating,
    Rating,
    StrictRating,
    UnparsedError,
    verdict_in,
)
from gsum_assets.pipeline.prompts import Prompts
from gsum_resources.protocols.models import Reply, Request

Schema = type[Rating] | type[StrictRating] | type[PermissiveRating]

_VALUES = {"yes": 1.0, "partly": 1.0, "no": 0.0}
_MAX_WORDS = 30


@dataclass(frozen=True)
class RatedAnswer:
    """A request to rate one answer of a method.

    Attributes
    ----------
    judge, criterion : 'g_eval' with consistency or relevance, 'llm_rater' with lr1 or lr2.
    other_texts : texts to compare the answer with: passages or references.
    share_shown : fraction of the passages shown, by characters; None if none are needed.
    repeat : number of the repetition, from 1.
    """

    question: Question
    method: str
    judge: str
    criterion: str
    instructions: str
    schema: Schema
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
            max_words=_MAX_WORDS,
            temperature=self.temperature,
            seed=seed_of(
                self.question.query_id, self.method, self.judge, self.criterion, str(self.repeat)
            ),
            schema=self.schema,
            document_id=self.question.document_id,
        )

    def rows(self, reply: Reply) -> Iterator[dict]:
        """Yield the row of `judgements`."""
        try:
            rating = verdict_in(reply, self.schema, self._mark)
        except UnparsedError as problem:
            verdict, value, reason = UNPARSED, None, str(problem)
        else:
            reason = rating.reason
            if isinstance(rating, Rating):
                verdict, value = str(rating.rating), float(rating.rating)
            else:
                verdict, value = rating.verdict, _VALUES[rating.verdict]
        yield {
            "query_id": self.question.query_id,
            "judge": self.judge,
            "criterion": self.criterion,
            "method": self.method,
            "opponent": None,
            "first": None,
            "repeat": self.repeat,
            "verdict": verdict,
            "value": value,
            "reason": reason,
            "model": reply.model,
            "is_own": is_own_judge(reply.model, self.question, [self.method]),
            "share_shown": self.share_shown,
        }


def ratings(
    questions: Sequence[Question], settings: JudgesSettings, prompts: Prompts = PROMPTS
) -> Iterator[RatedAnswer]:
    """Yield every rating of every answer, for every repeat."""
    for question in questions:
        for method in sorted(question.answers):
            for repeat in range(1, settings.repeats + 1):
                for fields in _rating_fields(
                    question, method, settings.max_passage_characters, prompts
                ):
                    yield RatedAnswer(question, method, *fields, repeat, settings.temperature)


def _rating_fields(
    question: Question, method: str, max_characters: int, prompts: Prompts
) -> Iterator[tuple[str, str, str, Schema, str, tuple[str, ...], float | None]]:
    """Yield judge, criterion, instructions, schema, kind and texts, and share shown."""
    if passages := question.passages.get(method):
        shown, n_omitted, share = within_budget(passages, max_characters)
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
