"""Acronyms defined in a text: "Tennessee Valley Authority (TVA)", "TVA (Tennessee Valley …)"."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gsum_resources.text.vocabulary import word_set

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
    """An acronym and its long form as written."""

    short: str
    long: str

    @property
    def letters(self) -> str:
        """The letters of the acronym without case, for comparison."""
        return _letters(self.short).casefold()


def is_acronym(name: str) -> bool:
    """Return whether a name is written as an acronym: two to ten letters, two of them capitals."""
    letters = _letters(name)
    capitals = sum(letter.isupper() for letter in letters)
    return len(letters) <= _MOST_LETTERS and capitals >= 2 and not re.search(r"[\s\d_]", name)


def explained(text: str) -> Iterator[Explained]:
    """Yield the acronyms that a text defines with brackets, in either order.

    The letters are the initials in order; small words and words after a hyphen may be skipped.
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
            for clause in _shorter_texts(bracket[1]):
                if _long_form(clause, before[1]) == clause:
                    yield Explained(before[1], clause)
                    break


def _shorter_texts(inside: str) -> Iterator[str]:
    """Yield a bracketed text, then the text without its last clause, and so on."""
    clause = inside.strip()
    while clause:
        yield clause.strip(_QUOTES)
        clause = clause[: max(clause.rfind(","), clause.rfind(";"), 0)].rstrip()


def _long_form(text: str, short: str) -> str:
    """Return the end of `text` whose initials are the letters of `short`, or an empty text."""
    letters = _letters(short).casefold()
    if len(short) > 2 and short[-1] == "s" and short[:-1].isupper():
        letters = letters[:-1]  # NGOs
    words = list(_WORD.finditer(text))[-4 * len(letters) :]
    start = _start(letters, words)
    return text[words[start].start("word") : words[-1].end()] if start is not None else ""


def _start(letters: str, words: Sequence[re.Match[str]]) -> int | None:
    """Return the index of the word for the first letter; the last word is for the last letter.

    Letters are matched from the end, skipping small words where possible, so that "Bank of America"
    is found for BOA and for BA, and does not begin with a small word.
    """
    if not words or _initial(words[-1]["word"]) != letters[-1]:
        return None
    reached = {len(words) - 1}
    for letter in reversed(letters[:-1]):
        earlier = set()
        for index in reached:
            for nearer in range(index - 1, -1, -1):
                if _initial(words[nearer]["word"]) == letter:
                    earlier.add(nearer)
                is_small = words[nearer]["word"].casefold() in _SMALL
                if not is_small and words[nearer]["joint"] is None:
                    break
        reached = earlier
    begins = [index for index in reached if words[index]["word"].casefold() not in _SMALL - {"the"}]
    return max(begins, default=None)


def _initial(word: str) -> str:
    return unicodedata.normalize("NFKD", word)[0].casefold()


def _letters(short: str) -> str:
    return "".join(letter for letter in short if letter.isalpha())
