"""What is read again in full instead of its synopsis or gist (paper, 3.4; ReadAgent, 3.2)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from gsum_assets.corpus.chunk import n_word_pieces
from gsum_assets.evaluation.answer import answer_room, question_text
from gsum_assets.evaluation.budget import (
    CountTokens,
    Room,
    counter_for,
    cut_to_tokens,
    lengths,
    n_fitting,
    structured_room,
)
from gsum_assets.evaluation.passages import Question, questions_with_passages
from gsum_assets.evaluation.token_usage import NO_USAGE, spent, why
from gsum_assets.jerr.prompts import PROMPTS, LookUp
from gsum_assets.jerr.settings import AnswerSettings
from gsum_assets.pipeline.prompts import Prompts
from gsum_assets.pipeline.result import Result
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.protocols.models import Completion, LanguageModel, Request
from gsum_resources.store.arrow import mapping

FULL = {"synopsis": "line chunk", "gist": "page"}  # full text of each short form
_REPLY_WORDS = 20
_LEAST = 16  # word pieces of a cut passage, below which it is useless


def first_in_full(contexts: pa.Table, queries: pa.Table, n_reread: int) -> pa.Table:
    """Return rows of `jerr.look_ups` without a model: the best line chunks are read again."""
    rows = [
        {
            "query_id": question.query_id,
            "chunk_ids": [row["node_id"] for row in question.passages[:n_reread]],
            "n_shown": len(question.passages),
            **NO_USAGE,
        }
        for question in questions_with_passages(contexts, queries)
    ]
    return pa.Table.from_pylist(rows, TABLES["jerr.look_ups"].schema)


def look_ups(
    contexts: pa.Table,
    queries: pa.Table,
    model: LanguageModel,
    settings: AnswerSettings,
    prompts: Prompts = PROMPTS,
) -> Result:
    """Request from `model` which synopses or gists of each question to read in full.

    They are numbered in reading order, followed by nodes. Without a valid reply there is no row.
    """
    count_tokens = counter_for(model, settings.prompt_tokens)
    pending = []
    for question in questions_with_passages(contexts, queries):
        short = [row for row in question.passages if row["node_kind"] in FULL]
        if short and settings.n_reread:
            pending.append((question, *_request(question, short, settings, count_tokens, prompts)))
    rows, failures = [], []
    replies = model.complete([request for *_, request in pending])
    for (question, shown, _), reply in zip(pending, replies, strict=True):
        if isinstance(reply, Completion) and isinstance(reply.parsed, LookUp):
            numbers = [n for n in dict.fromkeys(reply.parsed.references) if 1 <= n <= len(shown)]
            row = {
                "query_id": question.query_id,
                "chunk_ids": [shown[n - 1]["node_id"] for n in numbers[: settings.n_reread]],
                "n_shown": len(shown),
            }
            rows.append({**row, **spent(reply)})
        else:
            failures.append(f"question '{question.query_id}': nothing is read again: {why(reply)}")
    return Result(pa.Table.from_pylist(rows, TABLES["jerr.look_ups"].schema), failures)


def _request(
    question: Question,
    short: list[dict],
    settings: AnswerSettings,
    count_tokens: CountTokens,
    prompts: Prompts,
) -> tuple[list[dict], Request]:
    """Return the numbered passages, and the request about them."""

    def instructions(n_parts: int) -> str:
        return prompts.text("look_up", n_parts=n_parts, n_reread=settings.n_reread)

    bare = Request(
        task="answer",
        instructions=instructions(len(short)),
        question=question_text(question.row),
        max_words=_REPLY_WORDS,
        schema=LookUp,
        document_id=question.row["document_id"] or "",
    )
    others = [row["text"] for row in question.passages if row["node_kind"] not in FULL]
    best_first = [*(row["text"] for row in short), *others]
    room = structured_room(bare, len(best_first), settings.prompt_tokens, count_tokens)
    sizes = lengths(best_first, count_tokens)
    n = max(1, n_fitting([sizes[text] for text in best_first], room))
    shown = sorted(short[:n], key=lambda row: (row["document_id"], row["position"]))
    texts = [row["text"] for row in shown] + others[: max(0, n - len(short))]
    return shown, replace(bare, instructions=instructions(len(shown)), passages=tuple(texts))


def reread(
    contexts: pa.Table,
    look_ups: pa.Table,
    texts: Mapping[str, str],
    queries: pa.Table,
    settings: AnswerSettings,
    max_words: int,
) -> pa.Table:
    """Return the contexts of each question, with `texts`, by id, in place of their short forms.

    Texts are inserted in the order of the look-up while the prompt has room; the last one is cut.
    """
    named = mapping(look_ups, "query_id", "chunk_ids")
    rows: list[dict] = []
    for question in questions_with_passages(contexts, queries):
        room = answer_room(question.row, settings.prompt_tokens, max_words, n_word_pieces)
        shown, left = _within(question.passages, room)
        _replace(shown, left, {i: texts[i] for i in named.get(question.query_id, ())})
        rows += shown
    return pa.Table.from_pylist(rows, TABLES["jerr.reread_contexts"].schema)


def _within(passages: Sequence[dict], room: Room) -> tuple[list[dict], int]:
    """Return the passages as far as they fit, and the room left, word pieces."""
    sizes = lengths((row["text"] for row in passages), n_word_pieces)
    rows, left = [], room.tokens
    for row in passages:
        size, free = sizes[row["text"]], left - room.mark
        if size <= free:
            rows.append({**row, "fate": "as found"})
            left = free - size
        elif free >= _LEAST:
            text = cut_to_tokens(row["text"], free, n_word_pieces)
            rows.append({**row, "fate": "cut", "text": text})
            left = 0
        else:
            rows.append({**row, "fate": "over budget", "text": ""})
    return rows, left


def _replace(rows: Sequence[dict], left: int, full_texts: Mapping[str, str]) -> None:
    """Put full texts in place of short forms, as far as `left` word pieces allow."""
    short_forms = {row["node_id"]: row for row in rows if row["node_kind"] in FULL and row["text"]}
    texts = [*(row["text"] for row in short_forms.values()), *full_texts.values()]
    sizes = lengths(texts, n_word_pieces)
    for node_id, text in full_texts.items():
        if (row := short_forms.get(node_id)) is None:
            continue
        short = sizes[row["text"]]
        free = left + short  # the short form is replaced
        if sizes[text] > free and free < short + _LEAST:
            break
        row["fate"] = "read again" if sizes[text] <= free else "cut"
        row["text"] = cut_to_tokens(text, free, n_word_pieces)
        row["node_kind"] = FULL[row["node_kind"]]
        left = max(0, free - sizes[text])
