"""Sentences of answers with links to where they stand in the passages of the page."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from gsum_assets.evaluation.answer_sentences import Sentence, shown_lines
from gsum_assets.evaluation.quotations import Span, disjoint


class Piece(NamedTuple):
    """A part of a passage's text; `mark` is the anchor of a sentence of answers, "" for others."""

    text: str
    mark: str = ""


class Origin(NamedTuple):
    """A source of an answer, numbered from 1; `anchor` is "" if it is not on the page."""

    number: int
    title: str
    kind: str
    anchor: str


class Line(NamedTuple):
    """A line of an answer: its mark, and each sentence with the anchors of its numbers."""

    mark: str
    sentences: Sequence[tuple[Sentence, Sequence[tuple[int, str]]]]


class Text(NamedTuple):
    """The text of an answer; without lines if nothing is known of its sentences."""

    plain: str
    lines: Sequence[Line]
    origins: Sequence[Origin]
    is_refusal: bool


def spans_of(
    rows: Iterable[Mapping[str, Any]], chunks: Mapping[str, Mapping]
) -> dict[str, list[Span]]:
    """Return the characters of each chunk in which sentences stand, ascending and disjoint."""
    found: dict[str, set[Span]] = defaultdict(set)
    for row in rows:
        if chunk := chunks.get(row["chunk_id"]):
            first = chunk["end"] - len(chunk["text"])  # the text ends with its slice
            start, end = (row[name] - first for name in ("start_char", "end_char"))
            found[row["chunk_id"]].add((max(0, start), min(len(chunk["text"]), end)))
    return {chunk_id: disjoint(spans) for chunk_id, spans in found.items()}


def pieces_of(text: str, spans: Sequence[Span], number: int) -> list[Piece]:
    """Return a passage in pieces, with the anchor "s12-340" at the sentence that begins at 340."""
    pieces, reached = [], 0
    for start, end in spans:
        pieces += [Piece(text[reached:start]), Piece(text[start:end], f"s{number}-{start}")]
        reached = end
    return [piece for piece in (*pieces, Piece(text[reached:])) if piece.text]


class Anchors:
    """Anchors of the page for rows of `answer_sources`.

    Parameters
    ----------
    chunks : rows of `chunks` by id.
    spans : as of `spans_of`.
    numbers : number on the page of each chunk's passage.
    """

    def __init__(
        self,
        chunks: Mapping[str, Mapping],
        spans: Mapping[str, Sequence[Span]],
        numbers: Mapping[str, int],
    ) -> None:
        self._chunks, self._spans, self._numbers = chunks, spans, numbers

    def of(self, row: Mapping[str, Any]) -> str:
        """Return the anchor of the sentence in its passage; "" if that is not on the page."""
        if row["chunk_id"] not in self._numbers:
            return ""
        chunk, number = self._chunks[row["chunk_id"]], self._numbers[row["chunk_id"]]
        at = max(0, row["start_char"] - chunk["end"] + len(chunk["text"]))
        spans = self._spans.get(row["chunk_id"], ())
        start = next((first for first, end in spans if first <= at < end), None)
        return f"p{number}" if start is None else f"s{number}-{start}"

    def text(
        self,
        summary: Mapping[str, Any],
        rows: Sequence[Mapping[str, Any]],
        titles: Mapping[str, str],
    ) -> Text:
        """Return a row of `summaries` with its rows of `answer_sources` as numbers."""
        answer, is_refusal = summary["text"], summary["is_refusal"]
        if not rows:
            return Text(answer, (), (), is_refusal)
        origins: dict[str | int, Origin] = {}
        anchors: dict[tuple[int, int], str] = {}

        def number_of(row: Mapping[str, Any]) -> int:
            key = row["chunk_id"] or row["rank"]
            if key not in origins:
                chunk = self._chunks.get(row["chunk_id"])
                title = titles.get(row["document_id"] or "", "a text made of several passages")
                kind = f"passage {chunk['position'] + 1}" if chunk else ""
                number = self._numbers.get(row["chunk_id"])
                anchor = f"p{number}" if number else ""
                origins[key] = Origin(len(origins) + 1, title, kind, anchor)
            anchors.setdefault((row["sentence"], origins[key].number), self.of(row))
            return origins[key].number

        def linked(sentence: Sentence) -> tuple[Sentence, Sequence[tuple[int, str]]]:
            return sentence, [(n, anchors[sentence.number, n]) for n in sentence.numbers]

        lines = [
            Line(line.mark, list(map(linked, line.sentences)))
            for line in shown_lines(answer, rows, number_of)
        ]
        return Text(answer, lines, list(origins.values()), is_refusal)
