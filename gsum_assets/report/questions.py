"""Questions with their answers, passages and scores."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa

from gsum_assets.evaluation.comparisons import ALL
from gsum_assets.plots.main_metrics import has_best, main_metrics
from gsum_assets.report.judges import Duel, Grade, duels_of, grades_of
from gsum_assets.report.sentences import Anchors, Piece, Text, pieces_of, spans_of
from gsum_assets.report.stored import Stored
from gsum_resources.store.arrow import pc

_SEVERAL = "several documents"
PassageKey = tuple[str, int, str, str]  # document id, position (from 0), kind, text


@dataclass(frozen=True)
class Passage:
    """A passage of answers, shown once in the report; `position` counts from 1, 0: none."""

    number: int
    kind: str
    position: int
    pieces: Sequence[Piece]

    @property
    def text(self) -> str:
        """The whole passage."""
        return "".join(piece.text for piece in self.pieces)


class Context(NamedTuple):
    """A passage used by an answer; `is_evidence`: marked as evidence by the question's source."""

    passage: Passage
    document: str
    score: float
    is_evidence: bool


class Sample(NamedTuple):
    """An answer's text with its passages, best first; mostly the only one of its question."""

    text: Text
    contexts: Sequence[Context]


class Answer(NamedTuple):
    """A method's answers to a question; `method` is its number, scores are by metric."""

    method: int
    samples: Sequence[Sample]
    scores: Mapping[str, float]
    tokens: int
    seconds: float
    grades: Sequence[Grade]


class Question(NamedTuple):
    """A question in the report, with the best score by metric.

    `document` is the title of the document that it is about; None: the whole corpus.
    """

    number: int
    row: Mapping[str, Any]
    document: str | None
    metrics: Sequence[str]
    best: Mapping[str, float]
    answers: Sequence[Answer]
    duels: Sequence[Duel]


class Detail(NamedTuple):
    """The questions shown, and the passages of their answers by title of the document."""

    questions: Sequence[Question]
    passages: Sequence[tuple[str, Sequence[Passage]]]
    n_answered: int


@dataclass
class _Rows:
    """Stored rows of one answer."""

    summaries: list[Mapping] = field(default_factory=list)
    contexts: dict[int, list[Mapping]] = field(default_factory=lambda: defaultdict(list))
    sources: dict[int, list[Mapping]] = field(default_factory=lambda: defaultdict(list))
    scores: dict[str, float] = field(default_factory=dict)


def in_split(queries: pa.Table, split: str) -> list[dict[str, Any]]:
    """Return the rows of `queries` of a split, or all."""
    return [row for row in queries.to_pylist() if split in (ALL, row["split"])]


