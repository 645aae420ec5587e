"""Simulated user questions about each document, each from one passage (paper, section 2.2).

Passages are drawn in the order of hashes of their ids, so that an edited passage does not change
the questions of others, which stay memoized. Meaningless questions are rejected by rules.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

import pyarrow as pa

from gsum_assets.evaluation.passages import LabelOf
from gsum_assets.gor.prompts import PROMPTS
from gsum_assets.pipeline.prompts import Prompts
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.protocols.models import Completion, LanguageModel, Reply, Request
from gsum_resources.store.content_hash import hash_texts
from gsum_resources.text.reading import question_aspects
from gsum_resources.text.vocabulary import content_stems, word_set, words

TEMPERATURE = 0.5  # of sampling (3.1)
_MAX_WORDS = 40  # of a question
_LEAST_WORDS = 8  # of a passage worth a question; shorter ones can be a mere "Thank you."
_PATIENCE = 10  # questions in a row without a new one; at least one pass over the passages
_MAX_REQUESTS = 4  # requests per wanted question

# Jaccard similarity of content words from which two questions are duplicates: on training meetings
# of QMSum 67% of the pairs about one passage, and 3 of 233,380 about two.
NEAR_DUPLICATE = 0.7
_SHORTEST, _LONGEST = 10, 400  # characters, because scripts without blanks have no words to count
_LEAD = re.compile(
    r"^(?:[\s\"'“”‘’*#>\-–]|\d+[.)]|(?:sure|certainly|okay|of course)\s*[!.,:]"
    r"|(?:here(?:['’]s| is) (?:a|the|one|your) )?(?:question|query|q)\b[^:?]{0,40}:)+",
    re.I,
)
_MARKS = "?？؟"
_POINTING = word_set("he she it they him her them his their its this that these those there here")
_OWN_CONTENT = 2  # fewest content words of a question that has a pronoun
_ABOUT_THE_PASSAGE = re.compile(
    r"\b(?:the|this|that)(?: \w+)? (?:passage|excerpt|paragraph|snippet)s?\b"
    r"|\bthis (?:text|transcript|document|article|section|chunk|context)\b"
    r"|\b(?:according to|(?:mentioned|described|discussed|stated|presented|outlined|given|shown"
    r"|said|told|contained) in) the (?:\w+ )?(?:text|transcript|document|article|section|chunk"
    r"|context)\b",
    re.IGNORECASE,
)


class _Draw(NamedTuple):
    """A passage to generate a question about, where it comes from, and the request's seed."""

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
    dropped: Counter[str] = field(default_factory=Counter)
    n_requests: int = 0
    n_failed: int = 0
    n_since_new: int = 0

    def next_draws(self) -> list[_Draw]:
        """Return the draws of the next wave; none once there are enough questions or no new ones.

        A failed request counts as a question, since a later run repeats it.
        """
        patience = max(_PATIENCE, self.n_passages) - self.n_since_new
        left = _MAX_REQUESTS * self.wanted - self.n_requests
        missing = self.wanted - len(self.accepted) - self.n_failed
        size = max(0, min(missing, patience, left))
        drawn = [draw for _, draw in zip(range(size), self.draws, strict=False)]
        self.n_requests += len(drawn)
        return drawn

    def reason_against(self, question: str) -> str | None:
        """Return why a question is rejected; None if it is accepted."""
        if why := flaw(question):
            return why
        texts = (row["text"] for row in self.accepted)
        is_near = any(similarity(question, text) >= NEAR_DUPLICATE for text in texts)
        return "repeated" if is_near else None

    def settle(self, draw: _Draw, reply: Reply) -> None:
        """Accept the question of a reply as the next round, drop it, or count a failure."""
        if not isinstance(reply, Completion):
            self.n_failed += 1
            return
        question = question_in(reply.text)
        if (reason := self.reason_against(question)) is not None:
            self.dropped[reason] += 1
            self.n_since_new += 1
            return
        self.n_since_new = 0
        self.accepted.append(
            {
                "query_id": hash_texts([self.document_id, draw.chunk_id, question]),
                "document_id": self.document_id,
                "round": len(self.accepted) + 1,
                "chunk_id": draw.chunk_id,
                "text": question,
                "model": reply.model,
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
    prompts: Prompts = PROMPTS,
    label_of: LabelOf | None = None,
) -> tuple[pa.Table, list[str]]:
    """Generate distinct questions by `model`, each about one passage that answers it.

    Requests of all documents are sent together in waves, each for the questions still missing.

    Return rows of `gor.simulated_queries`, by document and round, and a line on each document with
    too few questions.

    Parameters
    ----------
    n_queries : questions wanted per document (paper, section 3.1: 30).
    label_of : returns where a passage comes from, which is shown before it; None: not shown.
    """
    passages_of: dict[str, list[dict]] = {}
    for row in chunks.select(["document_id", "chunk_id", "text"]).to_pylist():
        passages = passages_of.setdefault(row["document_id"], [])
        if len(row["text"].split()) >= _LEAST_WORDS or len(row["text"]) >= 8 * _LEAST_WORDS:
            passages.append(row)
    documents = [
        _Document(document_id, len(passages), n_queries, _draws(passages, label_of))
        for document_id, passages in sorted(passages_of.items())
    ]
    while wave := [(document, draw) for document in documents for draw in document.next_draws()]:
        replies = model.complete(
            [
                Request(
                    task="question",
                    instructions=prompts.text("question"),
                    passages=(draw.text,),
                    labels=draw.labels,
                    max_words=_MAX_WORDS,
                    temperature=TEMPERATURE,
                    seed=draw.seed,
                    document_id=document.document_id,
                )
                for document, draw in wave
            ]
        )
        for (document, draw), reply in zip(wave, replies, strict=True):
            document.settle(draw, reply)
    rows = [row for document in documents for row in document.accepted]
    notes = [note for document in documents if (note := document.note)]
    return pa.Table.from_pylist(rows, TABLES["gor.simulated_queries"].schema), notes


def _draws(passages: list[dict], label_of: LabelOf | None) -> Iterator[_Draw]:
    """Yield every passage once in random order, then again in another order, without end."""
    for nth in count() if passages else ():
        drawn = [(hash_texts(["draw", row["chunk_id"], str(nth)]), row) for row in passages]
        for digest, row in sorted(drawn, key=lambda pair: pair[0]):
            seed = int(digest[:8], 16) >> 1  # 31 bits, which every server accepts
            shown = {**row, "node_kind": "chunk", "node_id": row["chunk_id"]}
            labels = (label_of(shown),) if label_of else ()
            yield _Draw(row["chunk_id"], row["text"], labels, seed)


def question_in(reply: str) -> str:
    """Return the question in a reply: its first line with a question mark, without a label."""
    lines = [line.strip() for line in reply.splitlines() if line.strip()]
    asking = next((line for line in lines if any(mark in line for mark in _MARKS)), "")
    text = _LEAD.sub("", asking or " ".join(lines))
    end = max(text.rfind(mark) for mark in _MARKS)
    return " ".join((text[: end + 1] if end >= 0 else text).split())


def flaw(question: str) -> str | None:
    """Return why a question cannot be answered without seeing its passage; None if it can."""
    if not question.endswith(tuple(_MARKS)):
        return "no question"
    if len(question) < _SHORTEST:
        return "too short"
    if len(question) > _LONGEST:
        return "too long"
    if not question_aspects(question):
        return "no content"
    if _ABOUT_THE_PASSAGE.search(question):
        return "about the passage"
    if _POINTING & set(words(question)) and len(set(content_stems(question))) < _OWN_CONTENT:
        return "not self-contained"
    return None


def similarity(question: str, other: str) -> float:
    """Return the Jaccard similarity of the stems of the content words, 0 to 1."""
    one, two = set(content_stems(question)), set(content_stems(other))
    return len(one & two) / len(one | two) if one or two else 1.0
