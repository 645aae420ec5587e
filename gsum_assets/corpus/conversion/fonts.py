"""Whether the letters of a text mean anything: fonts of PDF files may name wrong characters."""

import re
from collections import Counter
from collections.abc import Sequence

_FREQUENT = """
the of and to in is that for it was on are as with be at by this have from or not an they you their
de la le les des et en un une du que est pour dans par sur au el los las del se con no una es al der
die das und den von zu mit ist im dem ein eine auf für nicht auch sich als aus il di che per
non sono della van het een dat te zijn op voor niet do da em os na não com uma mais och att det som
på är av för og til er ikke ja ei että w z się nie jest v že je si az egy és nem bir ve bu
için yang dan untuk ini și din cu pe ac yn eta agus
"""
_WORDS = frozenset(_FREQUENT.split())
"""Frequent words of languages with Latin letters."""
_SHIFTS = {
    "".join(chr((ord(c) - 97 + by) % 26 + 97) for c in word): by
    for word in _WORDS
    if word.isascii() and len(word) > 2
    for by in range(1, 26)
}
"""These words with letters shifted in the alphabet, and by how many."""
_WORD = re.compile(r"[^\W\d_]+(?:[’'][^\W\d_]+)?")
_LATIN = re.compile("[A-Za-z\u00c0-\u024f]")
_LETTER = re.compile(r"[^\W\d_]")
_NO_LETTER = re.compile("[\ue000-\uf8ff\ufffd\U000f0000-\U0010ffff]")
_VOWEL = re.compile(r"[aeiouyàáâãäåæèéêëìíîïòóôõöøœùúûüýÿāēīōūąęůűőıł]", re.IGNORECASE)
_FEWEST = 20  # letters from which a text is judged
_FEWEST_WORDS = 0.04  # least share of frequent words in any prose
_MOST_WITHOUT_VOWEL = 0.15  # share of the words
_LEAST_VOWELS = 0.34  # share of the letters; of shifted letters 0.31 at most are vowels
_COHERENCE = 0.5  # of letter frequencies with those of the nearest language


def unreadable_lines(lines: Sequence[str]) -> set[int]:
    """Return the positions of the lines of a page whose letters mean nothing.

    Most of their letters are of private use; or the line, or the whole page, is in no language.
    """
    text = "\n".join(lines)
    private = set()
    if not text.isascii() and _NO_LETTER.search(text):
        for i, line in enumerate(lines):
            n_private = len(_NO_LETTER.findall(line))
            if n_private > 1 and n_private > len(_LETTER.findall(line)):
                private.add(i)
    words = set(text.lower().split())
    n_known = len(words & _WORDS)
    if n_known < 8 and n_known < _FEWEST_WORDS * len(words) and _is_foreign(text):
        return set(range(len(lines)))
    if len(words & _SHIFTS.keys()) > 1:
        private |= {i for i, line in enumerate(lines) if _is_shifted(line, 0.3)}
    return private


def _is_foreign(text: str) -> bool:
    """Return whether a text of Latin letters with hardly any frequent word is in no language."""
    n_letters = sum(map(str.isalpha, text))
    if sum(map(text.count, "aeiouAEIOU")) > _LEAST_VOWELS * n_letters:
        return False
    n_latin = n_letters if text.isascii() else len(_LATIN.findall(text))
    if n_latin < max(_FEWEST, 0.5 * n_letters):
        return False
    if _is_shifted(text, 0.15):
        return True
    for by in (29, 30, 31):
        shifted = "".join(chr(ord(c) + by) if " " < c < "\x7f" else c for c in text[:2_000])
        words = shifted.lower().split()
        if sum(word in _WORDS for word in words) > 0.15 * len(words):
            return True
    plain = [word for word in _WORD.findall(text) if len(word) > 2 and not word.isupper()]
    without = sum(not _VOWEL.search(word) for word in plain)
    if len(plain) < 30 or without < _MOST_WITHOUT_VOWEL * len(plain):
        return False
    from charset_normalizer.cd import coherence_ratio

    return max((ratio for _, ratio in coherence_ratio(text, 0.0)), default=0.0) < _COHERENCE


def _is_shifted(text: str, least: float) -> bool:
    """Return whether a share of the words are frequent ones with letters shifted alike."""
    words = [word.lower() for word in _WORD.findall(text) if len(word) > 2]
    shifts = Counter(_SHIFTS[word] for word in words if word in _SHIFTS)
    if not shifts or any(word in _WORDS for word in words):
        return False
    [(_, n)] = shifts.most_common(1)
    return n > 1 and n >= least * len(words)
