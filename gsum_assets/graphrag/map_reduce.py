"""Key points from packs of passages, and the context of the final answer (paper, 2.6).

A point names the passages that say it, as in Microsoft's package and unlike in the paper, whose
partial answers are texts; so a sentence of the final answer leads to passages of documents.
"""

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
from gsum_assets.evaluation.passages import KEY_POINT, Question, questions_with_passages
from gsum_assets.evaluation.token_usage import spent
from gsum_assets.graphrag.packs import packs
from gsum_assets.graphrag.prompts import PROMPTS
from gsum_assets.graphrag.settings import AnswerSettings
from gsum_assets.pipeline.prompts import Prompts
from gsum_assets.pipeline.result import Result
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.llm.replies import usable
from gsum_resources.protocols.models import LanguageModel, Request
from gsum_resources.protocols.results import KeyPoints
from gsum_resources.store.arrow import pc
from gsum_resources.store.content_hash import hash_texts

_LEAST = 16  # word pieces of a cut point, below which it is useless


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
    """Request points about each question from each pack of its passages from `model`.

    A question whose passages all fit into its final prompt has none (ours).

    Returns
    -------
    Result
        Rows of `graphrag.partial_answers`, and beside them those of `graphrag.key_points`.
    """
    sizes = lengths(pc.unique(contexts["text"]).to_pylist(), count_tokens)
    sent, rows, points, failures = [], [], [], []
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
        said, problem = usable(reply, KeyPoints)
        if said is not None:
            of_pack = _points(pack, said)
            points += of_pack
            row = {
                "query_id": pack.question.query_id,
                "pack": pack.number,
                "node_ids": pack.node_ids,
                "n_passages": len(pack.node_ids),
                "prompt_tokens": pack.size,
                "n_points": len(of_pack),
                "problems": [problem] if problem else [],
            }
            rows.append({**row, **spent(reply)})
        if problem:
            where = f"question '{pack.question.query_id}', pack {pack.number}"
            lost = ": no partial answer" if said is None else ""
            failures.append(f"{where}{lost}: {problem}")
    written = pa.Table.from_pylist(points, TABLES["graphrag.key_points"].schema)
    partial = pa.Table.from_pylist(rows, TABLES["graphrag.partial_answers"].schema)
    return Result(partial, failures, {"key_points": written})


def _points(pack: _Pack, said: KeyPoints) -> list[dict]:
    """Return rows of `graphrag.key_points`, without empty ones and numbers of no passage."""
    stated = [(point, text) for point in said.points if (text := point.description.strip())]
    return [
        {
            "query_id": pack.question.query_id,
            "pack": pack.number,
            "position": position,
            "point_id": hash_texts(["point", pack.question.query_id, f"{pack.number} {position}"]),
            "text": text,
            "score": point.score,
            "node_ids": [
                pack.node_ids[number - 1]
                for number in dict.fromkeys(point.references)
                if 1 <= number <= len(pack.node_ids)
            ],
        }
        for position, (point, text) in enumerate(stated)
    ]


def reduced_contexts(
    contexts: pa.Table,
    partial: pa.Table,
    points: pa.Table,
    queries: pa.Table,
    settings: AnswerSettings,
    max_words: int,
    count_tokens: CountTokens,
) -> pa.Table:
    """Return the helpful points, most helpful first, as many as fit the final prompt.

    Parameters
    ----------
    partial : rows of `graphrag.partial_answers`; a question without any keeps its contexts.
    points : rows of `graphrag.key_points`.
    """
    answers: dict[str, list[dict]] = {}
    for row in points.to_pylist():
        row |= {"node_id": row["point_id"], "node_kind": KEY_POINT}
        answers.setdefault(row["query_id"], []).append(row)
    for row in partial.filter(pc.equal(partial["n_points"], 0)).to_pylist():
        row |= {"node_id": _pack_id(row["query_id"], row["pack"]), "node_kind": "pack"}
        row |= {"position": 0, "score": 0, "text": ""}
        answers.setdefault(row["query_id"], []).append(row)
    sizes = lengths(pc.unique(contexts["text"]).to_pylist(), count_tokens)
    rows: list[dict] = []
    for question in questions_with_passages(contexts, queries):
        length = settings.prompt_tokens, max_words, count_tokens
        if rows_of_question := answers.get(question.query_id):
            room = answer_room(question.row, *length, of_points=True)
            rows += _reduced(question, rows_of_question, room, count_tokens)
        elif _fits(question, sizes, answer_room(question.row, *length)):  # else all packs failed
            rows += [{**passage, "fate": "kept"} for passage in question.passages]
    return pa.Table.from_pylist(rows, TABLES["graphrag.reduced_contexts"].schema)


def passages_behind(
    contexts: pa.Table, partial: pa.Table, points: pa.Table, reduced: pa.Table
) -> pa.Table:
    """Return the rows of `contexts` on which the final answer depends.

    These are the passages of the packs of which a point is in its prompt, or all passages if they
    fit into the prompt themselves.
    """
    kept_ids = {row["node_id"] for row in reduced.to_pylist() if row["text"]}
    kept = {
        (row["query_id"], row["pack"])
        for row in points.select(["point_id", "query_id", "pack"]).to_pylist()
        if row["point_id"] in kept_ids
    }
    read: dict[str, set[str]] = {}
    for row in partial.select(["query_id", "pack", "node_ids"]).to_pylist():
        read_ids = read.setdefault(row["query_id"], set())
        if (row["query_id"], row["pack"]) in kept:
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
        schema=KeyPoints,
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
    ordered = sorted(answers, key=lambda row: (-row["score"], row["pack"], row["position"]))
    sizes = lengths((row["text"] for row in ordered), count_tokens)
    left, rows = room.tokens, []
    for rank, row in enumerate(ordered, start=1):
        free, text, fate = left - room.mark, row["text"], "kept"
        if not row["score"] or not text:
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
                "node_id": row["node_id"],
                "node_kind": row["node_kind"],
                "document_id": question.row["document_id"],
                "position": None,
                "score": float(row["score"]),
                "fate": fate,
                "text": text,
            }
        )
    return rows
