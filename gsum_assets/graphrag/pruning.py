"""Names of the extractive model that are left out, as the corpus shows that they name nothing.

The model reads one chunk and lists every noun phrase that might matter. Only the whole corpus shows
which of them do, so they are judged where mentions are merged, from all chunks: a document added or
deleted may change the verdict, and an update equals a rebuild. Names of language models and of
files are kept.
"""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from gsum_assets.corpus.chunk import default_tokenizer
from gsum_assets.graphrag.name_groups import Name
from gsum_resources.text.noun_phrases import precedes_noun
from gsum_resources.text.vocabulary import FUNCTION_WORDS

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


@dataclass(frozen=True)
class _WordCounts:
    """Occurrences of words, by word: in lower case, capitalized inside a sentence, as noun phrases.

    `chunks` counts chunks with the word in lower case.
    """

    lower: Counter[str] = field(default_factory=Counter)
    upper: Counter[str] = field(default_factory=Counter)
    as_noun: Counter[str] = field(default_factory=Counter)
    chunks: Counter[str] = field(default_factory=Counter)


def pruned(names: Mapping[str, Name], chunks: pa.Table) -> set[str]:
    """Return the keys of names that are left out of the graph.

    A name with a capital is kept unless it is a single word that the corpus has at least as often
    in lower case, or one in capitals throughout in a single chunk.

    Any other noun phrase must recur in chunks that are no neighbours, which may overlap. A single
    word must be in three chunks, and in more than expected from English at large: the deviance of
    Dunning (1993) against Zipf's law over the ranks of the packaged vocabulary. If it is only
    moderately frequent, it must be concentrated on few documents. A phrase once in each of most
    documents is boilerplate.

    Parameters
    ----------
    names : all names of the corpus by key.
    chunks : rows of `chunks`.
    """
    candidates = {key: name for key, name in names.items() if name.is_guessed}
    ids, texts = chunks["chunk_id"].to_pylist(), chunks["text"].to_pylist()
    position_of = dict(zip(ids, chunks["position"].to_pylist(), strict=True))
    words = _word_counts({key for key in candidates if " " not in key}, texts)
    n_words = sum(len(text.split()) for text in texts) / max(1, len(texts))
    n_documents = len({d for name in names.values() for d in name.chunks_by_document})
    left_out = set()
    for key, name in candidates.items():
        n_chunks, documents = len(name.chunks), len(name.chunks_by_document)
        if not name.name.islower():
            is_shouted = len(key) > _LONGEST_ACRONYM and name.name.isupper() and n_chunks == 1
            is_common = " " not in key and words.lower[key] >= max(1, words.upper[key])
            is_kept = not (is_shouted or is_common)
        elif _recurrences(name, position_of) < _LEAST_RECURRENCES or (
            2 * documents > n_documents >= _MANY and n_chunks == documents
        ):
            is_kept = False
        elif " " in key:
            is_kept = True
        else:
            expected = len(texts) * (1 - math.exp(-n_words * _MOST_COMMON / _rank(key)))
            reached = n_documents * (1 - (1 - 1 / n_documents) ** n_chunks)
            is_kept = (
                n_chunks > 2
                and words.as_noun[key] >= _AS_NOUN * words.lower[key]
                and _deviance(words.chunks[key], expected) > _KEY_DEVIANCE
                and words.chunks[key] > _KEY_RATIO * expected
                and (words.chunks[key] > _CERTAIN_RATIO * expected or documents <= _BURST * reached)
            )
        if not is_kept:
            left_out.add(key)
    return left_out


def _recurrences(name: Name, position_of: Mapping[str, int]) -> int:
    """Return the number of chunks that mention a name, without neighbours of earlier ones."""
    n = 0
    for chunk_ids in name.chunks_by_document.values():
        last = -2
        for position in sorted(position_of[chunk_id] for chunk_id in chunk_ids):
            if position - last > 1:
                n, last = n + 1, position
    return n


def _word_counts(words: Collection[str], texts: Iterable[str]) -> _WordCounts:
    counts = _WordCounts()
    for text in texts:
        tokens = ["", *_TOKEN.findall(text), "."]
        of_chunk = set()
        for before, token, after in zip(tokens, tokens[1:], tokens[2:], strict=False):
            word = token.casefold()
            if word not in words:
                continue
            if token != word:
                counts.upper[word] += before[:1].isalpha() or before == ","
                continue
            of_chunk.add(word)
            counts.lower[word] += 1
            ends = after in FUNCTION_WORDS or (not after.isalpha() and after != ",")
            counts.as_noun[word] += ends and precedes_noun(before)
        counts.chunks.update(of_chunk)
    return counts


def _rank(word: str) -> int:
    """Return the rank of a word by frequency in English, which the vocabulary is ordered by."""
    first, index = (default_tokenizer().token_to_id(known) for known in ("the", word))
    return _RAREST if index is None or first is None or index < first else index - first + 1


def _deviance(observed: float, expected: float) -> float:
    """Return the deviance of a Poisson count from a smaller expected one, else 0."""
    if observed <= expected:
        return 0.0
    return 2 * (observed * math.log(observed / expected) - (observed - expected))
