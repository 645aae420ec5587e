"""Simulated user questions about each document, each from one passage (paper, section 2.2).

Passages are drawn in a random order given by the hash of their ids, so that an edited passage does
not change the questions of others, which stay memoized. Once all are drawn they are drawn again, in
another order and with other sampling seeds.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count

import pyarrow as pa

from gsum_assets.evaluation.passages import LabelOf
from gsum_assets.gor.prompts import PROMPTS
from gsum_assets.gor.question_filter import (
    NEAR_DUPLICATE,
    content_set,
    flaw,
    jaccard,
    question_in,
)
from gsum_assets.pipeline.prompts import Prompts
from gsum_resources.protocols.models import Completion, LanguageModel, Reply, Request
from gsum_resources.protocols.results import Score
from gsum_resources.store.content_hash import hash_texts

_MAX_WORDS = 40  # of a question
_LEAST_WORDS = 8  # of a passage worth a question; shorter ones can be a mere "Thank you."
_PATIENCE = 10  # questions in a row without a new one; at least one pass over the passages
_MAX_REQUESTS = 4  # requests per wanted question

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
    """Rows of `gor.simulated_queries`, and a note on each document with too few questions."""

    rows: pa.Table
    notes: Sequence[str]


@dataclass(frozen=True)
class _Draw:
    """A passage to generate a question about, where it comes from, and the request's seed."""

    document_id: str
    chunk_id: str
    text: str
    labels: tuple[str, ...]
    seed: int


@dataclass
class _Document:
    """One document: its remaining draws, and the outcome of the previous ones."""

    document_id: str
    n_passages: int
    wanted: int
    draws: Iterator[_Draw]
    accepted: list[dict] = field(default_factory=list)
    contents: list[frozenset[str]] = field(default_factory=list)
    dropped: dict[str, int] = field(default_factory=dict)
    n_requests: int = 0
    n_failed: int = 0
    n_since_new: int = 0

    def next_draws(self) -> list[_Draw]:
        """Return the draws of the next wave; none once there are enough questions or no new ones.

        A failed request counts as one of the wanted questions: a later run repeats it, so that no
        substitute is paid for.
        """
        patience = max(_PATIENCE, self.n_passages) - self.n_since_new
        left = _MAX_REQUESTS * self.wanted - self.n_requests
        missing = self.wanted - len(self.accepted) - self.n_failed
        size = max(0, min(missing, patience, left))
        drawn = [draw for _, draw in zip(range(size), self.draws, strict=False)]
        self.n_requests += len(drawn)
        return drawn

    def reject(self, question: str) -> str | None:
        """Return why a question is rejected; None if it is accepted."""
        content = content_set(question)
        is_near = any(jaccard(content, other) >= NEAR_DUPLICATE for other in self.contents)
        return flaw(question) or ("repeated" if is_near else None)

    def drop(self, why: str) -> None:
        """Count a rejected question."""
        self.dropped[why] = self.dropped.get(why, 0) + 1
        self.n_since_new += 1

    def accept(self, draw: _Draw, question: str, score: int | None, model: str) -> None:
        """Add a question as the next round."""
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
        """Message on a document with fewer questions than wanted; None if it has enough."""
        if len(self.accepted) == self.wanted:
            return None
        lost = {**self.dropped, "without a valid reply": self.n_failed}
        reasons = ", ".join(f"{n} {why}" for why, n in sorted(lost.items()) if n)
        return (
            f"document '{self.document_id}': {len(self.accepted)} of {self.wanted} questions "
            f"from {self.n_requests} requests about {self.n_passages} passages"
            + (f" ({reasons})" if reasons else "")
        )


