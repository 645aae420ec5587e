"""Contexts of the answer: synopses, and line chunks read again in full (paper, 3.4)."""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from gsum_assets.evaluation.answer import answer_room
from gsum_assets.evaluation.budget import CountTokens, Room, cut_to_tokens, lengths
from gsum_assets.evaluation.passages import Question, questions_with_passages
from gsum_assets.jerr.settings import AnswerSettings
from gsum_assets.pipeline.tables import TABLES

FULL = {"synopsis": "line chunk", "gist": "page"}  # full text of each short form
_LEAST = 16  # word pieces of a cut passage, below which it is useless


def reread(
    contexts: pa.Table,
    look_ups: pa.Table,
    texts: Mapping[str, str],
    queries: pa.Table,
    settings: AnswerSettings,
    max_words: int,
    count_tokens: CountTokens,
) -> pa.Table:
    """Return the contexts of each question, with texts read again in place of their short forms.

    Texts are inserted in the order of the look-up while the prompt has room; the last one is cut.
    """
    named = dict(zip(*(look_ups[n].to_pylist() for n in ("query_id", "chunk_ids")), strict=True))
    rows: list[dict] = []
    for question in questions_with_passages(contexts, queries):
        room = answer_room(question.row, settings.prompt_tokens, max_words, count_tokens)
        full_texts = {i: texts[i] for i in named.get(question.query_id, ())}
        rows += _replaced(question, full_texts, room, count_tokens)
    return pa.Table.from_pylist(rows, TABLES["jerr.reread_contexts"].schema)


def _replaced(
    question: Question, full_texts: Mapping[str, str], room: Room, count_tokens: CountTokens
) -> Sequence[dict]:
    rows, left = _within(question.passages, room, count_tokens)
    short_forms = {row["node_id"]: row for row in rows if row["node_kind"] in FULL and row["text"]}
    sizes = lengths(
        [*(row["text"] for row in short_forms.values()), *full_texts.values()], count_tokens
    )
    for node_id, text in full_texts.items():
        if (row := short_forms.get(node_id)) is None:
            continue
        short = sizes[row["text"]]
        free = left + short  # the short form is replaced
        if sizes[text] > free and free < short + _LEAST:
            break
        row["fate"] = "read again" if sizes[text] <= free else "cut"
        row["text"] = cut_to_tokens(text, free, count_tokens)
        row["node_kind"] = FULL[row["node_kind"]]
        left = max(0, free - sizes[text])
    return rows


def _within(
    passages: Sequence[dict], room: Room, count_tokens: CountTokens
) -> tuple[list[dict], int]:
    """Return the passages as far as they fit, and the room left, word pieces.

    Only long units may be too long; other passages have been chosen to fit.
    """
    sizes = lengths((row["text"] for row in passages), count_tokens)
    rows, left = [], room.tokens
    for row in passages:
        size, free = sizes[row["text"]], left - room.mark
        if size <= free:
            rows.append({**row, "fate": "as found"})
            left = free - size
        elif free >= _LEAST:
            text = cut_to_tokens(row["text"], free, count_tokens)
            rows.append({**row, "fate": "cut", "text": text})
            left = 0
        else:
            rows.append({**row, "fate": "over budget", "text": ""})
    return rows, left
