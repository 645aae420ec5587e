"""Names mentioned in a corpus: homonyms among them, and those that name nothing.

The extractive model lists every noun phrase of a chunk; the whole corpus shows which matter.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa

from gsum_assets.corpus.chunk import default_tokenizer
from gsum_assets.graphrag.name_forms import PersonName, is_acronym, parse_person
from gsum_assets.graphrag.settings import OTHER
from gsum_resources.llm.extractive import NAME as EXTRACTIVE
from gsum_resources.store.arrow import mapping
from gsum_resources.text.entities import UNTYPED
from gsum_resources.text.noun_phrases import precedes_noun
from gsum_resources.text.vocabulary import FUNCTION_WORDS

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

# Pruning: read on the sample corpora (docs/graphrag-entities.md)
_TOKEN = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*|[^\w\s]")
_MOST_COMMON = 0.1  # share of the most frequent word of a language, by Zipf's law
_RAREST = 20_000  # rank of words that the vocabulary lacks
_KEY_RATIO, _KEY_DEVIANCE = 5.0, 15.1  # times the expected chunks; chi-squared at p = 0.0001
_CERTAIN_RATIO = 8.0
_BURST = 0.8  # share of the documents that random placement of the same chunks would reach
_LEAST_RECURRENCES = 2
_LONGEST_ACRONYM = 5  # letters
_MANY = 8  # documents that show what is boilerplate
_AS_NOUN = 0.2  # share of a word's occurrences that are a noun phrase by themselves


@dataclass
class Name:
    """A name with its mentions; guessed if the extractive model alone mentions it.

    Attribute `contexts`: groups of its documents, if it may be of several entities.
    """

    key: str
    spellings: Counter[str] = field(default_factory=Counter)
    types: Counter[str] = field(default_factory=Counter)
    chunks_by_document: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    is_guessed: bool = True
    contexts: Sequence[Set[str]] = ()

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
    def documents(self) -> Set[str]:
        """Documents that mention the name."""
        return self.chunks_by_document.keys()

    @cached_property
    def person(self) -> PersonName:
        """The name parsed as that of a person."""
        return parse_person(self.name, self.bare_key)

    @cached_property
    def is_person(self) -> bool | None:
        """Whether at least three quarters of the mentions with a type are of a person, if any."""
        n_typed = sum(n for kind, n in self.types.items() if kind not in ("", OTHER))
        return self.types[PERSON] >= _MOST * n_typed if n_typed else None

    @property
    def is_proper_person(self) -> bool:
        """Whether it names one person, and may be merged with other names of that person."""
        return bool(self.is_person) and self.person.is_proper

    def differs_in_kind(self, other: "Name") -> bool:
        """Return whether one of two names is a person's and the other a typed thing's."""
        return {self.is_person, other.is_person} == {True, False}

    @property
    def is_acronym(self) -> bool:
        """Whether it is usually written as an acronym, unlike "us"."""
        written = sum(n for name, n in self.spellings.items() if is_acronym(name))
        return written >= _MOST * self.spellings.total()

    def rank(self) -> tuple:
        """Return a sort key that puts the main name of an entity before its aliases."""
        outside, _, inside = self.bare_key.partition("(")
        lengths = len(self.person.bare.partition("(")[0].split()), len(outside.split())
        return *(-length for length in lengths), bool(inside), -self.spellings.total(), self.key


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
    entity_ids = mapping(aliases, "name_key", "entity_id")
    return lambda key, kind: entity_ids.get(sense_key(key, kind)) or entity_ids[key]


def mentioned_names(mentions: pa.Table) -> dict[str, Name]:
    """Return the names in `graphrag.entity_mentions` by key, sorted.

    Mentions as a person, an event, or a place or organization are of two entities if at least a
    quarter of them agree in each of two senses. The sense of most mentions keeps the name, and
    those with another type. Fewer mentions of a sense, and types of the extractive model, count as
    errors.
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


