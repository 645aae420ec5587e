"""Acronyms that a text explains: "Tennessee Valley Authority (TVA)", "TVA (Tennessee Valley …)"."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gsum_resources.llm.classical.vocabulary import word_set

_MOST_LETTERS = 10
_MOST_CHARS = 200  # of a long form
_SHORT = r"[^\W\d_](?:[.&-]{0,2}[^\W\d_]){1,10}"
_INSIDE = re.compile(
    r"\s*(?:(?:the|or|hereafter|abbreviated(?: as)?)\s+)?"
    rf"[\"'“‘]?({_SHORT})\.?[\"'”’]?\s*(?:[,;]|$)"
)
_BRACKETS = re.compile(rf"[(（]([^()（）]{{2,{_MOST_CHARS}}})[)）]")
_BEFORE = re.compile(rf"(?<![\w.&-])({_SHORT})\.?\s?$")
_WORD = re.compile(r"(?P<joint>[-‐‑'’])?(?P<word>[^\W_]+)")
_BREAK = re.compile(r"[.;:!?()（）\[\]\"“”]|\n\s*\n")
_QUOTES = " \n\"'“”‘’»"
_SMALL = word_set(
    """
    a an and at by d da das de del der des di do dos du e et f for in l la las le les los of on or
    para per pour s the to und von y zu
    """
)


class Explained(NamedTuple):
    """An acronym and what it is short for, both as they are written."""

    short: str
    long: str

    @property
    def letters(self) -> str:
        """The acronym without marks and case; what is compared."""
        return _letters(self.short).casefold()


def is_acronym(name: str) -> bool:
    """Return whether a name is written as an acronym: two to ten letters, two of them capitals."""
    letters = _letters(name)
    capitals = sum(letter.isupper() for letter in letters)
    return len(letters) <= _MOST_LETTERS and capitals >= 2 and not re.search(r"[\s\d_]", name)


def explained(text: str) -> Iterator[Explained]:
    """Yield the acronyms that a text explains by brackets, on either side.

    The letters are the initials in order; small words and what follows a hyphen may be skipped.
    """
    for bracket in _BRACKETS.finditer(text):
        inside = _INSIDE.match(bracket[1])
        if inside and is_acronym(inside[1]):
            before = text[max(0, bracket.start() - _MOST_CHARS) : bracket.start()].rstrip(_QUOTES)
            breaks = list(_BREAK.finditer(before))
            if long := _long_form(before[breaks[-1].end() if breaks else 0 :], inside[1]):
                yield Explained(inside[1], long)
        before = _BEFORE.search(text, max(0, bracket.start() - 32), bracket.start())
        if before and is_acronym(before[1]):
            for part in _parts(bracket[1]):
                if _long_form(part, before[1]) == part:
                    yield Explained(before[1], part)
                    break


def _parts(inside: str) -> Iterator[str]:
    """What stands in brackets, then without its last clause, and so on."""
    part = inside.strip()
    while part:
        yield part.strip(_QUOTES)
        part = part[: max(part.rfind(","), part.rfind(";"), 0)].rstrip()


def _long_form(text: str, short: str) -> str:
    """Return the end of `text` whose initials are the letters of `short`; empty: there is none."""
    letters = _letters(short).casefold()
    if len(short) > 2 and short[-1] == "s" and short[:-1].isupper():
        letters = letters[:-1]  # NGOs
    words = list(_WORD.finditer(text))[-4 * len(letters) :]
    start = _start(letters, words)
    return text[words[start].start("word") : words[-1].end()] if start is not None else ""


def _start(letters: str, words: Sequence[re.Match[str]]) -> int | None:
    """Place of the word that has the first letter; the last word has the last one.

    From the end, the words that `n` letters may have been met by: small ones are rather skipped,
    so that "Bank of America" is found for BOA and for BA, and begins with no small word.
    """
    if not words or _initial(words[-1]["word"]) != letters[-1]:
        return None
    reached = {len(words) - 1}
    for letter in reversed(letters[:-1]):
        earlier = set()
        for place in reached:
            for nearer in range(place - 1, -1, -1):
                if _initial(words[nearer]["word"]) == letter:
                    earlier.add(nearer)
                if not _is_small(words[nearer]):
                    break
        reached = earlier
    begins = [place for place in reached if words[place]["word"].casefold() not in _SMALL - {"the"}]
    return max(begins, default=None)


def _is_small(word: re.Match[str]) -> bool:
    return word["joint"] is not None or word["word"].casefold() in _SMALL


def _initial(word: str) -> str:
    return unicodedata.normalize("NFKD", word)[0].casefold()


def _letters(short: str) -> str:
    return "".join(letter for letter in short if letter.isalpha())
