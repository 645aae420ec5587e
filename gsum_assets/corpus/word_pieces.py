"""Where the word pieces of a text lie, and between which of them it may be cut.

WordPiece drops characters (accents, controls, scripts newer than it) and makes one [UNK] of any
word above 100 characters, however long. Such stretches are counted by their characters here, so
that neither a document without blanks nor one of dropped characters becomes one huge chunk.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from tokenizers import Tokenizer

_SEGMENT = 50_000  # characters tokenized as one input, so that a long text uses all cores
_BATCH = 64  # segments tokenized at once, so that memory stays bounded
_LONG_WORD = 100  # characters; WordPiece looks no further into a word
_PIECE_LENGTH = 4  # characters, about the mean length of an English word piece

# The characters for which str.isspace() is true.
_BLANKS = np.array([c for c in range(0x3001) if chr(c).isspace()], dtype=np.uint32)
# Scripts that BERT splits into characters, which therefore are words of their own.
_CJK = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2FA1F))


@dataclass(frozen=True)
class Pieces:
    """The word pieces of a text, all arrays `(n,)`.

    Attributes
    ----------
    text : the text.
    starts : the character at which a cut before the piece would fall; ascending.
    begins_word : the piece begins a word (after a blank, or next to a CJK character).
    separable : no character belongs to both this piece and an earlier one.
    """

    text: str
    starts: np.ndarray
    begins_word: np.ndarray
    separable: np.ndarray

    @property
    def n(self) -> int:
        """Number of word pieces."""
        return len(self.starts)


def word_pieces(texts: Sequence[str], tokenizer: Tokenizer) -> list[Pieces]:
    """The word pieces of each text; tokenized in parallel batches."""
    segments = [(i, start, end) for i, text in enumerate(texts) for start, end in _segments(text)]
    spans: list[list[np.ndarray]] = [[] for _ in texts]
    for batch in (segments[at : at + _BATCH] for at in range(0, len(segments), _BATCH)):
        encodings = tokenizer.encode_batch(
            [texts[i][start:end] for i, start, end in batch], add_special_tokens=False
        )
        for (i, start, _), encoding in zip(batch, encodings, strict=True):
            spans[i].append(np.array(encoding.offsets, dtype=np.int64).reshape(-1, 2) + start)
    empty = np.zeros((0, 2), dtype=np.int64)
    return [
        _pieces(text, np.concatenate([empty, *found]))
        for text, found in zip(texts, spans, strict=True)
    ]


def _segments(text: str) -> list[tuple[int, int]]:
    """Stretches of at least `_SEGMENT` characters that end after a space or line end."""
    bounds, blank = [0], re.compile(r"[ \n]")
    while match := blank.search(text, bounds[-1] + _SEGMENT):
        bounds.append(match.end())
    bounds.append(len(text))
    return list(pairwise(bounds))


def _pieces(text: str, spans: np.ndarray) -> Pieces:
    """Starts and permitted cuts from the tokenizer's `spans (n_tokens, 2)`."""
    codes = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
    blank = np.isin(codes, _BLANKS)
    spans = _with_bare_stretches(spans[spans[:, 1] > spans[:, 0]], blank)
    if not len(spans):  # a blank text
        return Pieces(text, np.zeros(0, np.int64), np.zeros(0, bool), np.zeros(0, bool))
    starts = spans[:, 0]
    before = np.concatenate([[0], np.maximum.accumulate(spans[:, 1])[:-1]])
    last_blank = np.maximum.accumulate(np.where(blank, np.arange(len(text)), -1))
    last_blank = np.where(starts > 0, last_blank[np.maximum(starts - 1, 0)], -1)
    after_blank = last_blank >= before
    separable = starts >= before
    cjk = _is_cjk(codes)
    beside_cjk = separable & (cjk[starts] | cjk[np.maximum(before - 1, 0)])
    # Dropped characters between the last blank and the piece belong to its word.
    starts = np.where(after_blank, last_blank + 1, np.maximum(starts, before))
    starts[0] = np.argmin(blank)
    return Pieces(text, starts, after_blank | beside_cjk, separable)


def _with_bare_stretches(spans: np.ndarray, blank: np.ndarray) -> np.ndarray:
    """Replace overlong tokens, and fill what no token covers, by pieces of `_PIECE_LENGTH`.

    A short bare stretch that touches a token (an accent, a zero-width joiner) stays without a
    piece: it belongs to the token's word.
    """
    overlong = spans[:, 1] - spans[:, 0] > _LONG_WORD
    kept = spans[~overlong]
    taken, cut_up = _cover(kept, len(blank)), _cover(spans[overlong], len(blank))
    bare = ~taken & ~blank
    edges = np.flatnonzero(np.diff(np.concatenate([[0], bare.astype(np.int8), [0]])))
    first, end = edges[::2], edges[1::2]
    outside = np.concatenate([blank, [True]])  # index -1 is the text's end, so its start, too
    alone = outside[first - 1] & outside[end]
    wanted = alone | cut_up[first] | (end - first > _LONG_WORD)
    added = [
        np.stack([starts, np.minimum(starts + _PIECE_LENGTH, stop)], axis=1)
        for start, stop in zip(first[wanted], end[wanted], strict=True)
        if len(starts := np.arange(start, stop, _PIECE_LENGTH))
    ]
    merged = np.concatenate([kept, *added])
    return merged[np.argsort(merged[:, 0], kind="stable")]


def _cover(spans: np.ndarray, length: int) -> np.ndarray:
    """Which of `length` characters lie in any of `spans`."""
    change = np.zeros(length + 1, dtype=np.int64)
    np.add.at(change, spans[:, 0], 1)
    np.add.at(change, spans[:, 1], -1)
    return np.cumsum(change)[:-1] > 0


def _is_cjk(codes: np.ndarray) -> np.ndarray:
    """Which code points are CJK ideographs."""
    return np.logical_or.reduce([(codes >= first) & (codes <= last) for first, last in _CJK])
