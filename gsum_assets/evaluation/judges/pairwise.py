"""Pairwise comparison of answers in both orders (GraphRAG, arXiv 2404.16130, section 3)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

from gsum_assets.evaluation.judges.material import Question, mark_of, marked, seed_of
from gsum_assets.evaluation.judges.prompts import PROMPTS, criteria_text
from gsum_assets.evaluation.judges.settings import JudgesSettings
from gsum_assets.evaluation.judges.verdicts import (
    CRITERIA,
    UNPARSED,
    UnparsedError,
    pairwise_verdict,
    verdict_in,
)
from gsum_assets.pipeline.prompts import Prompts
from gsum_resources.protocols.models import Reply, Request

VALUES = {"win": 1.0, "tie": 0.5, "loss": 0.0}
_MAX_WORDS = 25  # per reason


@dataclass(frozen=True)
class Comparison:
    """A request to compare two answers, in one order.

    Attributes
    ----------
    method, opponent : the two methods, in alphabetical order.
    first : the method whose answer is shown first.
    repeat : number of the repetition, from 1.
    """

    question: Question
    method: str
    opponent: str
    first: str
    repeat: int
    temperature: float
    criteria: tuple[str, ...] = CRITERIA
    prompts: Prompts = PROMPTS

    judge = "pairwise"

    @property
    def is_settled(self) -> bool:
        """Whether both answers have the same words, so that no request is needed."""
        answer, opposing = (
            self.question.answers[method].split() for method in (self.method, self.opponent)
        )
        return answer == opposing

    @property
    def _shown(self) -> tuple[str, str]:
        second = self.opponent if self.first == self.method else self.method
        return self.question.answers[self.first], self.question.answers[second]

    @property
    def _references(self) -> tuple[str, ...]:
        """The reference answers, which are shown for relevance alone: others are without them."""
        return self.question.references if self.criteria == ("relevance",) else ()

    @property
    def _mark(self) -> str:
        return mark_of([self.question.text, *self._shown, *self._references])

    @property
    def request(self) -> Request:
        """Request to the judge."""
        drawn_for = (self.question.query_id, self.method, self.opponent, self.first)
        alone = self.criteria if self.criteria != CRITERIA else ()
        criteria = criteria_text(self.criteria, by_references=bool(self._references))
        return Request(
            task="score",
            instructions=self.prompts.text("pairwise", criteria=criteria),
            question=self.question.text,
            passages=marked("answer", self._shown, self._mark)
            + marked("reference", self._references, self._mark),
            max_words=_MAX_WORDS * len(self.criteria),
            temperature=self.temperature,
            seed=seed_of(*drawn_for, str(self.repeat), *alone),
            schema=pairwise_verdict(self.criteria),
            document_id=self.question.document_id,
        )

    def rows(self, reply: Reply) -> Iterator[dict]:
        """Yield rows of `judgements`, one per criterion."""
        try:
            reply_verdict = verdict_in(reply, pairwise_verdict(self.criteria), self._mark)
        except UnparsedError as problem:
            for criterion in self.criteria:
                yield self._row(criterion, UNPARSED, str(problem), reply.model)
            return
        for criterion in self.criteria:
            preference = getattr(reply_verdict, criterion)
            verdict = self._verdict(preference.winner)
            yield self._row(criterion, verdict, preference.reason, reply.model)

    def settled_rows(self) -> Iterator[dict]:
        """Yield rows of a tie decided without a model."""
        for criterion in self.criteria:
            yield self._row(criterion, "tie", "both answers have the same words: not asked", "")

    def _verdict(self, winner: str) -> str:
        """Return 'win', 'loss' or 'tie' of `method`, from the position of the better answer."""
        if winner == "neither":
            return "tie"
        return "win" if (winner == "answer 1") == (self.first == self.method) else "loss"

    def _row(self, criterion: str, verdict: str, reason: str, model: str) -> dict:
        return {
            "query_id": self.question.query_id,
            "judge": self.judge,
            "criterion": criterion,
            "method": self.method,
            "opponent": self.opponent,
            "first": self.first,
            "repeat": self.repeat,
            "verdict": verdict,
            "value": VALUES.get(verdict),
            "reason": reason,
            "model": model,
            "is_own": self.question.is_written_by(model, self.method, self.opponent),
            "share_shown": None,
        }


def comparisons(
    questions: Sequence[Question], settings: JudgesSettings, prompts: Prompts = PROMPTS
) -> Iterator[Comparison]:
    """Yield each pair of methods on each question that both answered, in both orders."""
    calls = (
        [(criterion,) for criterion in CRITERIA] if settings.one_criterion_per_call else [CRITERIA]
    )
    for question in questions:
        pairs = combinations(sorted(question.answers), 2)
        for (method, opponent), criteria in product(pairs, calls):
            for first, repeat in product((method, opponent), range(1, settings.repeats + 1)):
                yield Comparison(
                    question,
                    method,
                    opponent,
                    first,
                    repeat,
                    settings.temperature,
                    criteria,
                    prompts,
                )
