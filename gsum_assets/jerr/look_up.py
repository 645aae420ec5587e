"""Look-up of the line chunks or pages to read again for a question (3.4; ReadAgent, 3.2)."""

from dataclasses import replace

import pyarrow as pa

from gsum_assets.evaluation.answer import question_text
from gsum_assets.evaluation.budget import CountTokens, lengths, n_fitting, structured_room
from gsum_assets.evaluation.passages import Question, questions_with_passages
from gsum_assets.evaluation.token_usage import spent, why
from gsum_assets.jerr.prompts import PROMPTS
from gsum_assets.jerr.schemas import LookUp
from gsum_assets.jerr.settings import AnswerSettings
from gsum_assets.pipeline.prompts import Prompts
from gsum_assets.pipeline.result import Result
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.protocols.models import Completion, LanguageModel, Request

SHORT_FORMS = ("synopsis", "gist")  # kinds of passages that summarize a longer text
_MAX_WORDS = 20  # of a reply


def look_ups(
    contexts: pa.Table,
    queries: pa.Table,
    model: LanguageModel,
    settings: AnswerSettings,
    count_tokens: CountTokens,
    prompts: Prompts = PROMPTS,
) -> Result:
    """Request from `model` which synopses or gists of each question to read in full.

    They are numbered in reading order, followed by nodes of the graph. Invalid numbers are ignored.
    A question without a valid reply has no row, and nothing is read again for it.
    """
    pending = []
    for question in questions_with_passages(contexts, queries):
        short = [row for row in question.passages if row["node_kind"] in SHORT_FORMS]
        if short and settings.n_reread:
            shown, request = _request(question, short, settings, count_tokens, prompts)
            pending.append((question, shown, request))
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
            where = f"question '{question.query_id}'"
            failures.append(f"{where}: nothing is read again: {why(reply)}")
    return Result(pa.Table.from_pylist(rows, TABLES["jerr.look_ups"].schema), failures)


def _request(
    question: Question,
    short: list[dict],
    settings: AnswerSettings,
    count_tokens: CountTokens,
    prompts: Prompts,
) -> tuple[list[dict], Request]:
    """Return the numbered passages, and the request about them."""
    bare = Request(
        task="answer",
        instructions=_instructions(len(short), settings, prompts),
        question=question_text(question.row),
        max_words=_MAX_WORDS,
        schema=LookUp,
        document_id=question.row["document_id"] or "",
    )
    others = [row["text"] for row in question.passages if row["node_kind"] not in SHORT_FORMS]
    room = structured_room(bare, len(question.passages), settings.prompt_tokens, count_tokens)
    sizes = lengths((row["text"] for row in question.passages), count_tokens)
    best_first = [*(row["text"] for row in short), *others]
    n = max(1, n_fitting([sizes[text] for text in best_first], room))
    shown = sorted(short[:n], key=lambda row: (row["document_id"], row["position"]))
    texts = [row["text"] for row in shown] + others[: max(0, n - len(short))]
    instructions = _instructions(len(shown), settings, prompts)
    return shown, replace(bare, instructions=instructions, passages=tuple(texts))


def _instructions(n_parts: int, settings: AnswerSettings, prompts: Prompts) -> str:
    return prompts.text("look_up", n_parts=n_parts, n_reread=settings.n_reread)
