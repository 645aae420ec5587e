"""Material for judges: questions with answers, and texts between tags."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

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
    writers : models that wrote the answers, by method.
    """

    query_id: str
    text: str
    document_id: str
    references: tuple[str, ...]
    answers: Mapping[str, str]
    passages: Mapping[str, Sequence[str]]
    writers: Mapping[str, str]

    def is_written_by(self, model: str, *methods: str) -> bool:
        """Return whether a judging model, "" for none, wrote the answer of one of the methods.

        The same name at two servers counts as the same model.
        """
        return bool(model) and model in {self.writers.get(method) for method in methods}


def questions_to_judge(
    queries: pa.Table, summaries: pa.Table, read: pa.Table, settings: JudgesSettings
) -> list[Question]:
    """Return the drawn questions by id, with the answers of the methods to judge.

    `read` has rows of `contexts`, or of a method's refined contexts.
    """
    drawn = drawn_questions(queries, settings)
    methods, query_ids = (pa.array(v, pa.string()) for v in (settings.methods, drawn.keys()))

    def of_first_sample(table: pa.Table, columns: Sequence[str]) -> list[dict]:
        is_judged = pc.and_(
            pc.is_in(table["method"], methods), pc.is_in(table["query_id"], query_ids)
        )
        rows = table.filter(pc.and_(pc.equal(table["sample"], 0), is_judged))
        return rows.select(["query_id", "method", "text", *columns]).to_pylist()

    answers: dict[str, dict[str, str]] = defaultdict(dict)
    writers: dict[str, dict[str, str]] = defaultdict(dict)
    for row in of_first_sample(summaries, ["model"]):
        answers[row["query_id"]][row["method"]] = row["text"]
        writers[row["query_id"]][row["method"]] = row["model"]
    passages: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for row in sorted(of_first_sample(read, ["rank"]), key=lambda row: row["rank"]):
        if row["text"]:  # not left empty by refinement
            passages[row["query_id"]][row["method"]].append(row["text"])
    return [
        Question(
            query_id,
            row["text"],
            row["document_id"] or "",
            tuple(row["references"]),
            answers[query_id],
            passages[query_id],
            writers[query_id],
        )
        for query_id, row in drawn.items()
    ]


def drawn_questions(queries: pa.Table, settings: JudgesSettings) -> dict[str, dict]:
    """Return at most `max_questions` rows of `queries` of the set kinds and splits, by id.

    Questions are drawn by the hash of their ids, so that a new question replaces at most one other.
    """
    eligible = [
        row
        for row in queries.to_pylist()
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


def seed_of(*ids: str) -> int:
    """Return a sampling seed from stable ids, of 31 bits, which every server accepts."""
    return int(hash_texts(ids)[:8], 16) >> 1
