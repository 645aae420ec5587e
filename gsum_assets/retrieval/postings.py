"""Where the terms of questions stand in texts.

Questions name few of a corpus's terms, so no index of all is made: texts become sequences of
numbers, in which the terms of some questions are looked up together. That takes a fifth of the time
of an index, and with pairs of words, of which a corpus has millions, a tenth of its memory.
"""

from array import array
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from gsum_assets.retrieval.words import Words
from gsum_resources.content_hash import hash_texts

_LONG = 1_000_000  # characters from which on numbering takes a second or more, and is kept
_N_KEPT = 2  # the chunks of a corpus, and its documents


class Postings(NamedTuple):
    """Which texts hold some terms, and how often: one entry a term and text, by term, then text.

    Attributes
    ----------
    terms, texts, counts : `(n_entries,)`; terms by their place among those looked up.
    """

    terms: np.ndarray
    texts: np.ndarray
    counts: np.ndarray


class NumberedTexts:
    """Texts as sequences of numbered terms.

    Attributes
    ----------
    lengths : terms of each text, pairs included where they count, `(n_texts,)`.
    """

    def __init__(self, texts: Sequence[str], words: Words) -> None:
        self._words = words
        self._number_of, self._numbers, self._ends = _numbered(texts, words)
        n_terms = np.diff(self._ends)
        self.lengths = n_terms + np.maximum(n_terms - 1, 0) if words.bigrams else n_terms

    @property
    def n_texts(self) -> int:
        """Number of texts."""
        return len(self.lengths)

    def codes(self, query: str) -> list[int]:
        """The terms of a query that the texts may hold, pairs after single ones, with repeats."""
        numbers = [self._number_of.get(term, -1) for term in self._words.terms(query)]
        codes = [number for number in numbers if number >= 0]
        if self._words.bigrams:
            pairs = pairwise(numbers)
            codes += [self._pair(*pair) for pair in pairs if min(pair) >= 0]
        return codes

    def postings(self, codes: np.ndarray) -> Postings:
        """Of some terms.

        Parameters
        ----------
        codes : as `codes` gives them, distinct and ascending, int64.
        """
        n_single = int(np.searchsorted(codes, len(self._number_of)))
        found = [self._single(codes[:n_single])]
        if n_single < len(codes):
            terms, places = self._pairs(codes[n_single:])
            found.append((terms + n_single, places))
        terms, places = (np.concatenate(column) for column in zip(*found, strict=True))
        texts = np.searchsorted(self._ends, places, side="right") - 1
        entries, counts = np.unique(terms * self.n_texts + texts, return_counts=True)
        return Postings(*np.divmod(entries, max(1, self.n_texts)), counts)

    def _pair(self, first: Any, second: Any) -> Any:
        """The code of a pair, beyond those of single terms; numbers or arrays of int64."""
        n = len(self._number_of)
        return n + first * n + second

    def _single(self, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Terms, and the places where they stand in all texts' numbers."""
        place_of = np.full(len(self._number_of) + 1, -1, np.int64)
        place_of[codes] = np.arange(len(codes))
        places = np.flatnonzero((place_of >= 0)[self._numbers])
        return place_of[self._numbers[places]], places

    def _pairs(self, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Pairs, and the places of their first terms."""
        n = len(self._number_of)
        first, second = np.divmod(codes - n, n)
        begins, ends = np.zeros((2, n), bool)
        begins[first], ends[second] = True, True
        places = np.flatnonzero(begins[self._numbers[:-1]] & ends[self._numbers[1:]])
        # the last term of a text is followed by another text's
        places = places[~np.isin(places + 1, self._ends)]
        here = self._pair(self._numbers[places].astype(np.int64), self._numbers[places + 1])
        terms = np.minimum(np.searchsorted(codes, here), len(codes) - 1)
        known = codes[terms] == here
        return terms[known], places[known]


class _Numbered(NamedTuple):
    """The number of each term; those of all texts, one after the other; where each text ends."""

    number_of: Mapping[str, int]
    numbers: np.ndarray
    ends: np.ndarray


_kept: OrderedDict[tuple[str, str], _Numbered] = OrderedDict()
"""By language and content: methods that search the same texts come one after the other."""


def _numbered(texts: Sequence[str], words: Words) -> _Numbered:
    if sum(map(len, texts)) < _LONG:
        return _number(texts, words)
    key = words.language, hash_texts(texts)
    found = _kept.pop(key, None) or _number(texts, words)
    _kept[key] = found
    if len(_kept) > _N_KEPT:
        _kept.popitem(last=False)
    return found


def _number(texts: Sequence[str], words: Words) -> _Numbered:
    known: dict[str, int] = {}
    number_of = _Numbers(words.term_of, known)
    numbers, ends = array("i"), array("q", [0])
    for text in texts:
        numbers.extend([n for n in map(number_of.__getitem__, words.find(text)) if n >= 0])
        ends.append(len(numbers))
    return _Numbered(known, np.frombuffer(numbers, np.int32), np.frombuffer(ends, np.int64))


class _Numbers(dict[str, int]):
    """The number of each word's term, in order of first use; -1 for a stop word."""

    def __init__(self, term_of: Callable[[str], str], number_of: dict[str, int]) -> None:
        super().__init__()
        self._term_of = term_of
        self._number_of = number_of

    def __missing__(self, word: str) -> int:
        term = self._term_of(word)
        self[word] = self._number_of.setdefault(term, len(self._number_of)) if term else -1
        return self[word]
