"""Ranks of the positions at which a text may be cut, from the text near each alone.

A chunker that ends each chunk at the position of lowest rank in reach puts its borders at the same
positions again a few chunks behind an edit (content-defined chunking; Muthitacharoen et al., LBFS,
2001).
"""

import re

import numpy as np

_CONTEXT = 32  # characters before a position, without blanks, that its rank depends on
_PARAGRAPH, _SENTENCE, _WORD = 0, 1, 2  # ranks compare by these kinds first
_KIND_BITS = 62
_BASE = 0x9E3779B97F4A7C15  # odd, so that it has an inverse modulo 2**64

_BLANK_LINE = re.compile(r"\n[^\S\n]*\n\s*")
# Marks of Latin, Arabic, Indic and Ethiopic scripts before a blank, but not after "Dr" or "J"; of
# Chinese and Japanese; and line ends.
_SENTENCE_END = re.compile(
    r"(?:[!?…؟۔।॥።]|(?<!\b[A-Z])(?<!\b[A-Z][a-z])(?<!\b[A-Z][a-z][a-z])\.)[.!?…\"'”’»)\]]*(?=\s)"
    r"|[。！？｡][」』”’）]*"
    r"|\n"
)


def border_ranks(text: str, positions: np.ndarray) -> np.ndarray:
    """Return the rank of a cut at each position of a text, uint64 `(n_positions,)`.

    A cut after a paragraph ranks below one after a sentence or line, and that below any other;
    equal kinds are ordered by a hash of the last 32 characters before the cut. Blanks do not count,
    and no sentence ends before a lower-case letter.
    """
    codes = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
    blank = np.array([character.isspace() for character in text], bool)
    n_before = np.concatenate([[0], np.cumsum(~blank)])  # characters before each position
    at = n_before[positions]
    hashes = _hashes(codes[~blank], at)
    kinds = np.full(len(positions), _WORD, np.uint64)
    following = np.append(np.flatnonzero(~blank), -1)  # position of each character
    ends = n_before[[match.end() for match in _SENTENCE_END.finditer(text)]]
    is_inside = [text[following[n] :][:1].islower() for n in ends]
    kinds[np.isin(at, ends[~np.array(is_inside, bool)])] = _SENTENCE
    kinds[np.isin(at, n_before[[m.end() for m in _BLANK_LINE.finditer(text)]])] = _PARAGRAPH
    return (kinds << np.uint64(_KIND_BITS)) | (hashes >> np.uint64(64 - _KIND_BITS))


def _hashes(codes: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Return a hash of the `_CONTEXT` codes before each index, uint64 `(n_indices,)`.

    It is that of Rabin and Karp modulo 2**64, followed by the finalizer of SplitMix64.
    """
    n = len(codes) + 1
    powers = _powers(_BASE, n)
    sums = np.zeros(n, np.uint64)
    np.cumsum(codes.astype(np.uint64) * powers[:-1], out=sums[1:])
    first = np.maximum(at - _CONTEXT, 0)
    hashes = (sums[at] - sums[first]) * _powers(pow(_BASE, -1, 2**64), n)[first]
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        hashes = (hashes ^ (hashes >> np.uint64(shift))) * np.uint64(factor)
    return hashes ^ (hashes >> np.uint64(31))


def _powers(base: int, n: int) -> np.ndarray:
    """Return `base ** i` modulo 2**64 for i from 0, uint64 `(n,)`."""
    powers = np.ones(n, np.uint64)
    np.cumprod(np.full(n - 1, base, np.uint64), out=powers[1:])
    return powers
