"""Parsing of names of persons: titles, the bare name, its first and last word."""

import re
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


class PersonName(NamedTuple):
    """A parsed name of a person.

    Attributes
    ----------
    titles : titles in a normalized spelling.
    bare : `name_key` without titles.
    ends : first and last word of a name of several words; none for a description such as "the
        mother of Lin".
    is_proper : whether it names one person, unlike "he", "Captain", "Old Lin", "A.", "Speaker 2".
    has_capitals : whether each word except titles and particles begins with a capital, unlike the
        description "Lin woman". True in scripts without capitals.
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


def take_apart(name: str, key: str) -> PersonName:
    """Return a parsed name."""
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
