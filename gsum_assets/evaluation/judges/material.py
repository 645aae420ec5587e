"""Material for judges: questions, answers, and texts within a budget."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from gsum_assets.evaluation.judges.settings import JudgesSettings
from gsum_resources.store.arrow import pc
from gsum_resources.store.content_hash import hash_texts


@dataclass(frozen=True)
class Question:
    """A question with the answer of each method.

    Attributes
    ----------
    passages : passages that the answer was written from, best first, by method.
    assertions : statements that a right answer makes.
    """

    query_id: str
    text: str
    document_id: str
    references: tuple[str, ...]
    answers: Mapping[str, str]
    passages: Mapping[str, Sequence[str]]
    writers: Mapping[str, str] = field(default_factory=dict)
    assertions: tuple[str, ...] = ()


def questions_to_judge(
    queries: pa.Table,
    summaries: pa.Table,
    read: pa.Table,
    settings: JudgesSettings,
    assertions: pa.Table | None = None,
) -> list[Question]:
    """Return the drawn questions by id, with the answers of the methods to judge.

    Parameters
    ----------
    read : rows of `contexts`, or of a method's refined contexts.
    assertions : rows of `assertions`.
    """
    stated: dict[str, list[str]] = {}
    for row in assertions.sort_by("number").to_pylist() if assertions else ():
        stated.setdefault(row["query_id"], []).append(row["text"])
    drawn = drawn_questions(queries, settings)
    kept_summaries, kept_passages = (
        table.filter(
            pc.and_(
                pc.equal(table["sample"], 0),
                pc.and_(
                    pc.is_in(table["method"], pa.array(settings.methods, pa.string())),
                    pc.is_in(table["query_id"], pa.array(drawn.keys(), pa.string())),
                ),
            )
        )
        for table in (summaries, read)
    )
    answers: dict[str, dict[str, str]] = {}
    writers: dict[str, dict[str, str]] = {}
    for row in kept_summaries.select(["query_id", "method", "text", "model"]).to_pylist():
        answers.setdefault(row["query_id"], {})[row["method"]] = row["text"]
        writers.setdefault(row["query_id"], {})[row["method"]] = row["model"]
    passages: dict[str, dict[str, list[str]]] = {}
    ranked = kept_passages.select(["query_id", "method", "rank", "text"]).sort_by("rank")
    for row in ranked.to_pylist():
        of_question = passages.setdefault(row["query_id"], {})
        if row["text"]:  # not left empty by refinement
            of_question.setdefault(row["method"], []).append(row["text"])
    return [
        Question(
            query_id,
            row["text"],
            row["document_id"] or "",
            tuple(row["references"]),
            answers.get(query_id, {}),
            passages.get(query_id, {}),
            writers.get(query_id, {}),
            tuple(stated.get(query_id, ())),
        )
        for query_id, row in drawn.items()
    ]


def drawn_questions(queries: pa.Table, settings: JudgesSettings) -> dict[str, dict]:
    """Return at most `max_questions` rows of `queries` of the set kinds and splits, by id.

    Questions are drawn by the hash of their ids, so that a new question replaces at most one other.
    """
    eligible = [
        row
        for row in queries.select(
            ["query_id", "text", "document_id", "references", "kind", "split"]
        ).to_pylist()
        if row["kind"] in settings.kinds
        and (not settings.splits or row["split"] in settings.splits)
    ]
    eligible.sort(key=lambda row: hash_texts(["judge", row["query_id"]]))
    drawn = {row["query_id"]: row for row in eligible[: settings.max_questions]}
    return dict(sorted(drawn.items()))


def mark_of(texts: Iterable[str]) -> str:
    """Return eight hex digits over all texts of a request, which no author of a text can know."""
    return hash_texts(texts, 4)


def marked(kind: str, texts: Iterable[str], mark: str) -> tuple[str, ...]:
    """Return each text between tags with the mark, so that no text can close its own tags."""
    return tuple(f"<{kind}-{mark}>\n{text}\n</{kind}-{mark}>" for text in texts)


def within_budget(passages: Sequence[str], max_characters: int) -> tuple[list[str], int, float]:
    """Return the passages that fit into the budget, best first.

    Returns
    -------
    The passages shown, the number cut or left out, and the fraction of characters shown.
    """
    texts_within: list[str] = []
    left = max_characters
    for passage in passages:
        if left <= 0:
            break
        texts_within.append(passage[:left])
        left -= len(passage)
    n_omitted = len(passages) - len(texts_within) + (left < 0)
    share = sum(map(len, texts_within)) / max(1, sum(map(len, passages)))
    return texts_within, n_omitted, share


def seed_of(*ids: str) -> int:
    """Return a sampling seed from stable ids, of 31 bits, which every server accepts."""
    return int(hash_texts(ids)[:8], 16) >> 1
