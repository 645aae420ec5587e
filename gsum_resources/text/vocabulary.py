"""Words of texts in any script: tokens, stems, function words, text lengths.

Chinese, Japanese, Thai and a few other scripts have no blanks between words. Where texts are
searched, their words are overlapping pairs of characters, the usual remedy without a dictionary.
"""

import math
import re
import tomllib
import unicodedata
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import regex

_WORD = re.compile(r"([^\W_]+)(?:['’][^\W\d_]+)?")  # without its ending
_ENDING = re.compile(r"(?<=[^\W_])['’][^\W\d_]+")


def word_set(text: str) -> frozenset[str]:
    """Return the blank-separated words of a text."""
    return frozenset(text.split())


_LISTS = tomllib.loads((Path(__file__).parent / "words.toml").read_text("utf-8"))


def word_list(name: str) -> frozenset[str]:
    """Return a list of `words.toml`."""
    return word_set(_LISTS[name])


FUNCTION_WORDS = word_list("function_words")


_UNSEEN = dict.fromkeys(map(ord, "\u00ad\u2060\ufeff"))  # soft hyphens, word joiners
_LIGATURES = dict(
    zip(range(0xFB00, 0xFB07), ("ff", "fi", "fl", "ffi", "ffl", "st", "st"), strict=True)
)
_VARIANTS = {**_UNSEEN, **_LIGATURES, ord("İ"): "i"}  # whose lower case has a mark of its own
_VARIANT = re.compile(f"[{''.join(map(chr, _VARIANTS))}]")


def lowered(text: str) -> str:
    """Return a text in lower case in which equal words have equal characters.

    Letters with marks are composed (NFC), ligatures are resolved, soft hyphens are left out.
    """
    if text.isascii():
        return text.lower()
    if _VARIANT.search(text):
        text = text.translate(_VARIANTS)
    return unicodedata.normalize("NFC", text).lower()


def words(text: str) -> list[str]:
    """Return words in lower case, without apostrophe endings (`it's`, `don't`).

    Those of scripts without blanks between words are pairs of characters.
    """
    text = lowered(text)
    if not is_plain(text):
        return words_in(_ENDING.sub("", text).replace("_", " "))
    return _WORD.findall(text)


def stem(word: str) -> str:
    """Return a light stem without plural, past and -ing endings: `design` for `designs`."""
    if len(word) <= 3 or not word.isalpha():
        return word
    for ending, replacement in (
        ("sses", "ss"),
        ("ies", "y"),
        ("ing", ""),
        ("ied", "y"),
        ("edly", ""),
        ("ed", ""),
        ("ly", ""),
        ("s", ""),
    ):
        base = word[: -len(ending)]
        if word.endswith(ending) and len(base) >= 3 and not word.endswith(("ss", "us", "is")):
            word = base + replacement
            break
    if len(word) > 4 and word[-1] == word[-2] and word[-1] not in "lsz":
        word = word[:-1]
    return word[:-1] if len(word) > 4 and word.endswith("e") else word


@lru_cache(maxsize=2**14)  # sentences of passages that are read for one question after the other
def content_stems(text: str) -> tuple[str, ...]:
    """Return the stems of the words that are not function words, in order, with repetitions."""
    return tuple(stem(w) for w in words(text) if w not in FUNCTION_WORDS and len(w) > 1)


def count_tokens(text: str) -> int:
    """Return the approximate number of word pieces: one per short word, or per 6 letters.

    Within some 10% of the MiniLM tokenizer on English text, without loading it.
    """
    pieces = re.findall(r"\w+|[^\w\s]", text)
    return len(pieces) + sum(math.ceil(len(p) / 6) - 1 for p in pieces if len(p) > 9)


FILLER_WORDS = word_list("filler_words")

UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}"
"""Scripts without blanks between words, for a set of a regular expression."""
CHARACTER = rf"[{UNSPACED}]\p{{M}}*"
"""One character of these scripts with its marks."""

_PLAIN = re.compile(r"\w+")  # ten times as fast; the same words where this finds nothing:
_OTHER = re.compile("[\u0300-\u1fff\u2c00-\U0010ffff]")
# as `\w+` of `re`, but marks, such as the vowels of Indic scripts, do not end a word
_ANY_WORD = regex.compile(
    rf"(?P<run>(?:{CHARACTER})+)|(?:(?![{UNSPACED}])[\p{{L}}\p{{N}}_]\p{{M}}*)+"
)
_CHARACTER = regex.compile(CHARACTER)
_CASELESS = regex.compile(r"[\p{L}--[\p{Lu}\p{Ll}\p{Lt}\p{Lm}]]", regex.VERSION1)
_CASED = regex.compile(r"[\p{Lu}\p{Ll}\p{Lt}]")


def words_in(text: str) -> list[str]:
    """Return the words of a text in order; those of scripts without blanks as character pairs."""
    if is_plain(text):
        return _PLAIN.findall(text)
    words = []
    for match in _ANY_WORD.finditer(text):
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