def spread(rows: Sequence[Mapping[str, Any]], n: int) -> list[Mapping[str, Any]]:
    """Return at most `n` of the questions, in their order, balanced between kinds.

    Within a kind they are evenly spaced, so that no document is favoured.
    """
    by_kind: dict[str, list[int]] = defaultdict(list)
    for i, row in enumerate(rows):
        by_kind[row["kind"]].append(i)
    chosen: list[int] = []
    for left, kind in enumerate(sorted(by_kind, key=lambda k: (len(by_kind[k]), k))):
        indices = by_kind[kind]
        share = min(len(indices), (n - len(chosen)) // (len(by_kind) - left))
        chosen += [indices[k * len(indices) // share] for k in range(share)]
    return [rows[i] for i in sorted(chosen)]


def detail(stored: Stored, split: str, n: int) -> Detail:
    """Return at most `n` of the answered questions with answers, passages and grades."""
    answered = set(stored.summaries["query_id"].to_pylist())
    rows = [row for row in in_split(stored.queries, split) if row["query_id"] in answered]
    shown = sorted(spread(rows, n), key=lambda row: row["kind"])  # stable: keeps their order
    query_ids = [row["query_id"] for row in shown]
    rows_of: dict[tuple[str, str], _Rows] = defaultdict(_Rows)
    for row in _of(stored.summaries, query_ids):
        rows_of[row["query_id"], row["method"]].summaries.append(row)
    for row in _of(stored.contexts, query_ids):
        rows_of[row["query_id"], row["method"]].contexts[row["sample"]].append(row)
    sources = _of(stored.answer_sources, query_ids)
    for row in sources:
        rows_of[row["query_id"], row["method"]].sources[row["sample"]].append(row)
    for row in _of(stored.scores, query_ids):
        rows_of[row["query_id"], row["method"]].scores[row["metric"]] = row["value"]
    contexts = [context for rows in rows_of.values() for context in rows.contexts.values()]
    chunks = {row["chunk_id"]: row for row in stored.sources.to_pylist()}
    used = {
        row["chunk_id"]: _chunk_key(chunks[row["chunk_id"]])
        for row in sources
        if row["chunk_id"] in chunks
    }
    keys = sorted({*(_key(row) for context in contexts for row in context), *used.values()})
    number_of = {key: number for number, key in enumerate(keys, 1)}
    spans = spans_of(sources, chunks)
    spans_of_key = {key: spans.get(chunk_id, []) for chunk_id, key in used.items()}
    passages = {  # each distinct one once, numbered in reading order
        key: Passage(
            number,
            "passage" if key[2] == "chunk" else key[2],
            key[1] + 1,
            pieces_of(key[3], spans_of_key.get(key, ()), number),
        )
        for key, number in number_of.items()
    }
    anchors = Anchors(chunks, spans, {chunk_id: number_of[key] for chunk_id, key in used.items()})
    judged: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in _of(stored.judgements, query_ids):
        judged[row["query_id"]].append(row)
    questions = [
        _question(number, row, stored, rows_of, passages, anchors, judged.get(row["query_id"], []))
        for number, row in enumerate(shown, 1)
    ]
    grouped: dict[str, list[Passage]] = defaultdict(list)
    for (document_id, *_), passage in passages.items():
        grouped[document_id].append(passage)
    by_title = [(_title(stored, document), group) for document, group in grouped.items()]
    return Detail(questions, by_title, len(rows))


def _of(table: pa.Table, query_ids: Sequence[str]) -> list[dict[str, Any]]:
    wanted = pa.array(query_ids, pa.string())
    return table.filter(pc.is_in(table["query_id"], wanted)).to_pylist()


def _key(row: Mapping) -> PassageKey:
    position = -1 if row["position"] is None else row["position"]
    return row["document_id"] or "", position, row["node_kind"], row["text"]


def _chunk_key(chunk: Mapping) -> PassageKey:
    return chunk["document_id"], chunk["position"], "chunk", chunk["text"]


def _question(
    number: int,
    row: Mapping[str, Any],
    stored: Stored,
    rows_of: Mapping[tuple[str, str], _Rows],
    passages: Mapping[PassageKey, Passage],
    anchors: Anchors,
    judged: Sequence[dict],
) -> Question:
    grades = grades_of(judged)
    answers = [
        _answer(i, rows, row, stored, passages, anchors, grades.get(method, []))
        for i, method in enumerate(stored.methods, 1)
        if (rows := rows_of.get((row["query_id"], method)))
    ]
    given = {metric for answer in answers for metric in answer.scores}
    metrics = main_metrics(given)
    best = {
        m: (max if has_best(m) else min)(a.scores[m] for a in answers if m in a.scores)
        for m in metrics
    }
    if metrics:  # answers in the order of the score that methods are ranked by
        by = main_metrics(given)[0]
        answers.sort(key=lambda answer: -answer.scores.get(by, -1.0))
    document = row["document_id"]
    title = None if document is None else _title(stored, document)
    shown = set(stored.methods)
    duels = [duel for duel in duels_of(judged) if {duel.method, duel.opponent} <= shown]
    return Question(number, row, title, metrics, best, answers, duels)


def _answer(
    method: int,
    rows: _Rows,
    question: Mapping[str, Any],
    stored: Stored,
    passages: Mapping[PassageKey, Passage],
    anchors: Anchors,
    grades: Sequence[Grade],
) -> Answer:
    marked = {*question["relevant_chunk_ids"]}
    samples = [
        Sample(
            anchors.text(summary, rows.sources[summary["sample"]], stored.titles),
            [
                Context(
                    passages[_key(row)],
                    _title(stored, row["document_id"] or ""),
                    row["score"],
                    row["node_id"] in marked,
                )
                for row in sorted(rows.contexts[summary["sample"]], key=lambda row: row["rank"])
            ],
        )
        for summary in sorted(rows.summaries, key=lambda row: row["sample"])
    ]
    tokens = sum(row["tokens_in"] + row["tokens_out"] for row in rows.summaries)
    seconds = sum(row["latency_s"] for row in rows.summaries)
    return Answer(method, samples, rows.scores, tokens, seconds, grades)


def _title(stored: Stored, document_id: str) -> str:
    return stored.titles.get(document_id, document_id) if document_id else _SEVERAL
