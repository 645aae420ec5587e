"""Partial answers from packs of passages, and the context of the final answer (paper, 2.6)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from gsum_assets.evaluation.answer import answer_room, question_text
from gsum_assets.evaluation.budget import (
    MOST_MARKED,
    CountTokens,
    Room,
    cut_to_tokens,
    lengths,
    structured_room,
)
from gsum_assets.evaluation.question_contexts import Question, questions_with_passages
from gsum_assets.evaluation.token_usage import spent
from gsum_assets.graphrag.packs import packs
from gsum_assets.graphrag.prompts import PROMPTS
from gsum_assets.graphrag.settings import AnswerSettings
from gsum_assets.pipeline.prompts import Prompts
from gsum_assets.pipeline.result import Result
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.llm.replies import usable
from gsum_resources.protocols.models import LanguageModel, Request
from gsum_resources.protocols.results import PartialAnswer
from gsum_resources.store.arrow import pc
from gsum_resources.store.content_hash import hash_texts

_LEAST = 16  # word pieces of a cut partial answer, below which it is useless


@dataclass(frozen=True)
class _Pack:
    """Passages of a question in one request."""

    question: Question
    number: int
    node_ids: Sequence[str]
    request: Request
    size: int


def partial_answers(
    contexts: pa.Table,
    queries: pa.Table,
    model: LanguageModel,
    settings: AnswerSettings,
    max_words: int,
    count_tokens: CountTokens,
    prompts: Prompts = PROMPTS,
) -> Result:
    """Request an answer to each question from each pack of its passages from `model`.

    A question whose passages all fit into its final prompt has no partial answers (ours).
    """
    sizes = lengths(pc.unique(contexts["text"]).to_pylist(), count_tokens)
    sent, rows, failures = [], [], []
    for question in questions_with_passages(contexts, queries):
        room = answer_room(question.row, settings.prompt_tokens, max_words, count_tokens)
        if _fits(question, sizes, room):
            continue
        packed = _packs(question, sizes, settings, count_tokens, prompts)
        sent += packed
        if not packed:
            failures.append(
                f"question '{question.query_id}': question and instructions leave no room for "
                "passages; raise prompt_tokens in corpus.toml, [graphrag.answers]"
            )
    replies = model.complete([pack.request for pack in sent])
    for pack, reply in zip(sent, replies, strict=True):
        partial, problem = usable(reply, PartialAnswer)
        if partial is not None:
            row = {
                "query_id": pack.question.query_id,
                "pack": pack.number,
                "node_ids": pack.node_ids,
                "n_passages": len(pack.node_ids),
                "prompt_tokens": pack.size,
                "helpfulness": partial.helpfulness,
                "answer": partial.answer.strip(),
                "problems": [problem] if problem else [],
            }
            rows.append({**row, **spent(reply)})
        if problem:
            where = f"question '{pack.question.query_id}', pack {pack.number}"
            lost = ": no partial answer" if partial is None else ""
            failures.append(f"{where}{lost}: {problem}")
    return Result(pa.Table.from_pylist(rows, TABLES["graphrag.partial_answers"].schema), failures)


def reduced_contexts(
    contexts: pa.Table,
    partial: pa.Table,
    queries: pa.Table,
    settings: AnswerSettings,
    max_words: int,
    count_tokens: CountTokens,
) -> pa.Table:
    """Return the helpful partial answers, most helpful first, as many as fit the final prompt.

    Parameters
    ----------
    partial : rows of `graphrag.partial_answers`; a question without any keeps its contexts.
    """
    answers: dict[str, list[dict]] = {}
    for row in partial.to_pylist():
        answers.setdefault(row["query_id"], []).append(row)
    sizes = lengths(pc.unique(contexts["text"]).to_pylist(), count_tokens)
    rows: list[dict] = []
    for question in questions_with_passages(contexts, queries):
        room = answer_room(question.row, settings.prompt_tokens, max_words, count_tokens)
        if rows_of_question := answers.get(question.query_id):
            rows += _reduced(question, rows_of_question, room, count_tokens)
        elif _fits(question, sizes, room):  # otherwise all its partial answers failed
            rows += [{**passage, "fate": "kept"} for passage in question.passages]
    return pa.Table.from_pylist(rows, TABLES["graphrag.reduced_contexts"].schema)


def passages_behind(contexts: pa.Table, partial: pa.Table, reduced: pa.Table) -> pa.Table:
    """Return the rows of `contexts` on which the final answer depends.

    These are the passages of the packs whose partial answers are in its prompt, or all passages if
    they fit into the prompt themselves.
    """
    kept_ids = {row["node_id"] for row in reduced.to_pylist() if row["text"]}
    read: dict[str, set[str]] = {}
    for row in partial.select(["query_id", "pack", "node_ids"]).to_pylist():
        read_ids = read.setdefault(row["query_id"], set())
        if _pack_id(row["query_id"], row["pack"]) in kept_ids:
            read_ids.update(row["node_ids"])
    is_used = [
        node_id in read.get(query_id, (node_id,))
        for query_id, node_id in zip(
            contexts["query_id"].to_pylist(), contexts["node_id"].to_pylist(), strict=True
        )
    ]
    return contexts.filter(pa.array(is_used, pa.bool_()))


def _pack_id(query_id: str, pack: int) -> str:
    return hash_texts(["pack", query_id, str(pack)])


def _packs(
    question: Question,
    sizes: Mapping[str, int],
    settings: AnswerSettings,
    count_tokens: CountTokens,
    prompts: Prompts,
) -> list[_Pack]:
    bare = Request(
        task="answer",
        instructions=prompts.text("map", max_words=settings.max_words),
        question=question_text(question.row),
        max_words=settings.max_words,
        schema=PartialAnswer,
        document_id=question.row["document_id"] or "",
    )
    room = structured_room(bare, MOST_MARKED, settings.prompt_tokens, count_tokens)
    if room.is_too_small:
        return []
    most = room.tokens - room.mark
    texts = [
        row["text"]
        if sizes[row["text"]] <= most
        else cut_to_tokens(row["text"], most, count_tokens)
        for row in question.passages
    ]
    lengths_of = [min(most, sizes[row["text"]]) + room.mark for row in question.passages]
    keys = [row["node_id"] for row in question.passages]
    return [
        _Pack(
            question,
            number,
            [keys[i] for i in members],
            replace(bare, passages=tuple(texts[i] for i in members)),
            room.own + sum(lengths_of[i] for i in members),
        )
        for number, members in enumerate(packs(keys, lengths_of, room.tokens))
    ]


def _fits(question: Question, sizes: Mapping[str, int], room: Room) -> bool:
    return sum(sizes[row["text"]] + room.mark for row in question.passages) <= room.tokens


def _reduced(
    question: Question, answers: Sequence[dict], room: Room, count_tokens: CountTokens
) -> list[dict]:
    ordered = sorted(answers, key=lambda row: (-row["helpfulness"], row["pack"]))
    sizes = lengths((row["answer"] for row in ordered), count_tokens)
    left, rows = room.tokens, []
    for rank, row in enumerate(ordered, start=1):
        free, text, fate = left - room.mark, row["answer"], "kept"
        if not row["helpfulness"] or not text:
            text, fate = "", "of no help"
        elif sizes[text] > free:
            is_cut = free >= _LEAST
            text = cut_to_tokens(text, free, count_tokens) if is_cut else ""
            fate = "cut" if is_cut else "over budget"
            left = 0
        else:
            left = free - sizes[text]
        rows.append(
            {
                "query_id": question.query_id,
                "sample": 0,
                "rank": rank,
                "node_id": _pack_id(question.query_id, row["pack"]),
                "node_kind": "partial answer",
                "document_id": question.row["document_id"],
                "position": None,
                "score": float(row["helpfulness"]),
                "fate": fate,
                "text": text,
            }
        )
    return rows
