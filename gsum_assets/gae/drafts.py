"""Passages of a question while they are fitted into the token budget of the final prompt."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import pyarrow as pa

from gsum_assets.evaluation.answer import answer_request
from gsum_assets.evaluation.budget import CountTokens, Room, cut_to_tokens, lengths, room_for
from gsum_assets.evaluation.question_contexts import Question, questions_with_passages
from gsum_assets.evaluation.token_usage import NO_USAGE
from gsum_assets.gae.settings import RefineSettings
from gsum_assets.pipeline.result import Result
from gsum_assets.pipeline.tables import TABLES

Grade = Literal["high", "medium", "low"]
Fate = Literal["whole", "edited", "condensed", "reduced", "cut", "dropped"]


@dataclass
class Passage:
    """A row of `contexts`, and its state during refinement.

    Attributes
    ----------
    n_tokens : length of the original text, word pieces.
    allowance : word pieces that the passage may have; 0: it is left out.
    limit : word pieces beyond which a text is cut to the allowance.
    """

    row: Mapping[str, Any]
    n_tokens: int
    score: float | None = None
    grade: Grade | None = None
    allowance: int = 0
    limit: int = 0
    topic: str = ""
    fate: Fate = "dropped"
    text: str = ""
    spent: Mapping[str, Any] = field(default_factory=lambda: NO_USAGE)

    def show(self, text: str, fate: Fate) -> None:
        """Set the text to show; a text equal to the original has the fate 'whole'."""
        original = self.row["text"]
        self.text, self.fate = (
            (original, "whole") if text.strip() == original.strip() else (text, fate)
        )


@dataclass
class Draft:
    """A question, its passages, best first, and the token budget of its prompt for them."""

    question: Question
    passages: list[Passage]
    room: Room


def drafts(
    contexts: pa.Table,
    queries: pa.Table,
    settings: RefineSettings,
    max_words: int,
    count_tokens: CountTokens,
) -> list[Draft]:
    """Return a draft for each question, with passages by rank.

    Parameters
    ----------
    max_words : length of an answer as stated in its instructions.
    """
    questions = questions_with_passages(contexts, queries)
    sizes = lengths((row["text"] for q in questions for row in q.passages), count_tokens)
    return [
        Draft(
            question,
            [Passage(row, sizes[row["text"]]) for row in question.passages],
            room_for(
                answer_request(question.row, (), max_words),
                len(question.passages),
                settings.prompt_tokens,
                count_tokens,
            ),
        )
        for question in questions
    ]


def fitted(drafts: Sequence[Draft], count_tokens: CountTokens) -> Result:
    """Return the rows of `gae.refined_contexts` by question and rank, fitted to each prompt.

    If the passages are too long, the last ones are dropped, and a single one is cut. If no text is
    left, the best passage is shown whole.
    """
    for draft in drafts:
        if not any(passage.text.strip() for passage in draft.passages):
            best = draft.passages[0]
            best.show(best.row["text"], "whole")
    sizes = lengths((p.text for d in drafts for p in d.passages), count_tokens)
    for draft in drafts:
        shown = [passage for passage in draft.passages if passage.text]
        total = sum(sizes[passage.text] + draft.room.mark for passage in shown)
        while total > draft.room.tokens and len(shown) > 1:
            last = shown.pop()
            total -= sizes[last.text] + draft.room.mark
            last.text, last.fate = "", "dropped"
        if shown and total > draft.room.tokens:
            free = draft.room.tokens - draft.room.mark
            shown[0].show(cut_to_tokens(shown[0].text, free, count_tokens), "cut")
    sizes |= lengths((p.text for d in drafts for p in d.passages), count_tokens)
    rows = [
        _row(draft, passage, sizes[passage.text])
        for draft in drafts
        for passage in sorted(draft.passages, key=lambda passage: passage.row["rank"])
    ]
    schema = TABLES["gae.refined_contexts"].schema
    failures = [
        f"question '{draft.question.query_id}': question and instructions leave "
        f"{draft.room.tokens} word pieces of the prompt for passages, so the best passage "
        "is cut to a few words; raise prompt_tokens in corpus.toml, [gae.refine]"
        for draft in drafts
        if draft.room.is_too_small
    ]
    return Result(pa.Table.from_pylist(rows, schema), failures)


def _row(draft: Draft, passage: Passage, n_tokens: int) -> dict:
    copied = ("sample", "rank", "node_id", "node_kind", "document_id", "position")
    return {
        "query_id": draft.question.query_id,
        **{name: passage.row[name] for name in copied},
        "score": passage.score,
        "grade": passage.grade,
        "fate": passage.fate,
        "tokens_before": passage.n_tokens,
        "tokens_after": n_tokens,
        "text": passage.text,
        **passage.spent,
    }
