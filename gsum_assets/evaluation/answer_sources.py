"""The source of every sentence of an answer: characters of a document, or none.

A sentence that stands in a document word for word, fillers of speech aside, is quoted. It is looked
up in the documents of the passages that were read, where the speaker must be the one whom the
answer names. Thus a sentence of a report or an earlier response is traced to the passage that it
was taken from. Otherwise the passages count that the language model cites by number.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import pyarrow as pa

from gsum_assets.evaluation.answer_sentences import lines_of, split_name
from gsum_assets.evaluation.quotations import DocumentWords, Span, Words, words_of
from gsum_assets.evaluation.support import Support
from gsum_assets.pipeline.family import Read
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.text.vocabulary import content_stems

QUOTED, CITED, UNSUPPORTED, NONE = "quoted", "cited", "unsupported", "none"
_FEW = 16  # documents that are looked through one by one
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
    return {
        key: _reading(rows, based_on[key], read.held, all_documents) for key, rows in shown.items()
    }


def _reading(
    shown: Sequence[Mapping[str, Any]],
    based_on: Sequence[tuple[str, str | None]],
    held: Mapping[str, Collection[tuple[str, str]]],
    all_documents: Callable[[], Collection[str]],
) -> Reading:
    nodes = [*((row["node_id"], row["document_id"]) for row in shown), *based_on]
    document_ids = {d: None for _, d in nodes if d}
    document_ids |= {d: None for node_id, _ in nodes for _, d in held.get(node_id, ())}
    if any(not d and not held.get(node_id) for node_id, d in nodes):
        document_ids |= dict.fromkeys(all_documents())
    everything = {node_id for node_id, _ in based_on}
    everything |= {c for node_id, _ in based_on for c, _ in held.get(node_id, ())}
    behind = {
        row["node_id"]: sorted({c for c, _ in held.get(row["node_id"], ())} or everything)
        for row in shown
    }
    return Reading(shown, behind, list(document_ids))


class Texts:
    """Documents in which sentences are looked up by their words.

    Parameters
    ----------
    chunks : rows of `chunks` of these documents.
    """

    def __init__(self, chunks: pa.Table) -> None:
        self._chunks_of: dict[str, list[dict]] = defaultdict(list)
        ordered = chunks.select(["chunk_id", "document_id", "start", "end", "text"])
        for row in ordered.sort_by(
            [("document_id", "ascending"), ("start", "ascending")]
        ).to_pylist():
            self._chunks_of[row["document_id"]].append(row)
        self.chunks = {row["chunk_id"]: row for rows in self._chunks_of.values() for row in rows}
        self._places = lru_cache(maxsize=2**16)(self._find)

    @cached_property
    def _documents(self) -> Mapping[str, DocumentWords]:
        return {
            document_id: _document_words(_joined(rows))
            for document_id, rows in self._chunks_of.items()
        }

    @cached_property
    def names(self) -> frozenset[str]:
        """Names of all speakers."""
        return frozenset(name for document in self._documents.values() for name in document.names)

    @cached_property
    def _with_word(self) -> Mapping[str, frozenset[str]]:
        """Documents that have a word."""
        found: dict[str, set[str]] = defaultdict(set)
        for document_id, document in self._documents.items():
            for word in document.words.positions:
                found[word].add(document_id)
        return {word: frozenset(ids) for word, ids in found.items()}

    def places(self, sentence: str, speaker: str) -> Sequence[Place]:
        """Return where a speaker, or anyone, says a sentence in any of the documents."""
        return self._places(sentence, speaker)

    def _find(self, sentence: str, speaker: str) -> Sequence[Place]:
        wanted = set(words_of(sentence))
        if len(self._chunks_of) <= _FEW:  # the documents of one answer
            has_all = wanted and (i for i, d in self._documents.items() if d.has(wanted))
            candidates = frozenset(has_all or ())
        else:
            with_word = [self._with_word.get(word, frozenset()) for word in wanted]
            candidates = frozenset.intersection(*with_word) if with_word else frozenset()
        return [
            Place(document_id, start, end)
            for document_id in sorted(candidates)
            if not speaker or speaker in self._documents[document_id].names
            for start, end in self._documents[document_id].find(sentence, speaker)
        ]

    def speaker_at(self, document_id: str, position: int) -> str:
        """Return who is speaking at a character of a document, "" if nobody or not known."""
        return self._documents[document_id].speaker_at(position)

    def chunk_at(self, place: Place) -> str:
        """Return the id of the chunk that holds most of a place, the first of equals."""
        rows = self._chunks_of[place.document_id]
        return max(rows, key=lambda row: _n_shared((row["start"], row["end"]), place[1:]))[
            "chunk_id"
        ]


def answer_sources(
    summaries: Sequence[Mapping[str, Any]],
    citations: Mapping[tuple[str, int], Mapping[int, Sequence[int]]],
    readings: Mapping[tuple[str, int], Reading],
    texts: Texts,
    support: Support,
    quotes_only: bool,
) -> pa.Table:
    """Return the rows of `answer_sources`.

    Parameters
    ----------
    summaries : rows of `summaries` whose sentences need a source.
    citations : numbers of passages by sentence, by query id and sample.
    readings : what each answer was written from, by query id and sample.
    texts : the documents of all readings.
    quotes_only : whether the model puts sentences together, so that the shortest are quoted too.
    """
    rows = []
    for answer in summaries:
        key = answer["query_id"], answer["sample"]
        resolver = _Resolver(readings[key], texts, support, quotes_only)
        for number, text, speaker, words in _sentences(answer["text"], texts.names):
            sources = resolver.sources(words, speaker, citations.get(key, {}).get(number, ()))
            for source, found in enumerate(sources, 1):
                of_sentence = {"sentence": number, "source": source, "text": text}
                rows.append({"query_id": key[0], "sample": key[1], **of_sentence, **found})
    return pa.Table.from_pylist(rows, TABLES["answer_sources"].schema)


def _sentences(answer: str, names: frozenset[str]) -> Iterator[tuple[int, str, str, str]]:
    """Yield number, text, speaker and words said of each sentence.

    A line without a name continues the one before, unless it begins with a mark or is blank.
    """
    speaker = ""
    for line in lines_of(answer):
        if line.mark.strip() or line.is_heading or not line.sentences:
            speaker = ""
        for sentence in line.sentences:
            name, said = split_name(sentence.text, names)
            speaker = name or speaker
            if sentence.number:
                yield sentence.number, sentence.text, speaker, said


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
        places = [
            place
            for place in self._texts.places(said, speaker)
            if place.document_id in self._rank_of
        ]
        if not places:
            return None
        _, place, rank, chunk_id = min(map(self._preferred, places))
        holding = (row["rank"] for row in self._reading.shown if _words(row["text"]).hold(said))
        return _row(QUOTED, rank or next(holding, None), chunk_id, place, 1.0)

    def _preferred(self, place: Place) -> tuple[tuple[int, int, int], Place, int, str]:
        """Return a place, before it a key to prefer it by, then its passage's rank and its chunk.

        Passages that were read come first, then chunks that others of them were made of.
        """
        within = [
            (_n_shared((chunk["start"], chunk["end"]), place[1:]), -i, row)
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
        if not self._support.suffices(value):
            return _row(UNSUPPORTED, row["rank"], support=value)
        chunks = [
            chunk
            for chunk_id in (row["node_id"], *self._reading.behind[row["node_id"]])
            if (chunk := self._texts.chunks.get(chunk_id))
        ]
        if row["node_id"] in self._texts.chunks:
            chunks = chunks[:1]
        of_chunk, i, span = self._support.of(said, [chunk["text"] for chunk in chunks])
        if not self._support.suffices(of_chunk):
            return _row(CITED, row["rank"], support=value)
        chunk = chunks[i]
        place = Place(chunk["document_id"], *(chunk["start"] + at for at in span))
        return _row(CITED, row["rank"], chunk["chunk_id"], place, of_chunk)


def _row(
    kind: str,
    rank: int | None = None,
    chunk_id: str | None = None,
    place: Place | None = None,
    support: float | None = None,
) -> dict[str, Any]:
    return {
        "kind": kind,
        "rank": rank,
        "cited": None,
        "chunk_id": chunk_id,
        "document_id": place.document_id if place else None,
        "start_char": place.start if place else None,
        "end_char": place.end if place else None,
        "support": support,
    }


@lru_cache(maxsize=2**12)
def _words(text: str) -> Words:
    return Words(text)


@lru_cache(maxsize=2**6)  # documents that one question after the other is answered from
def _document_words(text: str) -> DocumentWords:
    return DocumentWords(text)


def _joined(chunks: Sequence[Mapping[str, Any]]) -> str:
    """Return the text of a document from its chunks in order; only blanks are in no chunk."""
    parts, end = [], 0
    for chunk in chunks:
        if chunk["start"] > end:
            last = parts[-1].rstrip() if parts else "."
            parts.append(("\n" if last.endswith(_ENDS) else " ") * (chunk["start"] - end))
            end = chunk["start"]
        if chunk["end"] > end:
            parts.append(chunk["text"][end - chunk["start"] :])
            end = chunk["end"]
    return "".join(parts)


def _n_shared(first: Span, second: Span) -> int:
    return max(0, min(first[1], second[1]) - max(first[0], second[0]))