def pruned(names: Mapping[str, Name], chunks: pa.Table) -> set[str]:
    """Return the keys of names of the extractive model that are left out of the graph.

    A name with a capital is included unless it is a single word that the corpus has at least as
    often in lower case, or one in capitals throughout in a single chunk. Any other noun phrase must
    recur in chunks that are no neighbours. A single word must be in three chunks, and in more than
    expected from English at large: the deviance of Dunning (1993) against Zipf's law over the ranks
    of the packaged vocabulary. If it is only moderately frequent, it must be concentrated on few
    documents. A phrase once in each of most documents is boilerplate.
    """
    candidates = {key: name for key, name in names.items() if name.is_guessed}
    texts, position_of = chunks["text"].to_pylist(), mapping(chunks, "chunk_id", "position")
    lower, upper, as_noun, in_chunks = _word_counts({k for k in candidates if " " not in k}, texts)
    n_words = sum(len(text.split()) for text in texts) / max(1, len(texts))
    n_documents = len({d for name in names.values() for d in name.documents})

    def is_key_word(key: str, name: Name) -> bool:
        n_chunks = len(name.chunks)
        expected = len(texts) * (1 - math.exp(-n_words * _MOST_COMMON / _rank(key)))
        reached = n_documents * (1 - (1 - 1 / n_documents) ** n_chunks)
        is_certain = in_chunks[key] > _CERTAIN_RATIO * expected
        return (
            n_chunks > 2
            and as_noun[key] >= _AS_NOUN * lower[key]
            and _deviance(in_chunks[key], expected) > _KEY_DEVIANCE
            and in_chunks[key] > _KEY_RATIO * expected
            and (is_certain or len(name.documents) <= _BURST * reached)
        )

    def is_supported(key: str, name: Name) -> bool:
        n_chunks, documents = len(name.chunks), len(name.documents)
        if not name.name.islower():
            is_shouted = len(key) > _LONGEST_ACRONYM and name.name.isupper() and n_chunks == 1
            is_common = " " not in key and lower[key] >= max(1, upper[key])
            return not (is_shouted or is_common)
        is_boilerplate = 2 * documents > n_documents >= _MANY and n_chunks == documents
        if is_boilerplate or _recurrences(name, position_of) < _LEAST_RECURRENCES:
            return False
        return " " in key or is_key_word(key, name)

    return {key for key, name in candidates.items() if not is_supported(key, name)}


def _recurrences(name: Name, position_of: Mapping[str, int]) -> int:
    """Return the number of chunks that mention a name, without neighbours of counted ones."""
    n = 0
    for chunk_ids in name.chunks_by_document.values():
        last = -2
        for position in sorted(map(position_of.__getitem__, chunk_ids)):
            if position - last > 1:
                n, last = n + 1, position
    return n


def _word_counts(words: Collection[str], texts: Iterable[str]) -> tuple[Counter[str], ...]:
    """Count words in lower case, capitalized in a sentence, as noun phrases, and their chunks."""
    lower, upper, as_noun, in_chunks = (Counter[str]() for _ in range(4))
    for text in texts:
        tokens = ["", *_TOKEN.findall(text), "."]
        of_chunk = set()
        for before, token, after in zip(tokens, tokens[1:], tokens[2:], strict=False):
            word = token.casefold()
            if word not in words:
                continue
            if token != word:
                upper[word] += before[:1].isalpha() or before == ","
                continue
            of_chunk.add(word)
            lower[word] += 1
            ends = after in FUNCTION_WORDS or (not after.isalpha() and after != ",")
            as_noun[word] += ends and precedes_noun(before)
        in_chunks.update(of_chunk)
    return lower, upper, as_noun, in_chunks


def _rank(word: str) -> int:
    """Return the rank of a word by frequency in English, which the vocabulary is ordered by."""
    first, index = (default_tokenizer().token_to_id(known) for known in ("the", word))
    return _RAREST if index is None or first is None or index < first else index - first + 1


def _deviance(observed: float, expected: float) -> float:
    """Return the deviance of a Poisson count from a smaller expected one, else 0."""
    if observed <= expected:
        return 0.0
    return 2 * (observed * math.log(observed / expected) - (observed - expected))
