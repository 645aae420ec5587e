"""Positions of the word pieces of a text, and the positions where the text may be cut.

WordPiece has one [UNK], or nothing, for what takes a language model up to one token per byte.
Therefore characters of scripts other than Latin, Greek and Cyrillic, emoji and unknown words count
by their UTF-8 bytes, overlong words and dropped spans by their characters.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from unicodedata import category

import numpy as np
from tokenizers import Tokenizer

_SEGMENT = 50_000  # characters per tokenizer input, so that a long text uses all cores
_BATCH = 64  # segments per batch, so that memory stays bounded
_LONG_BARE = 2  # dropped characters of a word that do not count: an accent, a joiner
_FIRST_HEAVY = 0x590  # Hebrew; below: Latin, Greek, Cyrillic, Armenian
_LIGHT = ((0x1E00, 0x20CF), (0x2100, 0x22FF))  # Latin with accents, punctuation, signs

_UTF8_STEPS = np.array([0x80, 0x800, 0x10000])  # first code points of two, three and four bytes
# The characters for which str.isspace() is true.
_BLANKS = np.array([c for c in range(0x3001) if chr(c).isspace()], dtype=np.uint32)
# Scripts that BERT splits into characters, each of which is a word.
_CJK = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2FA1F))


@dataclass(frozen=True)
class Pieces:
    """The word pieces of a text, all arrays `(n,)`."""

    text: str
    starts: np.ndarray
    """Character position of a cut before the piece, ascending."""
    begins_word: np.ndarray
    """Whether the piece follows a blank, or is next to a CJK character."""
    separable: np.ndarray
    """Whether no character belongs to both this piece and an earlier one."""

    @property
    def n(self) -> int:
        """Number of word pieces."""
        return len(self.starts)


def word_pieces(texts: Sequence[str], tokenizer: Tokenizer) -> list[Pieces]:
    """Return the word pieces of each text; texts are tokenized in parallel batches."""
    segments = [(i, start, end) for i, text in enumerate(texts) for start, end in _segments(text)]
    spans: list[list[np.ndarray]] = [[] for _ in texts]
    unknown = tokenizer.token_to_id("[UNK]")
    for batch in (segments[at : at + _BATCH] for at in range(0, len(segments), _BATCH)):
        encodings = tokenizer.encode_batch(
            [texts[i][start:end] for i, start, end in batch], add_special_tokens=False
        )
        for (i, start, _), encoding in zip(batch, encodings, strict=True):
            offsets = np.array(encoding.offsets, dtype=np.int64).reshape(-1, 2) + start
            is_unknown = np.array(encoding.ids, dtype=np.int64) == unknown
            spans[i].append(np.column_stack([offsets, is_unknown]))
    empty = np.zeros((0, 3), dtype=np.int64)
    return [
        _pieces(text, np.concatenate([empty, *offsets]))
        for text, offsets in zip(texts, spans, strict=True)
    ]


def _segments(text: str) -> list[tuple[int, int]]:
    """Return spans of at least `_SEGMENT` characters that end after a space or line end."""
    bounds, blank = [0], re.compile(r"[ \n]")
    while match := blank.search(text, bounds[-1] + _SEGMENT):
        bounds.append(match.end())
    bounds.append(len(text))
    return list(pairwise(bounds))


def _pieces(text: str, spans: np.ndarray) -> Pieces:
    """Return the pieces of the tokenizer's `spans (n_tokens, 3)`: start, end, is unknown."""
    codes = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
    blank = np.isin(codes, _BLANKS)
    spans, weights = _weighed(spans[spans[:, 1] > spans[:, 0]], codes, blank)
    if not len(spans):  # a blank text
        return Pieces(text, np.zeros(0, np.int64), np.zeros(0, bool), np.zeros(0, bool))
    starts = spans[:, 0]
    before = np.concatenate([[0], np.maximum.accumulate(spans[:, 1])[:-1]])
    last_blank = np.maximum.accumulate(np.where(blank, np.arange(len(text)), -1))
    last_blank = np.where(starts > 0, last_blank[np.maximum(starts - 1, 0)], -1)
    after_blank = last_blank >= before
    separable = (starts >= before) & ~_continues(codes)[starts]
    cjk = _within(codes, _CJK)
    beside_cjk = separable & (cjk[starts] | cjk[np.maximum(before - 1, 0)])
    # dropped characters between the last blank and the piece belong to its word
    starts = np.where(after_blank, last_blank + 1, np.maximum(starts, before))
    starts[0] = np.argmin(blank)
    first = np.cumsum(weights) - weights  # of a character that counts several pieces
    is_first = np.zeros(weights.sum(), bool)
    is_first[first] = True
    return Pieces(
        text,
        np.repeat(starts, weights),
        np.repeat(after_blank | beside_cjk, weights) & is_first,
        np.repeat(separable, weights) & is_first,
    )


def _weighed(
    spans: np.ndarray, codes: np.ndarray, blank: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the counted spans `(n, 2)`, and the number of pieces of each `(n,)`.

    A short span outside of tokens that touches one (an accent) belongs to the token's word.
    """
    heavy = (codes >= _FIRST_HEAVY) & ~_within(codes, _LIGHT)
    n_heavy = np.concatenate([[0], np.cumsum(heavy)])
    is_token = (spans[:, 2] == 0) & (n_heavy[spans[:, 1]] == n_heavy[spans[:, 0]])
    tokens = spans[is_token, :2]
    loose = ~_cover(tokens, len(codes)) & ~blank
    edges = np.flatnonzero(np.diff(np.concatenate([[0], loose.astype(np.int8), [0]])))
    first, end = edges[::2], edges[1::2]
    outside = np.concatenate([blank, [True]])  # index -1 is both the text's end and its start
    alone = outside[first - 1] & outside[end]
    short = ~alone & (end - first <= _LONG_BARE)
    always = heavy | _cover(spans[~is_token, :2], len(codes))
    counted = loose & (always | ~_cover(np.stack([first, end], axis=1)[short], len(codes)))
    characters = np.flatnonzero(counted)
    added = np.stack([characters, characters + 1], axis=1)
    n_bytes = 1 + np.searchsorted(_UTF8_STEPS, codes[characters], side="right")
    merged = np.concatenate([tokens, added])
    weights = np.concatenate([np.ones(len(tokens), np.int64), n_bytes])
    order = np.argsort(merged[:, 0], kind="stable")
    return merged[order], weights[order]


def _continues(codes: np.ndarray) -> np.ndarray:
    """Return which characters belong to the previous one: marks, up to three in a row."""
    distinct, inverse = np.unique(codes, return_inverse=True)
    marks = np.array([category(chr(code)).startswith("M") for code in distinct], bool)[inverse]
    many = marks.copy()
    for back in (1, 2, 3):
        many[back:] &= marks[:-back]
        many[:back] = False
    return marks & ~many


def _cover(spans: np.ndarray, length: int) -> np.ndarray:
    """Return which of `length` characters lie in any of `spans`."""
    change = np.zeros(length + 1, dtype=np.int64)
    np.add.at(change, spans[:, 0], 1)
    np.add.at(change, spans[:, 1], -1)
    return np.cumsum(change)[:-1] > 0


def _within(codes: np.ndarray, ranges: Sequence[tuple[int, int]]) -> np.ndarray:
    """Return which code points lie in any of the inclusive `ranges`."""
    return np.logical_or.reduce([(codes >= first) & (codes <= last) for first, last in ranges])
