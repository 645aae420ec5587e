"""Names as a corpus mentions them, and groups of them that are one entity's."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa

from gsum_assets.graphrag.acronyms import is_acronym
from gsum_assets.graphrag.persons import PersonName, take_apart
from gsum_assets.graphrag.settings import OTHER

PERSON = "person"
_MOST = 0.75  # share of a name's mentions that must agree on what it is


@dataclass
class Name:
    """What the corpus has of one name.

    Attributes
    ----------
    places : document to those of its chunks that mention the name.
    """

    key: str
    spellings: Counter[str] = field(default_factory=Counter)
    types: Counter[str] = field(default_factory=Counter)
    places: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    @cached_property
    def name(self) -> str:
        """As it is written most often."""
        return min(self.spellings, key=lambda spelling: (-self.spellings[spelling], spelling))

    @property
    def chunks(self) -> set[str]:
        """Those that mention it."""
        return set().union(*self.places.values())

    @property
    def n_mentions(self) -> int:
        """Mentions of it."""
        return self.spellings.total()

    @cached_property
    def person(self) -> PersonName:
        """It, read as the name of a person."""
        return take_apart(self.name, self.key)

    @cached_property
    def is_typed(self) -> bool:
        """Whether any mention says what it is."""
        return any(kind not in ("", OTHER) for kind in self.types)

    @cached_property
    def is_person(self) -> bool:
        """Whether the mentions that say what it is say so, by three quarters."""
        typed = sum(n for kind, n in self.types.items() if kind not in ("", OTHER))
        return 0 < _MOST * typed <= self.types[PERSON]

    @cached_property
    def is_acronym(self) -> bool:
        """Whether it is written as one; "us" is not."""
        written = sum(n for name, n in self.spellings.items() if is_acronym(name))
        return written >= _MOST * self.n_mentions

    def rank(self) -> tuple:
        """Sorts the name that should stand for all before its aliases."""
        outside, _, inside = self.key.partition("(")
        lengths = len(self.person.bare.partition("(")[0].split()), len(outside.split())
        return *(-length for length in lengths), bool(inside), -self.n_mentions, self.key


@dataclass(frozen=True)
class Link:
    """Why two names are one entity's."""

    rule: str
    evidence: Sequence[str]


class Groups:
    """Names and those that they are merged with.

    Parameters
    ----------
    apart : pairs of keys that no group may hold both of.
    """

    def __init__(self, keys: Iterable[str], apart: Iterable[tuple[str, str]]) -> None:
        self._members = {key: [key] for key in keys}
        self._root = {key: key for key in self._members}
        self.links: defaultdict[str, dict[str, Link]] = defaultdict(dict)
        self._enemies: defaultdict[str, set[str]] = defaultdict(set)
        for one, other in apart:
            self._enemies[one].add(other)
            self._enemies[other].add(one)

    def group(self, key: str) -> Sequence[str]:
        """Those merged with a name, itself included."""
        return self._members[self._root[key]]

    def may_join(self, one: str, other: str) -> bool:
        """Return whether two names are in different groups that may be merged."""
        return self._root[one] != self._root[other] and not any(
            self._root.get(enemy) == self._root[other]
            for key in self.group(one)
            if key in self._enemies
            for enemy in self._enemies[key]
        )

    def join(self, one: str, other: str, link: Link) -> None:
        """Merge the groups of two names."""
        small, large = sorted(
            (self._root[one], self._root[other]), key=lambda r: len(self.group(r))
        )
        for key in self._members[small]:
            self._root[key] = large
        self._members[large] += self._members.pop(small)
        self.links[one][other] = self.links[other][one] = link

    def __iter__(self) -> Iterator[Sequence[str]]:
        return iter(self._members.values())


def mentioned_names(mentions: pa.Table) -> dict[str, Name]:
    """Return names by their keys, in order of these, of `graphrag.entity_mentions`."""
    columns = ("name_key", "name", "type", "chunk_id", "document_id")
    names: dict[str, Name] = {}
    for key, name, kind, chunk, document in zip(
        *(mentions[column].to_pylist() for column in columns), strict=True
    ):
        known = names.get(key) or names.setdefault(key, Name(key))
        known.spellings[name] += 1
        known.types[kind] += 1
        known.places[document].add(chunk)
    return dict(sorted(names.items()))
