"""Words of texts in any script.

Chinese, Japanese, Thai and a few other scripts have no blanks between words. Where texts are
searched, their words are overlapping pairs of characters, the usual remedy without a dictionary.
"""

import re
from itertools import pairwise

import regex

UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}"
"""Scripts without blanks between words, for a set of a regular expression."""
CHARACTER = rf"[{UNSPACED}]\p{{M}}*"
"""One character of these scripts with its marks."""

_PLAIN = re.compile(r"\w+")  # ten times as fast; the same words where this finds nothing:
_OTHER = re.compile("[\u0300-\u1fff\u2c00-\U0010ffff]")
# as `\w+` of `re`, but marks, such as the vowels of Indic scripts, do not end a word
_WORD = regex.compile(rf"(?P<run>(?:{CHARACTER})+)|(?:(?![{UNSPACED}])[\p{{L}}\p{{N}}_]\p{{M}}*)+")
_CHARACTER = regex.compile(CHARACTER)
_CASELESS = regex.compile(r"[\p{L}--[\p{Lu}\p{Ll}\p{Lt}\p{Lm}]]", regex.VERSION1)
_CASED = regex.compile(r"[\p{Lu}\p{Ll}\p{Lt}]")


def words_in(text: str) -> list[str]:
    """Return the words of a text in order; those of scripts without blanks as character pairs."""
    if is_plain(text):
        return _PLAIN.findall(text)
    words = []
    for match in _WORD.finditer(text):
        units = _CHARACTER.findall(match[0]) if match["run"] else [match[0]]
        words += [first + second for first, second in pairwise(units)] or units
    return words


def is_plain(text: str) -> bool:
    """Return whether a text has Latin letters without separate marks only."""
    return not _OTHER.search(text)


def n_words(text: str) -> int:
    """Return the number of blank-separated words, and of characters of scripts without blanks."""
    spaced, n_characters = _CHARACTER.subn(" ", text) if not is_plain(text) else (text, 0)
    pieces = spaced.split()
    if not n_characters:
        return len(pieces)
    return n_characters + sum(any(map(str.isalnum, piece)) for piece in pieces)


def has_case(text: str) -> bool:
    """Return whether most letters of a text are of a script with capitals, or it has no letters."""
    return is_plain(text) or len(_CASED.findall(text)) >= len(_CASELESS.findall(text))
