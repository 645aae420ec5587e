"""Questions that users might ask of each document, one to a passage (paper, section 2.2).

Passages are drawn in a random order in which each has a place of its own, the hash of its id:
an edited passage moves nobody else, so that the questions of the others come from the memo. Once
all were drawn they are drawn again, in another order and with other sampling seeds.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count

import pyarrow as pa

from gsum_assets.corpus.prompts import Prompts
from gsum_assets.gor.prompts import PROMPTS
from gsum_assets.gor.question_filter import (
    NEAR_DUPLICATE,
    content_set,
    flaw,
    jaccard,
    question_in,
)
from gsum_resources.content_hash import hash_texts
from gsum_resources.llm.results import Score
from gsum_resources.protocols import Completion, LanguageModel, Reply, Request

_MAX_WORDS = 40  # of a question
_LEAST_WORDS = 8  # of a passage that is asked about; the rest of a document can be a "Thank you."
_PATIENCE = 10  # questions in a row that bring nothing new; a whole round of the passages if more
_MOST_ASKED = 4  # requests for each wanted question

SCHEMA = pa.schema(
    [
        pa.field("query_id", pa.string(), False),
        pa.field("document_id", pa.string(), False),
        pa.field("round", pa.int32(), False),
        pa.field("chunk_id", pa.string(), False),
        pa.field("text", pa.string(), False),
        pa.field("score", pa.int32(), True),
        pa.field("model", pa.string(), False),
    ]
)


@dataclass(frozen=True)
class SimulatedQueries:
    """Rows of `gor.simulated_queries`, and a line for each document with fewer than wanted."""

    rows: pa.Table
    notes: Sequence[str]


@dataclass(frozen=True)
class _Draw:
    """A passage to ask about, and the seed of the question."""

    document_id: str
    chunk_id: str
    text: str
    seed: int


@dataclass
class _Interview:
    """One document: what may still be drawn, and what came of the draws so far."""

    document_id: str
    n_passages: int
    wanted: int
    draws: Iterator[_Draw]
    accepted: list[dict] = field(default_factory=list)
    contents: list[frozenset[str]] = field(default_factory=list)
    dropped: dict[str, int] = field(default_factory=dict)
    n_asked: int = 0
    n_failed: int = 0
    n_since_new: int = 0

    def next_draws(self) -> list[_Draw]:
        """What to ask in the next wave; nothing once there is enough or no hope of more.

        A request that failed keeps its place: asked again another day it fills it, and nobody
        pays for a substitute meanwhile.
        """
        patience = max(_PATIENCE, self.n_passages) - self.n_since_new
        left = _MOST_ASKED * self.wanted - self.n_asked
        missing = self.wanted - len(self.accepted) - self.n_failed
        size = max(0, min(missing, patience, left))
        drawn = [draw for _, draw in zip(range(size), self.draws, strict=False)]
        self.n_asked += len(drawn)
        return drawn

    def reject(self, question: str) -> str | None:
        """Why a question is not wanted; None if it is."""
        content = content_set(question)
        is_near = any(jaccard(content, other) >= NEAR_DUPLICATE for other in self.contents)
        return flaw(question) or ("repeated" if is_near else None)

    def drop(self, why: str) -> None:
        """Count a question that is not taken."""
        self.dropped[why] = self.dropped.get(why, 0) + 1
        self.n_since_new += 1

    def accept(self, draw: _Draw, question: str, score: int | None, model: str) -> None:
        """Take a question as the next round."""
        self.n_since_new = 0
        self.contents.append(content_set(question))
        self.accepted.append(
            {
                "query_id": hash_texts([self.document_id, draw.chunk_id, question]),
                "document_id": self.document_id,
                "round": len(self.accepted) + 1,
                "chunk_id": draw.chunk_id,
                "text": question,
                "score": score,
                "model": model,
            }
        )

    @property
    def note(self) -> str | None:
        """What to say of a document that gave fewer questions than wanted."""
        if len(self.accepted) == self.wanted:
            return None
        lost = {**self.dropped, "without a valid reply": self.n_failed}
        reasons = ", ".join(f"{n} {why}" for why, n in sorted(lost.items()) if n)
        return (
            f"document '{self.document_id}': {len(self.accepted)} of {self.wanted} questions; "
            f"{self.n_passages} passages were asked about {self.n_asked} times"
            + (f" ({reasons})" if reasons else "")
        )


def simulate_queries(
    chunks: pa.Table,
    model: LanguageModel,
    n_queries: int = 30,
    temperature: float = 0.5,
    least_score: int | None = None,
    prompts: Prompts = PROMPTS,
) -> SimulatedQueries:
    """Ask `model` for distinct questions, each about one passage that answers it.

    Requests of all documents go out together, in waves: each asks for what is still missing.
    Exact and near duplicates and meaningless questions are dropped (`question_filter.py`).

    Parameters
    ----------
    chunks : rows of `chunks` of one corpus, in any order.
    n_queries : questions wanted of each document (paper, section 3.1: 30).
    temperature : of sampling (paper, section 3.1: 0.5); at 0 a passage is asked about once.
    least_score : 1 to 10; the model then also judges every question, and those below are dropped.
        None does without, and leaves the column `score` null.

    Returns
    -------
    SimulatedQueries
        Rows ordered by document and round.
    """
    interviews = [
        _Interview(document_id, len(passages), n_queries, _draws(passages, temperature))
        for document_id, passages in _passages(chunks)
    ]
    while wave := [(i, draw) for i in interviews for draw in i.next_draws()]:
        replies = model.complete([_asking(draw, temperature, prompts) for _, draw in wave])
        scores = (
            _judge(wave, replies, model, prompts) if least_score is not None else [None] * len(wave)
        )
        for (interview, draw), reply, score in zip(wave, replies, scores, strict=True):
            _settle(interview, draw, reply, score, least_score)
    rows = [row for interview in interviews for row in interview.accepted]
    notes = [note for interview in interviews if (note := interview.note)]
    return SimulatedQueries(pa.Table.from_pylist(rows, SCHEMA), notes)


def _passages(chunks: pa.Table) -> Iterator[tuple[str, list[dict]]]:
    """Yield documents in order of their ids, each with those passages that say anything."""
    found: dict[str, list[dict]] = {}
    for row in chunks.select(["document_id", "chunk_id", "text"]).to_pylist():
        passages = found.setdefault(row["document_id"], [])
        if len(row["text"].split()) >= _LEAST_WORDS or len(row["text"]) >= 8 * _LEAST_WORDS:
            passages.append(row)
    yield from sorted(found.items())


def _draws(passages: list[dict], temperature: float) -> Iterator[_Draw]:
    """Yield every passage once in a random order, then once more in another, without end."""
    for nth in count() if temperature > 0 and passages else range(1):
        drawn = [(hash_texts(["draw", row["chunk_id"], str(nth)]), row) for row in passages]
        for digest, row in sorted(drawn, key=lambda pair: pair[0]):
            seed = int(digest[:8], 16) >> 1  # 31 bits: what every server takes
            yield _Draw(row["document_id"], row["chunk_id"], row["text"], seed)


def _asking(draw: _Draw, temperature: float, prompts: Prompts) -> Request:
    return Request(
        task="question",
        instructions=prompts.text("question"),
        passages=(draw.text,),
        max_words=_MAX_WORDS,
        temperature=temperature,
        seed=draw.seed,
        document_id=draw.document_id,
    )


def _judge(
    wave: Sequence[tuple[_Interview, _Draw]],
    replies: Sequence[Reply],
    model: LanguageModel,
    prompts: Prompts,
) -> list[Reply | None]:
    """Return the model's verdict on each question that passes the rules; None for the others."""
    asked = [
        (place, question_in(reply.text))
        for place, ((interview, _), reply) in enumerate(zip(wave, replies, strict=True))
        if isinstance(reply, Completion) and not interview.reject(question_in(reply.text))
    ]
    verdicts = model.complete(
        [
            Request(
                task="score",
                instructions=prompts.text("judge"),
                question=question,
                passages=(wave[place][1].text,),
                schema=Score,
                document_id=wave[place][1].document_id,
            )
            for place, question in asked
        ]
    )
    found: list[Reply | None] = [None] * len(wave)
    for (place, _), verdict in zip(asked, verdicts, strict=True):
        found[place] = verdict
    return found


def _settle(
    interview: _Interview,
    draw: _Draw,
    reply: Reply,
    verdict: Reply | None,
    least_score: int | None,
) -> None:
    """Take a question, drop it, or count a failure."""
    if not isinstance(reply, Completion):
        interview.n_failed += 1
        return
    question = question_in(reply.text)
    if why := interview.reject(question):
        interview.drop(why)
        return
    score = None
    if least_score is not None:
        if not (isinstance(verdict, Completion) and isinstance(verdict.parsed, Score)):
            interview.n_failed += 1
            return
        score = verdict.parsed.score
        if score < least_score:
            interview.drop("judged poor")
            return
    interview.accept(draw, question, score, reply.model)
