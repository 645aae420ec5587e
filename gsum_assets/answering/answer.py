"""The view of an answer that every rendering shows: text, sentences, sources, and its writer."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gsum_assets.corpus.document_names import says_more
from gsum_assets.evaluation.answer import reading_order
from gsum_assets.evaluation.answer_sentences import (
    QUOTED,
    Line,
    Sentence,
    shown_lines,
    with_numbers,
)
from gsum_assets.evaluation.quotations import Span, Words, disjoint

Locate = Callable[[str, int, int], str]
"""Maps document, first character and one past the last to "page 12", or "" without pages."""


@dataclass(frozen=True)
class Source:
    """A passage that an answer was written from.

    Attributes
    ----------
    title : name of its document, see `shown_name`; the kind of text if it comes from several.
    location : "page 4" or "passage 3 of 14" within the document; "" if it has none.
    marked : characters of the text in which sentences of the answer stand, in order.
    origins : passages from which sentences were taken into this text, such as a report.
    start, end : characters of the text in its document; None: it is no passage.
    """

    title: str
    location: str
    text: str
    document_id: str | None
    node_id: str
    marked: Sequence[Span] = ()
    origins: Sequence["Source"] = ()
    start: int | None = None
    end: int | None = None

    def __str__(self) -> str:
        return f"{self.title}, {self.location}" if self.location else self.title


@dataclass(frozen=True)
class Answer:
    """An answer and the passages it was written from.

    Attributes
    ----------
    passages : rows of `contexts`, best first.
    explanation : how the answer came about; "" unless requested.
    sources : the passages in the order in which the model read them, then others with a sentence of
        the answer; of a refusal, the most similar passage.
    model : the model that wrote the answer; "" if no passage was found.
    understood : the question that was answered, if a follow-up was completed; else "".
    probability : that the documents answer the question; None: it was not judged.
    is_refusal : whether the text says that the documents do not answer the question.
    note : that a name of the question may be several, or a better method will answer after a run;
        else "".
    usage : `calls`, `tokens_in`, `tokens_out`, `latency_s` and `cost_usd` of the language model, as
        in `summaries`; a reply that is stored counts as when it was requested.
    """

    text: str
    passages: Sequence[dict]
    explanation: str = ""
    sources: Sequence[Source] = field(default=())
    model: str = ""
    method: str = ""
    lines: Sequence[Line] = field(default=())
    question: str = ""
    understood: str = ""
    usage: Mapping[str, float] = field(default_factory=dict)
    corpus: str = ""
    probability: float | None = None
    is_refusal: bool = False
    note: str = ""

    @property
    def sentences(self) -> list[Sentence]:
        """The sentences of all lines."""
        return [sentence for line in self.lines for sentence in line.sentences]

    @property
    def numbered_text(self) -> str:
        """The text with the numbers of its sources behind each sentence."""
        return with_numbers(self.lines) if self.lines else self.text

    @property
    def writer(self) -> str:
        """Who wrote the answer, in words."""
        return f"written by {self.model}" if self.model else "no model was called"

    def passage(self, source: Source) -> Mapping[str, Any]:
        """Return the row of `contexts` of a source; an empty one if the model did not read it."""
        return next((row for row in self.passages if row["node_id"] == source.node_id), {})


class Sources:
    """The sources of an answer, numbered from 1.

    First come the passages in the order in which the model read them, then those in which a
    sentence stands though the model did not read them.

    `passages` are rows of `contexts`, `names` those of the documents by id, `chunks` rows of at
    least the passages' documents, without texts, `sentences` rows of `answer_sources`. `locate`
    returns a location by page or heading, `read_texts` the texts of chunks by id.
    """

    def __init__(
        self,
        passages: Sequence[dict[str, Any]],
        names: Mapping[str, str],
        chunks: Sequence[Mapping[str, Any]],
        locate: Locate,
        sentences: Sequence[Mapping[str, Any]] = (),
        read_texts: Callable[[Sequence[str]], Mapping[str, str]] = lambda _: {},
    ) -> None:
        self._names, self._locate, self._rows = names, locate, sentences
        self._chunks = {chunk["chunk_id"]: chunk for chunk in chunks}
        self._n_chunks = Counter(chunk["document_id"] for chunk in chunks)
        self._passages = reading_order(passages)
        shown = {row["node_id"] for row in self._passages}
        further = {r["chunk_id"] for r in sentences if r["chunk_id"] and r["chunk_id"] not in shown}
        self._texts = read_texts(sorted(further)) if further else {}

    def listed(self) -> list[Source]:
        """Return the sources in order of their numbers."""
        sources = [self._of_passage(row) for row in self._passages]
        return [*sources, *(self._of_chunk(i, self._of_rank(None)) for i in self._unread)]

    def lines(self, answer: str) -> list[Line]:
        """Return the lines of the answer with the numbers of the sources of their sentences."""
        number_of_rank = {row["rank"]: n for n, row in enumerate(self._passages, 1)}
        unread = {chunk_id: n for n, chunk_id in enumerate(self._unread, len(self._passages) + 1)}
        return shown_lines(
            answer,
            self._rows,
            lambda row: number_of_rank.get(row["rank"]) or unread[row["chunk_id"]],
        )

    @property
    def _unread(self) -> Sequence[str]:
        """Chunks in which sentences stand that are in none of the passages read."""
        return list(dict.fromkeys(row["chunk_id"] for row in self._of_rank(None)))

    def _of_rank(self, rank: int | None) -> list[Mapping[str, Any]]:
        """Return the rows of the sentences that a passage is the source of."""
        sourced = (row for row in self._rows if row["kind"] not in ("none", "unsupported"))
        return [row for row in sourced if row["rank"] == rank]

    def _of_passage(self, row: Mapping[str, Any]) -> Source:
        rows, chunk_id = self._of_rank(row["rank"]), row["node_id"]
        chunk = self._chunks.get(chunk_id)
        names = 0, row["text"].find("\n") + 1  # of columns, on a line before the slice
        if chunk and len(row["text"]) - chunk["end"] + chunk["start"] in names:
            of_chunk = [r for r in rows if r["chunk_id"] == chunk_id]
            return self._of_chunk(chunk_id, of_chunk, row["text"])
        kind, document_id = row["node_kind"].replace("_", " "), row["document_id"]
        title = self._names.get(document_id or "", document_id)
        origins = dict.fromkeys(r["chunk_id"] for r in rows if r["chunk_id"] in self._chunks)
        return Source(
            title or f"{kind} over several documents",
            self._location(chunk) if chunk else kind if document_id else "",
            row["text"],
            document_id,
            chunk_id,
            disjoint(span for r in rows if r["kind"] == QUOTED for span in _found(row["text"], r)),
            [
                self._of_chunk(origin, [r for r in rows if r["chunk_id"] == origin])
                for origin in origins
                if origin != chunk_id
            ],
            start=chunk["start"] if chunk else None,
            end=chunk["end"] if chunk else None,
        )

    def _of_chunk(
        self, chunk_id: str, rows: Iterable[Mapping[str, Any]], text: str | None = None
    ) -> Source:
        chunk = self._chunks[chunk_id]
        text = self._texts.get(chunk_id, "") if text is None else text
        first = chunk["end"] - len(text)  # the text ends with its slice of the document
        spans = ((r["start_char"] - first, r["end_char"] - first) for r in rows)
        return Source(
            self._names.get(chunk["document_id"], chunk["document_id"]),
            self._location(chunk),
            text,
            chunk["document_id"],
            chunk_id,
            disjoint((max(0, start), min(len(text), end)) for start, end in spans),
            start=chunk["start"],
            end=chunk["end"],
        )

    def _location(self, chunk: Mapping[str, Any]) -> str:
        document_id = chunk["document_id"]
        location = self._locate(document_id, chunk["start"], chunk["end"])
        if says_more(location, self._names.get(document_id, document_id)):
            return location
        return f"passage {chunk['position'] + 1} of {self._n_chunks[document_id]}"


def _found(text: str, row: Mapping[str, Any]) -> Sequence[Span]:
    """Return the characters of a text that are a sentence of an answer, its first occurrence."""
    words = Words(text)
    return (words.find(row["text"]) or words.find(row["text"].partition(": ")[2]))[:1]
