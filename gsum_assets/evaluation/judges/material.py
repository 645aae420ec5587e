"""What judges are shown: which questions, whose answers, and texts that keep their bounds."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from gsum_assets.evaluation.judges.settings import JudgesSettings
from gsum_resources.arrow import pc
from gsum_resources.content_hash import hash_texts


@dataclass(frozen=True)
class Question:
    """A question with what each method made of it.

    Attributes
    ----------
    references : what people answered; empty where nobody did.
    answers : by method, of those that have one.
    passages : by method, best first: what the answer was written from.
    writers : language models of the answers, by method.
    """

    query_id: str
    text: str
    document_id: str
    references: tuple[str, ...]
    answers: Mapping[str, str]
    passages: Mapping[str, Sequence[str]]
    writers: Mapping[str, str] = field(default_factory=dict)


def questions_to_judge(
    queries: pa.Table, summaries: pa.Table, read: pa.Table, settings: JudgesSettings
) -> list[Question]:
    """The drawn questions in order of their ids, with the answers of the methods to judge.

    Parameters
    ----------
    read : rows of `contexts`, or of what a method refined them to: what answers were written from.
    """
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
        if row["text"]:  # of which refinement left something
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
        )
        for query_id, row in drawn.items()
    ]


def drawn_questions(queries: pa.Table, settings: JudgesSettings) -> dict[str, dict]:
    """At most `max_questions` rows of `queries` of the wanted kinds and splits, by id.

    Each has its place in the draw by itself, the hash of its id: a new question takes the place of
    at most one other.
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
    """Eight hex digits over all that is judged together: whoever wrote a text cannot know them."""
    return hash_texts(texts, 4)


def marked(kind: str, texts: Iterable[str], mark: str) -> tuple[str, ...]:
    """Each text between tags with the mark, so that none can end its own or begin another."""
    return tuple(f"<{kind}-{mark}>\n{text}\n</{kind}-{mark}>" for text in texts)


def within_budget(passages: Sequence[str], max_characters: int) -> tuple[list[str], int, float]:
    """Return what fits of the passages, best first, and what does not.

    Returns
    -------
    The passages shown, how many are cut short or left out, and the share of all characters shown.
    """
    kept: list[str] = []
    left = max_characters
    for passage in passages:
        if left <= 0:
            break
        kept.append(passage[:left])
        left -= len(passage)
    n_omitted = len(passages) - len(kept) + (left < 0)
    share = sum(map(len, kept)) / max(1, sum(map(len, passages)))
    return kept, n_omitted, share


def seed_of(*ids: str) -> int:
    """A sampling seed from stable ids, of 31 bits: what every server takes."""
    return int(hash_texts(ids)[:8], 16) >> 1
