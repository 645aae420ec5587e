"""A corpus of any size, and an embedder that knows its words: the same on every machine.

A document mixes three sources of words: English as a whole, by Zipf's law; the words of its topics,
of which each of its sections has one; and names of its own. So passages of a topic resemble one
another, those of a document more, and a larger corpus has more topics and more distinct words.
"""

import json
from collections.abc import Iterator, Sequence
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

N_WORDS = 3000
"""Words of a document."""

_DOCUMENTS_PER_TOPIC = 20
_SECTION, _SENTENCE, _PARAGRAPH = 300, 15, 5  # words, words, sentences
_N_COMMON = 250  # the most frequent words, which carry no topic
_TOPIC_WORDS, _NAMES = 300, 25
_SHARES = (0.55, 0.35, 0.1)  # of words of all, of the topic, of the document
_N_RARE = 400_000  # compounds that no dictionary has


class Document(NamedTuple):
    """One document: its sections' topics and its names, the most frequent first."""

    document_id: str
    text: str
    topics: Sequence[int]
    names: Sequence[str]


def document(number: int, n_documents: int) -> Document:
    """The document of that number in a corpus that began with `n_documents`."""
    random = np.random.default_rng([1, number])
    n_topics = max(8, n_documents // _DOCUMENTS_PER_TOPIC)
    topics = random.choice(n_topics, 3, replace=False)
    names = [word.capitalize() for word in _rare(random.integers(_N_RARE, size=_NAMES))]
    words: list[str] = []
    for section in range(N_WORDS // _SECTION):
        words += _section(random, int(topics[section % len(topics)]), names)
    return Document(f"d{number:06d}", _written(words), topics.tolist(), names)


def write_corpus(folder: Path, n_documents: int, n_questions: int) -> None:
    """Put `documents.jsonl` and `queries.jsonl` into a folder.

    Three questions of four are about all documents, the others about one; each has a sentence of
    a document for its reference.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "documents.jsonl").open("w") as file:
        for number in range(n_documents):
            generated = document(number, n_documents)
            file.write(
                json.dumps({"document_id": generated.document_id, "text": generated.text}) + "\n"
            )
    with (folder / "queries.jsonl").open("w") as file:
        for number in range(n_questions):
            file.write(json.dumps(_question(number, n_documents, n_questions)) + "\n")


def _question(number: int, n_documents: int, n_questions: int) -> dict:
    subject = document(number * n_documents // n_questions, n_documents)
    first, second = (_topic(topic)[1] for topic in subject.topics[:2])
    row = {
        "query_id": f"q{number:03d}",
        "text": f"What did {subject.names[0]} say of {first} and {second}?",
        "references": [subject.text.split(". ")[number]],
        "relevant_document_ids": [subject.document_id],
    }
    return row | ({"document_id": subject.document_id} if number % 4 == 3 else {})


def _section(random: np.random.Generator, topic: int, names: Sequence[str]) -> Iterator[str]:
    """Words, each from one of the three sources."""
    sources = random.choice(3, _SECTION, p=_SHARES)
    common, of_topic = _vocabulary(), _topic(topic)
    ranks = _zipf(random, _SECTION, len(common) + _N_RARE)
    ranks_of = _zipf(random, _SECTION, _TOPIC_WORDS)
    own = _zipf(random, _SECTION, _NAMES)
    for source, rank, topic_rank, name in zip(sources, ranks, ranks_of, own, strict=True):
        if source == 0:
            yield common[rank] if rank < len(common) else _rare([rank - len(common)])[0]
        else:
            yield of_topic[int(topic_rank)] if source == 1 else names[int(name)]


def _zipf(random: np.random.Generator, size: int, n: int) -> np.ndarray:
    """Ranks from 0 below `n`, each as frequent as (rank + 2.7)^-1.25 (Zipf and Mandelbrot)."""
    return np.searchsorted(_cumulated(n), random.random(size))


@lru_cache
def _cumulated(n: int) -> np.ndarray:
    shares = (np.arange(n) + 2.7) ** -1.25
    return np.cumsum(shares) / shares.sum()


@lru_cache(maxsize=1)
def _vocabulary() -> list[str]:
    """Whole words of the packaged embedder, most frequent first, as it lists them."""
    from gsum_assets.corpus.chunk import default_tokenizer

    ranks_of = default_tokenizer().get_vocab()
    known = (word for word in sorted(ranks_of, key=ranks_of.__getitem__) if len(word) > 1)
    return [word for word in known if word.isascii() and word.isalpha()]


def _rare(numbers: Sequence[int] | np.ndarray) -> list[str]:
    """Compounds of two words, each number its own."""
    words = _vocabulary()
    return [words[2000 + n % 4001] + words[6001 + n // 4001 * 37 % 8009] for n in map(int, numbers)]


@cache
def _topic(number: int) -> list[str]:
    """The words of a topic, most frequent first."""
    words = _vocabulary()[_N_COMMON:]
    random = np.random.default_rng([2, number])
    return [words[i] for i in random.choice(len(words), _TOPIC_WORDS, replace=False)]


def _written(words: Sequence[str]) -> str:
    """Sentences in paragraphs."""
    sentences = [" ".join(words[at : at + _SENTENCE]) for at in range(0, len(words), _SENTENCE)]
    marked = [sentence[0].upper() + sentence[1:] + "." for sentence in sentences]
    groups = (marked[at : at + _PARAGRAPH] for at in range(0, len(marked), _PARAGRAPH))
    return "\n\n".join(" ".join(group) for group in groups)


class WordVectors:
    """An embedder without weights: the sum of a text's words, each a random direction.

    The words that are everywhere count nothing, so that texts of a topic lie close.
    """

    identity = "benchmark-word-vectors-1"
    dimension = 384

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}

    @cached_property
    def _directions(self) -> np.ndarray:
        """`(2^15, 384)`; several words share one."""
        random = np.random.default_rng(3)
        directions = random.standard_normal((2**15, self.dimension), np.float32)
        directions[0] = 0
        return directions

    @cached_property
    def _common(self) -> frozenset[str]:
        return frozenset(_vocabulary()[:_N_COMMON])

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Unit vectors, float32 `(n_texts, 384)`."""
        vectors = np.empty((len(texts), self.dimension), np.float32)
        for row, text in zip(vectors, texts, strict=True):
            ranks_of = [self._row(word) for word in text.lower().replace(".", " ").split()]
            row[:] = self._directions[ranks_of].sum(axis=0)
            row /= np.linalg.norm(row) or 1.0
        return vectors

    def embed_queries(self, texts: Sequence[str]) -> np.ndarray:
        """As texts."""
        return self.embed([text.replace("?", " ") for text in texts])

    def _row(self, word: str) -> int:
        if word not in self._rows:
            number = int.from_bytes(word.encode(), "big") % (2**61 - 1)
            self._rows[word] = 0 if word in self._common else 1 + number % (2**15 - 1)
        return self._rows[word]
