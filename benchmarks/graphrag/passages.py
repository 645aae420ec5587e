"""The passages that both sides index, and what an extraction finds in each.

Entities are names, the words of the sample corpora that are only ever capitalized, and the longest
other words, which stand for things and topics. The corpora are shorter than required, so they
repeat with most of the names changed.
"""

import re
import zlib
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice, pairwise
from pathlib import Path
from typing import NamedTuple

from gsum_assets.corpus.chunk import chunk_by_tokens, default_tokenizer

N_PASSAGES = 338
N_TOKENS = 300  # word pieces, the passage's own number aside
MOST_TOKENS = 400  # a limit that no passage reaches in either vocabulary
MOST_NAMES, MOST_ENTITIES, MOST_RELATIONSHIPS = 5, 8, 6
N_MISSED = 2  # entities that only a gleaning finds
TYPES = ("person", "organization", "event")  # known to both

_CORPORA = Path(__file__).parents[2] / "data" / "corpora"
_ENDINGS = ("", "ton", "by", "ley", "mouth")  # of names, in turn with each repetition
_NUMBER = re.compile(r"Passage (\d{3})\.")
_SENTENCE = re.compile(r"[^.!?\n]+[.!?\n]*")


class Entity(NamedTuple):
    """An extracted entity."""

    name: str
    type: str
    description: str


class Relationship(NamedTuple):
    """An extracted relationship of two names."""

    source: str
    target: str
    description: str
    strength: int


class Extraction(NamedTuple):
    """Contents of one reply about a passage."""

    entities: Sequence[Entity]
    relationships: Sequence[Relationship]


@cache
def passages() -> tuple[str, ...]:
    """`N_PASSAGES` texts of about `N_TOKENS` word pieces, each beginning with its number."""
    texts = tuple(islice(_texts(), N_PASSAGES))
    return tuple(f"Passage {number:03d}.\n{text}" for number, text in enumerate(texts))


def number_of(prompt: str) -> int | None:
    """Which passage a prompt shows, or None."""
    found = _NUMBER.search(prompt)
    return int(found[1]) if found else None


def extractions(passage: str) -> tuple[Extraction, Extraction]:
    """Contents of the first reply about a passage and of its gleaning."""
    names = list(dict.fromkeys(_name().findall(passage)))[:MOST_NAMES]
    words = sorted(dict.fromkeys(re.findall(r"\b[a-z]{6,}\b", passage)), key=len, reverse=True)
    names = [*names, *words][: MOST_ENTITIES + N_MISSED]
    entities = [_entity(name, passage) for name in names]
    split = MOST_ENTITIES
    pairs = list(pairwise(names[:split]))[:MOST_RELATIONSHIPS]
    missed = list(zip(names[split:], names, strict=False))
    return (
        Extraction(entities[:split], [_relationship(*pair, passage) for pair in pairs]),
        Extraction(entities[split:], [_relationship(*pair, passage) for pair in missed]),
    )


def _texts() -> Iterator[str]:
    text = "\n".join(file.read_text() for file in _files())
    for ending in _ENDINGS:
        renamed = _word().sub(lambda match, end=ending: _renamed(match[0], end), text)
        chunks = chunk_by_tokens("sample", renamed, default_tokenizer(), N_TOKENS, 0)
        yield from (chunk.text for chunk in chunks[:-1])  # the last is shorter


def _files() -> list[Path]:
    return sorted([*_CORPORA.glob("sample-*/*.txt"), *_CORPORA.glob("sample-*/*.md")])


def _renamed(word: str, ending: str) -> str:
    """Two of three names change."""
    return word + ending if zlib.crc32(word.encode()) % 3 else word


@cache
def _words() -> str:
    """Regular expression of capitalized words without a lower-case form in the texts."""
    text = "\n".join(file.read_text() for file in _files())
    common = set(re.findall(r"\b[a-z]+\b", text))
    words = {word for word in re.findall(r"\b[A-Z][a-z]{2,}\b", text) if word.lower() not in common}
    return "|".join(sorted(words))


@cache
def _word() -> re.Pattern:
    return re.compile(rf"\b(?:{_words()})\b")


@cache
def _name() -> re.Pattern:
    """One such word or several in a row, with or without the ending of a repetition."""
    word = rf"(?:{_words()})(?:{'|'.join(_ENDINGS[1:])})?"
    return re.compile(rf"\b{word}(?: {word})*\b")


def _entity(name: str, passage: str) -> Entity:
    kind = TYPES[zlib.crc32(name.encode()) % len(TYPES)]
    said = next(s for s in _SENTENCE.findall(passage) if name in s)
    return Entity(name, kind, f"{name} is named in these words: {_plain(said)}")


def _relationship(source: str, target: str, passage: str) -> Relationship:
    number = number_of(passage)
    description = f"{source} and {target} appear together in passage {number}."
    return Relationship(source, target, description, 1 + (number or 0) % 10)


def _plain(text: str) -> str:
    """Without what delimits tuples in the package's format."""
    return re.sub(r'[()<>|#"]+', " ", text).strip()