def simulate_queries(
    chunks: pa.Table,
    model: LanguageModel,
    n_queries: int = 30,
    temperature: float = 0.5,
    least_score: int | None = None,
    prompts: Prompts = PROMPTS,
    label_of: LabelOf | None = None,
) -> SimulatedQueries:
    """Generate distinct questions by `model`, each about one passage that answers it.

    Requests of all documents are sent together in waves, each for the questions still missing.
    Exact and near duplicates and meaningless questions are dropped (`question_filter.py`).

    Parameters
    ----------
    chunks : rows of `chunks` of one corpus, in any order.
    n_queries : questions wanted per document (paper, section 3.1: 30).
    temperature : sampling temperature (paper, section 3.1: 0.5); at 0 each passage is used once.
    least_score : 1 to 10; the model also scores every question, and those below are dropped. With
        None no question is scored, and the column `score` is null.
    label_of : returns where a passage comes from, which is shown before it; None: not shown.

    Returns
    -------
    SimulatedQueries
        Rows ordered by document and round.
    """
    documents = [
        _Document(document_id, len(passages), n_queries, _draws(passages, temperature, label_of))
        for document_id, passages in _passages(chunks)
    ]
    while wave := [(i, draw) for i in documents for draw in i.next_draws()]:
        replies = model.complete(
            [
                Request(
                    task="question",
                    instructions=prompts.text("question"),
                    passages=(draw.text,),
                    labels=draw.labels,
                    max_words=_MAX_WORDS,
                    temperature=temperature,
                    seed=draw.seed,
                    document_id=draw.document_id,
                )
                for _, draw in wave
            ]
        )
        scores = (
            _judge(wave, replies, model, prompts) if least_score is not None else [None] * len(wave)
        )
        for (document, draw), reply, score in zip(wave, replies, scores, strict=True):
            _settle(document, draw, reply, score, least_score)
    rows = [row for document in documents for row in document.accepted]
    notes = [note for document in documents if (note := document.note)]
    return SimulatedQueries(pa.Table.from_pylist(rows, SCHEMA), notes)


def _passages(chunks: pa.Table) -> Iterator[tuple[str, list[dict]]]:
    """Yield documents in order of id, each with the passages that are long enough."""
    passages_of: dict[str, list[dict]] = {}
    for row in chunks.select(["document_id", "chunk_id", "text"]).to_pylist():
        passages = passages_of.setdefault(row["document_id"], [])
        if len(row["text"].split()) >= _LEAST_WORDS or len(row["text"]) >= 8 * _LEAST_WORDS:
            passages.append(row)
    yield from sorted(passages_of.items())


def _draws(passages: list[dict], temperature: float, label_of: LabelOf | None) -> Iterator[_Draw]:
    """Yield every passage once in random order, then again in another order, without end."""
    for nth in count() if temperature > 0 and passages else range(1):
        drawn = [(hash_texts(["draw", row["chunk_id"], str(nth)]), row) for row in passages]
        for digest, row in sorted(drawn, key=lambda pair: pair[0]):
            seed = int(digest[:8], 16) >> 1  # 31 bits, which every server accepts
            labels = (
                (label_of({**row, "node_kind": "chunk", "node_id": row["chunk_id"]}),)
                if label_of
                else ()
            )
            yield _Draw(row["document_id"], row["chunk_id"], row["text"], labels, seed)


def _judge(
    wave: Sequence[tuple[_Document, _Draw]],
    replies: Sequence[Reply],
    model: LanguageModel,
    prompts: Prompts,
) -> list[Reply | None]:
    """Return the model's score of each question that passes the rules; None for the others."""
    candidates = [
        (index, question_in(reply.text))
        for index, ((document, _), reply) in enumerate(zip(wave, replies, strict=True))
        if isinstance(reply, Completion) and not document.reject(question_in(reply.text))
    ]
    verdicts = model.complete(
        [
            Request(
                task="score",
                instructions=prompts.text("judge"),
                question=question,
                passages=(wave[index][1].text,),
                schema=Score,
                document_id=wave[index][1].document_id,
            )
            for index, question in candidates
        ]
    )
    scores: list[Reply | None] = [None] * len(wave)
    for (index, _), verdict in zip(candidates, verdicts, strict=True):
        scores[index] = verdict
    return scores


def _settle(
    document: _Document,
    draw: _Draw,
    reply: Reply,
    verdict: Reply | None,
    least_score: int | None,
) -> None:
    """Accept a question, drop it, or count a failure."""
    if not isinstance(reply, Completion):
        document.n_failed += 1
        return
    question = question_in(reply.text)
    if why := document.reject(question):
        document.drop(why)
        return
    score = None
    if least_score is not None:
        if not (isinstance(verdict, Completion) and isinstance(verdict.parsed, Score)):
            document.n_failed += 1
            return
        score = verdict.parsed.score
        if score < least_score:
            document.drop("judged poor")
            return
    document.accept(draw, question, score, reply.model)
