"""Names mentioned in a corpus, homonyms among them, and groups of names of one entity."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa

from gsum_assets.graphrag.acronyms import is_acronym
from gsum_assets.graphrag.persons import PersonName, take_apart
from gsum_assets.graphrag.settings import OTHER
from gsum_resources.llm.extractive import NAME as EXTRACTIVE
from gsum_resources.text.entities import UNTYPED

PERSON = "person"
SENSES: Mapping[str, str] = {
    PERSON: PERSON,
    "event": "event",
    "place": "place",
    "location": "place",
    "geo": "place",
    "organization": "place",
}
"""What an entity of a type is besides its name. A body and its seat often share name and facts."""
_MOST = 0.75  # share of a name's mentions that must agree on its type


@dataclass
class Name:
    """A name with its mentions in the corpus.

    Attributes
    ----------
    key : `name_key`, with a sense if most mentions of the name are of another entity.
    chunks_by_document : chunks that mention the name, by document.
    is_guessed : whether the extractive model alone mentions it.
    """

    key: str
    spellings: Counter[str] = field(default_factory=Counter)
    types: Counter[str] = field(default_factory=Counter)
    chunks_by_document: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    is_guessed: bool = True

    @cached_property
    def name(self) -> str:
        """The most frequent spelling."""
        return min(self.spellings, key=lambda spelling: (-self.spellings[spelling], spelling))

    @property
    def title(self) -> str:
        """The name, with its most frequent type if most mentions are of another entity."""
        if self.bare_key == self.key:
            return self.name
        kind = min(self.types, key=lambda kind: (-self.types[kind], kind))
        return f"{self.name} ({kind})"

    @property
    def bare_key(self) -> str:
        """`name_key` of the name."""
        return self.key.partition(" [")[0] if self.key.endswith("]") else self.key

    @property
    def chunks(self) -> set[str]:
        """Chunks that mention the name."""
        return set().union(*self.chunks_by_document.values())

    @property
    def n_mentions(self) -> int:
        """Number of mentions."""
        return self.spellings.total()

    @cached_property
    def person(self) -> PersonName:
        """The name parsed as that of a person."""
        return take_apart(self.name, self.bare_key)

    @cached_property
    def is_typed(self) -> bool:
        """Whether any mention has a type."""
        return any(kind not in ("", OTHER) for kind in self.types)

    @cached_property
    def is_person(self) -> bool:
        """Whether at least three quarters of the mentions with a type are of a person."""
        typed = sum(n for kind, n in self.types.items() if kind not in ("", OTHER))
        return 0 < _MOST * typed <= self.types[PERSON]

    @cached_property
    def is_acronym(self) -> bool:
        """Whether it is usually written as an acronym, unlike "us"."""
        written = sum(n for name, n in self.spellings.items() if is_acronym(name))
        return written >= _MOST * self.n_mentions

    def rank(self) -> tuple:
        """Return a sort key that puts the main name of an entity before its aliases."""
        outside, _, inside = self.bare_key.partition("(")
        lengths = len(self.person.bare.partition("(")[0].split()), len(outside.split())
        return *(-length for length in lengths), bool(inside), -self.n_mentions, self.key


@dataclass(frozen=True)
class Link:
    """Reason why two names are of one entity."""

    rule: str
    evidence: Sequence[str]


class Groups:
    """Groups of merged names.

    Parameters
    ----------
    apart : pairs of keys that must not be in one group.
    """

    def __init__(self, keys: Iterable[str], apart: Iterable[tuple[str, str]]) -> None:
        self._members = {key: [key] for key in keys}
        self._root = {key: key for key in self._members}
        self.links: defaultdict[str, dict[str, Link]] = defaultdict(dict)
        self._enemies: defaultdict[str, set[str]] = defaultdict(set)
        for first, second in apart:
            self._enemies[first].add(second)
            self._enemies[second].add(first)

    def group(self, key: str) -> Sequence[str]:
        """Return the keys merged with a name, including itself."""
        return self._members[self._root[key]]

    def may_join(self, first: str, second: str) -> bool:
        """Return whether two names are in different groups that may be merged."""
        return self._root[first] != self._root[second] and not any(
            self._root.get(enemy) == self._root[second]
            for key in self.group(first)
            if key in self._enemies
            for enemy in self._enemies[key]
        )

    def join(self, first: str, second: str, link: Link) -> None:
        """Merge the groups of two names."""
        small, large = sorted(
            (self._root[first], self._root[second]), key=lambda r: len(self.group(r))
        )
        for key in self._members[small]:
            self._root[key] = large
        self._members[large] += self._members.pop(small)
        self.links[first][second] = self.links[second][first] = link

    def __iter__(self) -> Iterator[Sequence[str]]:
        return iter(self._members.values())


def sense_key(key: str, kind: str | None) -> str:
    """Return the key of a homonym; no `name_key` ends in a bracket."""
    sense = SENSES.get(kind or "")
    return f"{key} [{sense}]" if sense else key


def is_unknown(kind: str, model: str) -> bool:
    """Return whether a type says nothing: the extractive model calls any name a thing."""
    return model == EXTRACTIVE and kind == UNTYPED


def are_homonyms(first: str, other: str) -> bool:
    """Return whether entities of these types differ, though they share a name."""
    return first in SENSES and other in SENSES and SENSES[first] != SENSES[other]


def entity_finder(aliases: pa.Table) -> Callable[[str, str | None], str | None]:
    """Return a function from the name_key and the type of a mention to its entity_id, if any."""
    columns = (aliases[column].to_pylist() for column in ("name_key", "entity_id"))
    entity_ids = dict(zip(*columns, strict=True))
    return lambda key, kind: entity_ids.get(sense_key(key, kind)) or entity_ids[key]


def mentioned_names(mentions: pa.Table) -> dict[str, Name]:
    """Return the names in `graphrag.entity_mentions` by key, sorted.

    Mentions of a name as a person, an event, or a place or organization are of two entities if
    at least a quarter of them, in each of two senses, agree. The sense of most mentions keeps the
    name, and those with another type. A few mentions of a third sense count as errors, and so do
    the types of the extractive model, which guesses them from the words beside a name.
    """
    columns = ("name_key", "name", "type", "chunk_id", "document_id", "model")
    rows = list(zip(*(mentions[column].to_pylist() for column in columns), strict=True))
    senses: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for key, _, kind, _, _, model in rows:
        if kind in SENSES and model != EXTRACTIVE:
            senses[key][SENSES[kind]] += 1
    apart: dict[str, set[str]] = {}  # the senses that are of another entity than most mentions
    for key, counts in senses.items():
        real = {sense for sense, n in counts.items() if n >= (1 - _MOST) * counts.total()}
        apart[key] = real - {min(real, key=lambda sense: (-counts[sense], sense))}
    names: dict[str, Name] = {}
    for key, name, kind, chunk, document, model in rows:
        if SENSES.get(kind) in apart.get(key, ()):
            key = sense_key(key, kind)
        entry = names.get(key) or names.setdefault(key, Name(key))
        entry.spellings[name] += 1
        entry.types["" if is_unknown(kind, model) else kind] += 1
        entry.is_guessed &= model == EXTRACTIVE
        entry.chunks_by_document[document].add(chunk)
    return dict(sorted(names.items()))
