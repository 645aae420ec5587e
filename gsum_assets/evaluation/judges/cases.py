"""Requests to a judge, and the rows of `judgements` that its replies give."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from gsum_assets.evaluation.judges.material import Question, mark_of, marked, seed_of
from gsum_assets.evaluation.judges.verdicts import UNPARSED, UnparsedError, Verdict, verdict_in
from gsum_resources.protocols.models import Reply, Request

VALUES = {"win": 1.0, "tie": 0.5, "loss": 0.0}
Judged = tuple[str, str, float | None, str]
"""Criterion, verdict, value and reason of a row of `judgements`."""


@dataclass(frozen=True)
class Case:
    """A request to compare the answers of two methods, or to rate the answer of one.

    Attributes
    ----------
    opponent, first : the other method, and the one whose answer is shown first; None for a rating.
    repeat : number of the repetition, from 1.
    texts : what the judge reads, by kind: the answers, then what they are compared with.
    judged : returns what a parsed reply says.
    max_words : length of the reply.
    drawn_for : ids that determine the seed of sampling, besides the question's.
    share_shown : fraction of the passages shown, by characters; None if none are needed.
    is_settled : whether both answers have the same words, so that no request is needed.
    """

    question: Question
    judge: str
    criteria: Sequence[str]
    method: str
    opponent: str | None
    first: str | None
    repeat: int
    instructions: str
    schema: type[Verdict]
    texts: Mapping[str, Sequence[str]]
    judged: Callable[[Verdict], Iterable[Judged]]
    max_words: int
    temperature: float
    drawn_for: Sequence[str]
    share_shown: float | None = None
    is_settled: bool = False

    @property
    def _mark(self) -> str:
        return mark_of([self.question.text, *(text for of in self.texts.values() for text in of)])

    @property
    def request(self) -> Request:
        """Request to the judge."""
        return Request(
            task="score",
            instructions=self.instructions,
            question=self.question.text,
            passages=tuple(
                text for kind, of in self.texts.items() for text in marked(kind, of, self._mark)
            ),
            max_words=self.max_words,
            temperature=self.temperature,
            seed=seed_of(self.question.query_id, *self.drawn_for),
            schema=self.schema,
            document_id=self.question.document_id,
        )

    def rows(self, reply: Reply | None) -> Iterator[dict]:
        """Yield the rows of `judgements`; without a reply those of a settled tie."""
        if reply is None:
            reason = "both answers have the same words: not asked"
            judged: Iterable[Judged] = [(c, "tie", VALUES["tie"], reason) for c in self.criteria]
        else:
            try:
                judged = self.judged(verdict_in(reply, self.schema, self._mark))
            except UnparsedError as problem:
                judged = [(c, UNPARSED, None, str(problem)) for c in self.criteria]
        model = reply.model if reply else ""
        methods = [name for name in (self.method, self.opponent) if name]
        for criterion, verdict, value, reason in judged:
            yield {
                "query_id": self.question.query_id,
                "judge": self.judge,
                "criterion": criterion,
                "method": self.method,
                "opponent": self.opponent,
                "first": self.first,
                "repeat": self.repeat,
                "verdict": verdict,
                "value": value,
                "reason": reason,
                "model": model,
                "is_own": self.question.is_written_by(model, *methods),
                "share_shown": self.share_shown,
            }
