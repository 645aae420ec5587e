"""Two methods' answers side by side, in both orders (GraphRAG, arXiv 2404.16130, section 3)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from gsum_assets.evaluation.judges.material import Question, mark_of, marked, seed_of
from gsum_assets.evaluation.judges.prompts import PAIRWISE
from gsum_assets.evaluation.judges.settings import JudgesSettings
from gsum_assets.evaluation.judges.verdicts import (
    CRITERIA,
    UNPARSED,
    PairwiseVerdict,
    UnparsedError,
    verdict_in,
)
from gsum_resources.protocols import Reply, Request

VALUES = {"win": 1.0, "tie": 0.5, "loss": 0.0}
_MAX_WORDS = 25 * len(CRITERIA)


@dataclass(frozen=True)
class Comparison:
    """One showing of two answers.

    Attributes
    ----------
    method, opponent : in alphabetical order.
    first : the one of them whose answer is shown first.
    repeat : from 1.
    """

    question: Question
    method: str
    opponent: str
    first: str
    repeat: int
    temperature: float

    judge = "pairwise"

    @property
    def is_settled(self) -> bool:
        """Whether both answers have the same words, so that there is nothing to ask."""
        own, other = (
            self.question.answers[method].split() for method in (self.method, self.opponent)
        )
        return own == other

    @cached_property
    def _shown(self) -> tuple[str, str]:
        second = self.opponent if self.first == self.method else self.method
        return self.question.answers[self.first], self.question.answers[second]

    @cached_property
    def _mark(self) -> str:
        return mark_of([self.question.text, *self._shown])

    @property
    def request(self) -> Request:
        """What the judge is asked."""
        return Request(
            task="score",
            instructions=PAIRWISE,
            question=self.question.text,
            passages=marked("answer", self._shown, self._mark),
            max_words=_MAX_WORDS,
            temperature=self.temperature,
            seed=seed_of(
                self.question.query_id, self.method, self.opponent, self.first, str(self.repeat)
            ),
            schema=PairwiseVerdict,
            document_id=self.question.document_id,
        )

    def rows(self, reply: Reply) -> Iterator[dict]:
        """Rows of `judgements`, one a criterion."""
        try:
            found = verdict_in(reply, PairwiseVerdict, self._mark)
        except UnparsedError as problem:
            for criterion in CRITERIA:
                yield self._row(criterion, UNPARSED, str(problem), reply.model)
            return
        for criterion in CRITERIA:
            preference = getattr(found, criterion)
            verdict = self._verdict(preference.winner)
            yield self._row(criterion, verdict, preference.reason, reply.model)

    def settled_rows(self) -> Iterator[dict]:
        """Rows of a tie that no model was asked about."""
        for criterion in CRITERIA:
            yield self._row(criterion, "tie", "both answers have the same words: not asked", "")

    def _verdict(self, winner: str) -> str:
        """'win', 'loss' or 'tie' of `method`, from the place of the better answer."""
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
        }


def comparisons(questions: Sequence[Question], settings: JudgesSettings) -> Iterator[Comparison]:
    """Each two methods on each question that both answered, in both orders, every repeat."""
    for question in questions:
        for method, opponent in combinations(sorted(question.answers), 2):
            for first in (method, opponent):
                for repeat in range(1, settings.repeats + 1):
                    yield Comparison(
                        question, method, opponent, first, repeat, settings.temperature
                    )
