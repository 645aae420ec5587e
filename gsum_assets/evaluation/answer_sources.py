"""The source of every sentence of an answer: characters of a document, or none.

A sentence that stands in a document word for word, fillers of speech aside, is quoted, if its
speaker is the one whom the answer names. Otherwise the passages count that the language model cites
by number.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import pyarrow as pa

from gsum_assets.evaluation.answer_sentences import (
    CITED,
    NONE,
    QUOTED,
    UNSUPPORTED,
    said_sentences,
)
from gsum_assets.evaluation.quotations import DocumentWords, Words, words_of
from gsum_assets.evaluation.support import SUFFICIENT, Support
from gsum_assets.pipeline.family import Read
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.text.vocabulary import content_stems

_KNOWN = ("rank", "cited", "chunk_id", "support")
_ENDS = (".", "!", "?", "…", '"', "”", ")", ":", "。")


class Place(NamedTuple):
    """Characters of a document."""

    document_id: str
    start: int
    end: int


@dataclass(frozen=True)
class Reading:
    """What an answer was written from.

    Attributes
    ----------
    shown : rows of `contexts`, in the order in which the model read them: the first is [1].
    behind : ids of the chunks that a passage is or was made of, by its node id.
    document_ids : documents in which the answer's sentences are looked up, the likeliest first.
    """

    shown: Sequence[Mapping[str, Any]]
    behind: Mapping[str, Collection[str]]
    document_ids: Collection[str]


def readings_of(
    shown: Mapping[tuple[str, int], Sequence[Mapping[str, Any]]],
    read: Read,
    all_documents: Callable[[], Collection[str]],
) -> Mapping[tuple[str, int], Reading]:
    """Return what answers were written from, by query id and sample.

    Parameters
    ----------
    shown : the passages that the model read for each, in order.
    read : the texts that answers are based on, and the chunks in them.
    all_documents : returns the ids of the documents of the corpus; they are looked through where
        nothing says which documents a passage comes from.
    """
    based_on: dict[tuple[str, int], list[tuple[str, str | None]]] = defaultdict(list)
    columns = ["query_id", "sample", "node_id", "document_id"]
    for row in read.rows.select(columns).to_pylist():
        based_on[row["query_id"], row["sample"]].append((row["node_id"], row["document_id"]))
    readings = {}
    for key, rows in shown.items():
        nodes = [*((row["node_id"], row["document_id"]) for row in rows), *based_on[key]]
        held = {node_id: read.held.get(node_id, ()) for node_id, _ in nodes}
        document_ids = dict.fromkeys(d for _, d in nodes if d)
        document_ids |= dict.fromkeys(d for chunks in held.values() for _, d in chunks)
        if any(not d and not held[node_id] for node_id, d in nodes):
            document_ids |= dict.fromkeys(all_documents())
        everything = {node_id for node_id, _ in based_on[key]}
        everything |= {c for node_id, _ in based_on[key] for c, _ in held[node_id]}
        behind = {
            row["node_id"]: sorted({c for c, _ in held[row["node_id"]]} or everything)
            for row in rows
        }
        readings[key] = Reading(rows, behind, list(document_ids))
    return readings


class Texts:
    """Documents, from their rows of `chunks`, in which sentences are looked up by their words."""

    def __init__(self, chunks: pa.Table) -> None:
        self._chunks_of: dict[str, list[dict]] = defaultdict(list)
        columns = chunks.select(["chunk_id", "document_id", "start", "end", "text"])
        ordered = columns.sort_by([("document_id", "ascending"), ("start", "ascending")])
        for row in ordered.to_pylist():
            self._chunks_of[row["document_id"]].append(row)
        self.chunks = {row["chunk_id"]: row for rows in self._chunks_of.values() for row in rows}

    @cached_property
    def _documents(self) -> Mapping[str, DocumentWords]:
        texts = {document_id: _joined(rows) for document_id, rows in self._chunks_of.items()}
        return {document_id: _document_words(text) for document_id, text in texts.items()}

    @cached_property
    def names(self) -> frozenset[str]:
        """Names of all speakers."""
        return frozenset(name for document in self._documents.values() for name in document.names)

    def places(self, sentence: str, speaker: str, document_ids: Collection[str]) -> Iterator[Place]:
        """Yield where a speaker, or anyone for "", says a sentence in these documents."""
        words = set(words_of(sentence))
        for document_id in document_ids if words else ():
            document = self._documents[document_id]
            if (not speaker or speaker in document.names) and document.has(words):
                for start, end in document.find(sentence, speaker):
                    yield Place(document_id, start, end)

    def speaker_at(self, document_id: str, position: int) -> str:
        """Return who is speaking at a character of a document, "" if nobody or not known."""
        return self._documents[document_id].speaker_at(position)

    def chunk_at(self, place: Place) -> str:
        """Return the id of the chunk that holds most of a place, the first of equals."""
        rows = self._chunks_of[place.document_id]
        return max(rows, key=lambda row: _n_shared(row, place))["chunk_id"]


def answer_sources(
    summaries: Sequence[Mapping[str, Any]],
    citations: Mapping[tuple[str, int], Mapping[int, Sequence[int]]],
    readings: Mapping[tuple[str, int], Reading],
    texts: Texts,
    support: Support,
    quotes_only: bool,
) -> pa.Table:
    """Return the rows of `answer_sources` of the sentences of some rows of `summaries`.

    Parameters
    ----------
    citations : numbers of passages by sentence, by query id and sample.
    readings, texts : what each answer was written from, and the documents of all of them.
    quotes_only : whether the model puts sentences together, so that the shortest are quoted too.
    """
    rows = []
    for answer in summaries:
        key = answer["query_id"], answer["sample"]
        resolver = _Resolver(readings[key], texts, support, quotes_only)
        cited = citations.get(key, {})
        for said in said_sentences(answer["text"], texts.names):
            if not said.number:
                continue
            speaker = said.names[-1] if said.names else ""
            sources = resolver.sources(said.words, speaker, cited.get(said.number, ()))
            for number, source in enumerate(sources, 1):
                of_sentence = {"sentence": said.number, "source": number, "text": said.text}
                rows.append({"query_id": key[0], "sample": key[1], **of_sentence, **source})
    return pa.Table.from_pylist(rows, TABLES["answer_sources"].schema)


class _Resolver:
    """Finds the sources of the sentences of one answer."""

    def __init__(self, reading: Reading, texts: Texts, support: Support, quotes_only: bool) -> None:
        self._reading, self._texts, self._support = reading, texts, support
        self._quotes_only = quotes_only
        self._rank_of = {document_id: i for i, document_id in enumerate(reading.document_ids)}
        self._behind = {chunk_id for ids in reading.behind.values() for chunk_id in ids}

    def sources(self, said: str, speaker: str, cited: Sequence[int]) -> Iterable[dict[str, Any]]:
        """Return the rows of a sentence without what identifies it; at least one."""
        quoted = self._quoted(said, speaker)
        found = [quoted] if quoted else []
        for number in cited:
            if quoted and self._has(number, said, quoted):
                if quoted["cited"] is None:
                    quoted |= {"cited": number, "rank": self._reading.shown[number - 1]["rank"]}
                continue
            row = self._cited(said, number)
            if not quoted or row["kind"] == UNSUPPORTED:
                found.append({**row, "cited": number})
        return found or [_row(NONE)]

    def _quoted(self, said: str, speaker: str) -> dict[str, Any] | None:
        if not self._quotes_only and not content_stems(said):
            return None  # "Yes, it was." stands anywhere
        places = self._texts.places(said, speaker, self._rank_of)
        preferred = min(map(self._preferred, places), default=None) or self._below_names(said)
        if preferred is None:
            return None
        _, place, rank, chunk_id = preferred
        holding = (row["rank"] for row in self._reading.shown if _words(row["text"]).hold(said))
        rank = rank or next(holding, None)
        return _row(QUOTED, place, rank=rank, chunk_id=chunk_id, support=1.0)

    def _below_names(self, said: str) -> tuple[None, Place, int, str] | None:
        """Return where rows of a table stand that are said with the names of its columns."""
        for row in self._reading.shown:
            chunk = self._texts.chunks.get(row["node_id"])
            if chunk and len(chunk["text"]) > chunk["end"] - chunk["start"]:
                for span in _words(chunk["text"]).find(said)[:1]:
                    return None, _place(chunk, span), row["rank"], row["node_id"]
        return None

    def _preferred(self, place: Place) -> tuple[tuple[int, int, int], Place, int, str]:
        """Return a place, before it a key to prefer it by, then its passage's rank and its chunk.

        Passages that were read come first, then chunks that others of them were made of.
        """
        within = [
            (_n_shared(chunk, place), -i, row)
            for i, row in enumerate(self._reading.shown)
            if (chunk := self._texts.chunks.get(row["node_id"]))
            and chunk["document_id"] == place.document_id
        ]
        shared, number, row = max(within, default=(0, 0, {}), key=lambda item: item[:2])
        if shared:
            key = 0, place.end - place.start - shared, -number
            return key, place, row["rank"], row["node_id"]
        chunk_id = self._texts.chunk_at(place)
        key = 1 if chunk_id in self._behind else 2, self._rank_of[place.document_id], 0
        return key, place, 0, chunk_id

    def _has(self, number: int, said: str, quoted: Mapping[str, Any]) -> bool:
        """Return whether the passage of a number is the one quoted, or has the sentence too."""
        if not 1 <= number <= len(self._reading.shown):
            return False
        row = self._reading.shown[number - 1]
        return quoted["rank"] == row["rank"] or _words(row["text"]).hold(said)

    def _cited(self, said: str, number: int) -> dict[str, Any]:
        """Return the row of a sentence for which the model wrote the number of a passage."""
        if not 1 <= number <= len(self._reading.shown):
            return _row(UNSUPPORTED, support=0.0)
        row = self._reading.shown[number - 1]
        value, *_ = self._support.of(said, [row["text"]])
        if value < SUFFICIENT:
            return _row(UNSUPPORTED, rank=row["rank"], support=value)
        chunks = [
            chunk
            for chunk_id in (row["node_id"], *self._reading.behind[row["node_id"]])
            if (chunk := self._texts.chunks.get(chunk_id))
        ]
        if row["node_id"] in self._texts.chunks:
            chunks = chunks[:1]
        of_chunk, i, span = self._support.of(said, [chunk["text"] for chunk in chunks])
        if of_chunk < SUFFICIENT:
            return _row(CITED, rank=row["rank"], support=value)
        chunk = chunks[i]
        place = _place(chunk, span)
        return _row(CITED, place, rank=row["rank"], chunk_id=chunk["chunk_id"], support=of_chunk)


def _row(kind: str, place: Place | None = None, **known: Any) -> dict[str, Any]:
    """Return a row of `answer_sources` without its key; what is not known is null."""
    document_id, start, end = place or (None, None, None)
    characters = {"document_id": document_id, "start_char": start, "end_char": end}
    return {"kind": kind, **dict.fromkeys(_KNOWN), **characters, **known}


_words = lru_cache(maxsize=2**12)(Words)
_document_words = lru_cache(maxsize=2**6)(DocumentWords)  # of questions one after the other


def _joined(chunks: Sequence[Mapping[str, Any]]) -> str:
    """Return the text of a document from its chunks in order; only blanks are in no chunk."""
    parts, end = [], 0
    for chunk in chunks:
        if chunk["start"] > end:
            last = parts[-1].rstrip() if parts else "."
            parts.append(("\n" if last.endswith(_ENDS) else " ") * (chunk["start"] - end))
            end = chunk["start"]
        if chunk["end"] > end:
            parts.append(chunk["text"][end - chunk["end"] :])
            end = chunk["end"]
    return "".join(parts)


def _place(chunk: Mapping[str, Any], span: tuple[int, int]) -> Place:
    """Return characters of a chunk's text as such of its document, those of names of columns cut.

    The text ends with its slice of the document.
    """
    start, end = (max(chunk["start"], chunk["end"] - len(chunk["text"]) + at) for at in span)
    return Place(chunk["document_id"], start, end)


def _n_shared(chunk: Mapping[str, Any], place: Place) -> int:
    """Return the number of characters that a chunk and a place in its document share."""
    return max(0, min(chunk["end"], place.end) - max(chunk["start"], place.start))
