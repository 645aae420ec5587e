"""What the form of a name says: titles and parts of a person's name, and acronyms."""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from gsum_resources.text.vocabulary import FUNCTION_WORDS, word_set

# titles of an office, independent of sex and of the form of the name
_OFFICES = word_set(
    """
    dr prof captain lieutenant sergeant colonel major general admiral commander officer inspector
    detective judge justice president senator governor minister mayor ambassador chancellor rev
    """
)
# titles that distinguish persons with the same name, such as husband and wife
_TELLING = word_set(
    """
    mr mrs ms miss madam sir dame lord lady king queen prince princess saint pope father mother
    brother sister uncle aunt cousin herr frau monsieur señor señora
    """
)
_SPELLINGS = {
    "doctor": "dr",
    "professor": "prof",
    "mister": "mr",
    "capt": "captain",
    "cap": "captain",
    "lt": "lieutenant",
    "sgt": "sergeant",
    "reverend": "rev",
    "mme": "madam",
    "madame": "madam",
    "st": "saint",
    "auntie": "aunt",
}
_TITLES = _OFFICES | _TELLING | _SPELLINGS.keys()
_TITLE = re.compile(rf"({'|'.join(sorted(_TITLES, key=len, reverse=True))})(?:\.\s*|\s+)(?=\w)")
_JOINING = word_set("of the and & or for from in at on to with a an")
_PARTICLES = word_set(
    """
    al ap bin bint d da dal de del della den der des di do dos du el ibn la le san ten ter van von
    y zu
    """
)
_DEGREE = re.compile(r",?\s+(?:ph\.?\s?d|m\.?d|esq)$")
_AFTER = word_set("jr sr ii iii iv")
# words that refer to one of several persons with a name, or to all of them
_OF_SEVERAL = word_set(
    """
    old young little big elder younger senior junior family families clan household couple brothers
    sisters siblings twins children parents boys girls wife husband widow son daughter baby
    """
)

_MOST_LETTERS = 10  # of an acronym
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


class PersonName(NamedTuple):
    """A parsed name of a person.

    Attributes
    ----------
    bare : `name_key` without titles.
    ends : first and last word of several; none of "the mother of Lin".
    is_proper : whether it names one person, unlike "he", "Captain", "Old Lin", "A.", "Speaker 2".
    has_capitals : whether all words but titles and particles begin with a capital if the script has
        them, unlike "Lin woman".
    """

    titles: frozenset[str]
    bare: str
    ends: frozenset[str]
    is_proper: bool
    has_capitals: bool

    @property
    def telling(self) -> frozenset[str]:
        """Titles that distinguish persons with the same name."""
        return self.titles & _TELLING

    @property
    def is_single(self) -> bool:
        """Whether the bare name is one word."""
        return " " not in self.bare


def parse_person(name: str, key: str) -> PersonName:
    """Return a name, with its `name_key`, parsed as that of a person."""
    titles, bare = set(), key
    while match := _TITLE.match(bare):
        titles.add(_SPELLINGS.get(match[1], match[1]))
        bare = bare[match.end() :]
    if match := _DEGREE.search(bare):
        titles.add("dr")
        bare = bare[: match.start()]
    words = [word.strip(".,'’\"“”()") for word in bare.split()]
    proper = [word for word in words if word and word not in _AFTER]
    is_described = not proper or not _JOINING.isdisjoint(words)
    ends = {proper[0], proper[-1]} - _TITLES if len(words) > 1 and not is_described else ()
    is_proper = not (is_described or re.search(r"\d", bare)) and _OF_SEVERAL.isdisjoint(words)
    if len(words) == 1:
        is_initial = len(words[0]) == 1 and words[0].isascii()
        is_proper &= words[0] not in _TITLES | FUNCTION_WORDS and not is_initial
    has_capitals = not any(
        word[0].islower()
        and re.split(r"[-.'’]", word.casefold())[0] not in _TITLES | _PARTICLES | _AFTER
        for word in name.split()
    )
    return PersonName(frozenset(titles), bare, frozenset(ends), is_proper, has_capitals)


def letters_of(short: str) -> str:
    """Return the letters of an acronym without case, for comparison."""
    return "".join(letter for letter in short if letter.isalpha()).casefold()


def is_acronym(name: str) -> bool:
    """Return whether a name is written as an acronym: two to ten letters, two of them capitals."""
    letters = [letter for letter in name if letter.isalpha()]
    capitals = sum(letter.isupper() for letter in letters)
    return len(letters) <= _MOST_LETTERS and capitals >= 2 and not re.search(r"[\s\d_]", name)


def explained(text: str) -> Iterator[tuple[str, str]]:
    """Yield acronyms that a text defines with brackets, in either order, with their long forms.

    The letters are the initials in order; small words and those after a hyphen may be skipped.
    """
    for bracket in _BRACKETS.finditer(text):
        inside = _INSIDE.match(bracket[1])
        if inside and is_acronym(inside[1]):
            before = text[max(0, bracket.start() - _MOST_CHARS) : bracket.start()].rstrip(_QUOTES)
            if long := _long_form(_BREAK.split(before)[-1], inside[1]):
                yield inside[1], long
        before = _BEFORE.search(text, max(0, bracket.start() - 32), bracket.start())
        if before and is_acronym(before[1]):
            clauses = re.split(r"([,;])", bracket[1].strip())
            for n in range(len(clauses), 0, -2):  # all clauses, then without the last ones
                clause = "".join(clauses[:n]).strip(_QUOTES)
                if clause and _long_form(clause, before[1]) == clause:
                    yield before[1], clause
                    break


def _long_form(text: str, short: str) -> str:
    """Return the shortest end of `text` whose initials are the letters of `short`, or ""."""
    letters = letters_of(short)
    if len(short) > 2 and short[-1] == "s" and short[:-1].isupper():
        letters = letters[:-1]  # NGOs
    words = list(_WORD.finditer(text))[-4 * len(letters) :]
    initials = [unicodedata.normalize("NFKD", word["word"])[0].casefold() for word in words]
    is_small = [word["word"].casefold() in _SMALL for word in words]

    @cache
    def spell(start: int, nth: int) -> bool:
        """Return whether the words from `start` on spell the letters from the nth on."""
        if start == len(words) or nth == len(letters):
            return start == len(words) and nth == len(letters)
        if initials[start] == letters[nth] and spell(start + 1, nth + 1):
            return True
        return (is_small[start] or words[start]["joint"] is not None) and spell(start + 1, nth)

    for start in reversed(range(len(words))):
        begins = not is_small[start] or words[start]["word"].casefold() == "the"
        if begins and initials[start] == letters[0] and spell(start + 1, 1):
            return text[words[start].start("word") : words[-1].end()]
    return ""
