"""Key points from packs of passages, and the context of the final answer (paper, 2.6).

A point names the passages that say it, as in Microsoft's package.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from gsum_assets.evaluation.answer import question_text
from gsum_assets.evaluation.budget import MOST_MARKED, Room, cut_to_tokens, lengths, structured_room
from gsum_assets.evaluation.passages import KEY_POINT, Question, questions_with_passages
from gsum_assets.evaluation.token_usage import spent
from gsum_assets.graphrag.contexts import AnswerPrompt
from gsum_assets.graphrag.descriptions import packs, shortened
from gsum_assets.graphrag.prompts import PROMPTS
from gsum_assets.pipeline.prompts import Prompts
from gsum_assets.pipeline.result import Result, result_of
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.llm.replies import usable
from gsum_resources.protocols.models import LanguageModel, Request
from gsum_resources.protocols.results import KeyPoints
from gsum_resources.store.arrow import pc
from gsum_resources.store.content_hash import hash_texts

_POINTS_WORDS = 150  # length of all points of one pack (ours)
_LEAST = 16  # word pieces of a cut point, below which it is useless


def partial_answers(
    contexts: pa.Table,
    queries: pa.Table,
    model: LanguageModel,
    prompt: AnswerPrompt,
    prompts: Prompts = PROMPTS,
) -> Result:
    """Return `graphrag.partial_answers` of each pack of a question's passages, and `key_points`.

    A question whose passages all fit into its final prompt has none (ours).
    """
    sizes = lengths(pc.unique(contexts["text"]).to_pylist(), prompt.count_tokens)
    sent: list[tuple[dict, Request]] = []
    rows, points, failures = [], [], []
    for question in questions_with_passages(contexts, queries):
        if _fits(question, sizes, prompt.room(question.row)):
            continue
        packed = list(_packs(question, sizes, prompt, prompts))
        sent += packed
        if not packed:
            failures.append(
                f"question '{question.query_id}': question and instructions leave no room for "
                "passages; raise prompt_tokens in corpus.toml, [graphrag.answers]"
            )
    replies = model.complete([request for _, request in sent])
    for (pack, _), reply in zip(sent, replies, strict=True):
        content, problem = usable(reply, KeyPoints)
        if content is not None:
            of_pack = _points(pack, content)
            points += of_pack
            problems = [problem] if problem else []
            rows.append({**pack, "n_points": len(of_pack), "problems": problems, **spent(reply)})
        if problem:
            lost = ": no partial answer" if content is None else ""
            failures.append(f"question '{pack['query_id']}', pack {pack['pack']}{lost}: {problem}")
    return result_of("graphrag", {"partial_answers": rows, "key_points": points}, failures)


def _packs(
    question: Question, sizes: Mapping[str, int], prompt: AnswerPrompt, prompts: Prompts
) -> Iterator[tuple[dict, Request]]:
    """Yield the columns and the request of each pack; none if the prompt has no room for it."""
    bare = Request(
        task="answer",
        instructions=prompts.text("map", max_words=_POINTS_WORDS),
        question=question_text(question.row),
        max_words=_POINTS_WORDS,
        schema=KeyPoints,
        document_id=question.row["document_id"] or "",
    )
    room = structured_room(bare, MOST_MARKED, prompt.tokens, prompt.count_tokens)
    if room.is_too_small:
        return
    most = room.tokens - room.mark
    keys = [row["node_id"] for row in question.passages]
    whole = [row["text"] for row in question.passages]
    texts = shortened(whole, sizes, most, prompt.count_tokens)
    marked = [min(most, sizes[text]) + room.mark for text in whole]
    for number, members in enumerate(packs(keys, marked, room.tokens)):
        columns = {
            "query_id": question.query_id,
            "pack": number,
            "node_ids": [keys[i] for i in members],
            "n_passages": len(members),
            "prompt_tokens": room.own + sum(marked[i] for i in members),
        }
        yield columns, replace(bare, passages=tuple(texts[i] for i in members))


def _points(pack: dict, content: KeyPoints) -> list[dict]:
    """Return rows of `graphrag.key_points`, without empty ones and numbers of no passage."""
    query_id, number, node_ids = pack["query_id"], pack["pack"], pack["node_ids"]
    rows: list[dict] = []
    for point in content.points:
        if not (text := point.description.strip()):
            continue
        cited = [n for n in dict.fromkeys(point.references) if 1 <= n <= len(node_ids)]
        rows.append(
            {
                "query_id": query_id,
                "pack": number,
                "position": len(rows),
                "point_id": hash_texts(["point", query_id, f"{number} {len(rows)}"]),
                "text": text,
                "score": point.score,
                "node_ids": [node_ids[n - 1] for n in cited],
            }
        )
    return rows


def reduced_contexts(
    contexts: pa.Table, partial: pa.Table, points: pa.Table, queries: pa.Table, prompt: AnswerPrompt
) -> pa.Table:
    """Return the helpful points, most helpful first, as many as fit the final prompt.

    A question without partial answers keeps its contexts if they fit.
    """
    answers: dict[str, list[dict]] = {}
    for row in points.to_pylist():
        row |= {"node_id": row["point_id"], "node_kind": KEY_POINT}
        answers.setdefault(row["query_id"], []).append(row)
    for row in partial.filter(pc.equal(partial["n_points"], 0)).to_pylist():
        node_id = hash_texts(["pack", row["query_id"], str(row["pack"])])
        row |= {"node_id": node_id, "node_kind": "pack", "position": 0, "score": 0, "text": ""}
        answers.setdefault(row["query_id"], []).append(row)
    sizes = lengths(pc.unique(contexts["text"]).to_pylist(), prompt.count_tokens)
    rows: list[dict] = []
    for question in questions_with_passages(contexts, queries):
        if of_question := answers.get(question.query_id):
            rows += _reduced(question, of_question, prompt)
        elif _fits(question, sizes, prompt.room(question.row)):  # else all packs failed
            rows += [{**passage, "fate": "kept"} for passage in question.passages]
    return pa.Table.from_pylist(rows, TABLES["graphrag.reduced_contexts"].schema)


def _reduced(question: Question, answers: Sequence[dict], prompt: AnswerPrompt) -> Iterator[dict]:
    """Yield the rows of a question, with what is left of each point and its fate."""
    ordered = sorted(answers, key=lambda row: (-row["score"], row["pack"], row["position"]))
    sizes = lengths((row["text"] for row in ordered), prompt.count_tokens)
    room = prompt.room(question.row, of_points=True)
    left = room.tokens
    for rank, row in enumerate(ordered, start=1):
        free, text, fate = left - room.mark, row["text"], "kept"
        if not row["score"] or not text:
            text, fate = "", "of no help"
        elif sizes[text] <= free:
            left = free - sizes[text]
        else:
            left, fate = 0, "cut" if free >= _LEAST else "over budget"
            text = cut_to_tokens(text, free, prompt.count_tokens) if fate == "cut" else ""
        yield {
            "query_id": question.query_id,
            "sample": 0,
            "rank": rank,
            "node_id": row["node_id"],
            "node_kind": row["node_kind"],
            "document_id": question.row["document_id"],
            "score": float(row["score"]),
            "fate": fate,
            "text": text,
        }


def _fits(question: Question, sizes: Mapping[str, int], room: Room) -> bool:
    return sum(sizes[row["text"]] + room.mark for row in question.passages) <= room.tokens


def passages_behind(
    contexts: pa.Table, partial: pa.Table, points: pa.Table, reduced: pa.Table
) -> pa.Table:
    """Return the contexts in the packs of the points in the final prompt, or all without packs."""
    shown = {row["node_id"] for row in reduced.to_pylist() if row["text"]}
    packs_shown = {
        (row["query_id"], row["pack"])
        for row in points.select(["point_id", "query_id", "pack"]).to_pylist()
        if row["point_id"] in shown
    }
    read: dict[str, set[str]] = {}  # of questions with partial answers
    for row in partial.select(["query_id", "pack", "node_ids"]).to_pylist():
        is_shown = (row["query_id"], row["pack"]) in packs_shown
        read.setdefault(row["query_id"], set()).update(row["node_ids"] if is_shown else ())
    pairs = zip(contexts["query_id"].to_pylist(), contexts["node_id"].to_pylist(), strict=True)
    is_used = [node_id in read.get(query_id, (node_id,)) for query_id, node_id in pairs]
    return contexts.filter(pa.array(is_used, pa.bool_()))
