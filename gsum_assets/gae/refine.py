"""Rewriting of passages by their relevance to the question (paper, 3.2.2 and appendix B).

Passages of high relevance are edited lightly, of medium relevance condensed, and of low relevance
reduced or dropped.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import pyarrow as pa

from gsum_assets.corpus.chunk import n_word_pieces
from gsum_assets.evaluation.answer import answer_request, question_text
from gsum_assets.evaluation.budget import Room, allowances, cut_to_tokens, lengths, room_for
from gsum_assets.evaluation.passages import Question, questions_with_passages
from gsum_assets.evaluation.token_usage import NO_USAGE, spent, why
from gsum_assets.gae.prompts import NOTHING, PROMPTS
from gsum_assets.gae.rank import Clusters
from gsum_assets.pipeline.prompts import Prompts
from gsum_assets.pipeline.result import Result
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.protocols.models import Completion, LanguageModel, Request

Grade = Literal["high", "medium", "low"]
Fate = Literal["whole", "edited", "condensed", "reduced", "cut", "dropped"]

_TOPIC_WEIGHT = 0.5  # of the topic's relevance; the passage's has the rest
_HIGH, _MEDIUM = 7.0, 4.0  # least score for a light edit, and for condensing (B)
_MEDIUM_SHARE = 0.5  # of the words of a condensed passage (ours)
_LOW_WORDS = 25  # of a reduced passage (ours)
_PROMPTS: Mapping[Fate, str] = {"edited": "edit", "condensed": "condense", "reduced": "reduce"}
_NOTHING = re.compile(rf"[\W_]*{NOTHING}[\W_]*", re.IGNORECASE)
_MARK = re.compile(r"\A\s*\[1\]\s*")  # number of a passage in a prompt, which a reply may repeat
# Range to which word pieces per word are clipped: scripts without blanks have one word per line.
_FEWEST, _MOST = 1.0, 2.0
_COPIED = ("sample", "rank", "node_id", "node_kind", "document_id", "position")


@dataclass
class Passage:
    """A row of `contexts`, and its state during refinement; lengths are in word pieces.

    A text of more than the limit is cut to the allowance; a passage without one is left out.
    """

    row: Mapping[str, Any]
    n_tokens: int
    score: float | None = None
    grade: Grade | None = None
    topic: str = ""
    allowance: int = 0
    limit: int = 0
    fate: Fate = "dropped"
    text: str = ""
    spent: Mapping[str, Any] = field(default_factory=lambda: NO_USAGE)

    def show(self, text: str, fate: Fate) -> None:
        """Set the text to show; a text equal to the original has the fate 'whole'."""
        original = self.row["text"]
        is_equal = text.strip() == original.strip()
        self.text, self.fate = (original, "whole") if is_equal else (text, fate)

    def show_within(self, text: str, n_tokens: int, fate: Fate) -> None:
        """Set the text to show, cut to the allowance if it exceeds the limit."""
        if n_tokens > self.limit:
            text = cut_to_tokens(text, self.allowance, n_word_pieces)
        self.show(text, fate)

    @property
    def pieces_per_word(self) -> float:
        """Mean number of word pieces of a word of the text."""
        return min(_MOST, max(_FEWEST, self.n_tokens / max(1, len(self.row["text"].split()))))

    @property
    def wish(self) -> int:
        """Word pieces that a passage of this grade gets if there is room."""
        if self.grade == "medium":
            return math.ceil(_MEDIUM_SHARE * self.n_tokens)
        if self.grade == "low":
            return min(self.n_tokens, math.ceil(_LOW_WORDS * self.pieces_per_word))
        return self.n_tokens


@dataclass
class Draft:
    """A question, its passages, best first, and the token budget of its prompt for them."""

    question: Question
    passages: list[Passage]
    room: Room


def refined_contexts(
    contexts: pa.Table,
    topics: pa.Table,
    reflections: pa.Table,
    clusters: Clusters,
    queries: pa.Table,
    model: LanguageModel,
    prompt_tokens: int,
    max_words: int,
    prompts: Prompts = PROMPTS,
) -> Result:
    """Rewrite each passage for its question by `model`: rows of `gae.refined_contexts`.

    A passage that was not rewritten keeps the beginning of its text, and one that was not judged
    its whole text, if there is room. Passages with lower scores, then those with lower ranks, are
    dropped first; passages that were not judged count as medium. Prompts of answers of `max_words`
    keep to `prompt_tokens`.
    """
    drafts = _drafts(contexts, queries, prompt_tokens, max_words)
    topic_of = {(row["query_id"], row["cluster"]): row for row in topics.to_pylist()}
    judged = reflections.to_pylist()
    relevance_of = {(row["query_id"], row["node_id"]): row["relevance"] for row in judged}
    for draft in drafts:
        query_id = draft.question.query_id
        for passage in draft.passages:
            node_id = passage.row["node_id"]
            topic = topic_of.get((query_id, clusters.cluster_of.get(node_id)), {})
            passage.topic = topic.get("topic", "")
            passage.score = weighted(topic.get("relevance"), relevance_of.get((query_id, node_id)))
            passage.grade = grade(passage.score)
        draft.passages.sort(
            key=lambda p: (-(_MEDIUM if p.score is None else p.score), p.row["rank"])
        )
        allowed, slack = allowances([passage.wish for passage in draft.passages], draft.room)
        for passage, allowance in zip(draft.passages, allowed, strict=True):
            passage.allowance, passage.limit = allowance, int(slack * allowance)
    failures = _rewrite(drafts, model, prompts)
    result = _fitted(drafts)
    return Result(result.rows, [*failures, *result.failures])


def unrefined_contexts(
    contexts: pa.Table, queries: pa.Table, prompt_tokens: int, max_words: int
) -> Result:
    """Return whole passages, best first, as many as fit: the ablation without reflection."""
    drafts = _drafts(contexts, queries, prompt_tokens, max_words)
    for draft in drafts:
        for passage in draft.passages:
            passage.show(passage.row["text"], "whole")
    return _fitted(drafts)


def weighted(topic: float | None, passage: float | None) -> float | None:
    """Return the weighted sum of both relevances, 1 to 10, or the only one that is not None."""
    if topic is None or passage is None:
        return passage if topic is None else topic
    return _TOPIC_WEIGHT * topic + (1 - _TOPIC_WEIGHT) * passage


def grade(score: float | None) -> Grade | None:
    """Return the grade of a score; None for no score."""
    if score is None:
        return None
    return "high" if score >= _HIGH else "medium" if score >= _MEDIUM else "low"


def _drafts(
    contexts: pa.Table, queries: pa.Table, prompt_tokens: int, max_words: int
) -> list[Draft]:
    """Return a draft for each question, with passages by rank."""
    drafts = []
    for question in questions_with_passages(contexts, queries):
        request = answer_request(question.row, (), max_words)
        sizes = n_word_pieces([row["text"] for row in question.passages])
        passages = [Passage(*each) for each in zip(question.passages, sizes, strict=True)]
        room = room_for(request, len(passages), prompt_tokens, n_word_pieces)
        drafts.append(Draft(question, passages, room))
    return drafts


def _rewrite(drafts: Sequence[Draft], model: LanguageModel, prompts: Prompts) -> list[str]:
    """Set the text of each passage with an allowance, and return a line per failed request."""
    requested: list[tuple[Draft, Passage, Fate]] = []
    for draft in drafts:
        for passage in draft.passages:
            if not passage.allowance:
                continue
            if not passage.grade:
                passage.show_within(passage.row["text"], passage.n_tokens, "cut")
            elif passage.grade == "low":
                requested.append((draft, passage, "reduced"))
            else:  # a highly relevant passage is condensed, too, if it is too long
                is_whole = passage.grade == "high" and passage.allowance >= passage.n_tokens
                requested.append((draft, passage, "edited" if is_whole else "condensed"))
    replies = model.complete([_request(*each, prompts) for each in requested])
    failures = []
    for (draft, passage, fate), reply in zip(requested, replies, strict=True):
        passage.spent = spent(reply)
        text = reply.text if isinstance(reply, Completion) else ""
        if "[1]" not in passage.row["text"]:  # a mark that the passage has itself stays
            text = _MARK.sub("", text)
        text = text.strip()
        is_nothing = _NOTHING.fullmatch(text)
        if text and not is_nothing:
            passage.show_within(text, n_word_pieces([text])[0], fate)
        elif not (fate == "reduced" and is_nothing):  # else it is dropped
            passage.show_within(passage.row["text"], passage.n_tokens, "cut")
            where = f"question '{draft.question.query_id}', passage '{passage.row['node_id']}'"
            failures.append(f"{where}: not rewritten: {why(reply)}")
    return failures


def _request(draft: Draft, passage: Passage, fate: Fate, prompts: Prompts) -> Request:
    # allowances were rounded up to whole pieces, so round down; 1e-6 corrects inexact quotients
    max_words = max(1, int(passage.allowance / passage.pieces_per_word + 1e-6))
    # not in the instructions: a model wrote it from passages
    about = f"\nTopic of the passage and of those like it: {passage.topic}" if passage.topic else ""
    return Request(
        task="answer",
        instructions=prompts.text(_PROMPTS[fate], max_words=max_words),
        question=question_text(draft.question.row) + about,
        passages=(passage.row["text"],),
        max_words=max_words,
        document_id=passage.row["document_id"] or "",
    )


def _fitted(drafts: Sequence[Draft]) -> Result:
    """Return the rows of `gae.refined_contexts` by question and rank, fitted to each prompt.

    The last passages are dropped, and a single one is cut. Without any text the best is whole.
    """
    rows, failures = [], []
    for draft in drafts:
        best, room = draft.passages[0], draft.room
        if not any(passage.text.strip() for passage in draft.passages):
            best.show(best.row["text"], "whole")
        shown = [passage for passage in draft.passages if passage.text]
        sizes = lengths((passage.text for passage in shown), n_word_pieces)
        total = sum(sizes[passage.text] + room.mark for passage in shown)
        while total > room.tokens and len(shown) > 1:
            last = shown.pop()
            total -= sizes[last.text] + room.mark
            last.text, last.fate = "", "dropped"
        if total > room.tokens:
            cut = cut_to_tokens(shown[0].text, room.tokens - room.mark, n_word_pieces)
            shown[0].show(cut, "cut")
        rows += [
            {
                "query_id": draft.question.query_id,
                **{name: passage.row[name] for name in _COPIED},
                "score": passage.score,
                "grade": passage.grade,
                "fate": passage.fate,
                "tokens_before": passage.n_tokens,
                "tokens_after": n_word_pieces([passage.text])[0],
                "text": passage.text,
                **passage.spent,
            }
            for passage in sorted(draft.passages, key=lambda passage: passage.row["rank"])
        ]
        if room.is_too_small:
            failures.append(
                f"question '{draft.question.query_id}': question and instructions leave "
                f"{room.tokens} word pieces of the prompt for passages, so the best passage "
                "is cut to a few words; raise prompt_tokens in corpus.toml, [gae.refine]"
            )
    return Result(pa.Table.from_pylist(rows, TABLES["gae.refined_contexts"].schema), failures)
