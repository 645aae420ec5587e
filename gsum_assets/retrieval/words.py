"""Tokenization of the word-based baselines: words, stop words, stems, bigrams.

Stems without stop words were chosen on ODSum-Story's train stories and QMSum train.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

from gsum_resources.text.vocabulary import lowered, words_in

_WORDS_KEPT = 2**18  # about 40 MB


@dataclass(frozen=True)
class Words:
    """Splits texts into the terms that BM25 and TF-IDF count.

    Languages without a stop word list or a stemmer are processed without. Words of scripts without
    blanks (Chinese, Japanese, Thai) are overlapping pairs of characters.

    Attributes
    ----------
    language : BCP 47 code, as in `corpus.toml`; only the language subtag counts.
    bigrams : whether to count pairs of neighbouring terms, joined by a blank.
    """

    language: str = "en"
    bigrams: bool = False

    def split(self, text: str) -> list[str]:
        """Return the terms of `text` in order, with repetitions, followed by their pairs."""
        terms = self.terms(text)
        if self.bigrams:
            return terms + [f"{first} {second}" for first, second in pairwise(terms)]
        return terms

    def terms(self, text: str) -> list[str]:
        """Return the terms of `text` without pairs."""
        term_of = self._terms
        return [term for word in self.find(text) if (term := term_of[word]) != ""]

    def find(self, text: str) -> list[str]:
        """Return the words of `text` in lower case, including stop words."""
        return words_in(lowered(text))

    def term_of(self, word: str) -> str:
        """Return the term of a word: its stem, or "" for a stop word."""
        return self._terms[word]

    @property
    def _terms(self) -> "_Terms":
        return _terms(self.language.lower().split("-")[0])


class _Terms(dict[str, str]):
    """Cache of the term of each word, twice as fast as `lru_cache`."""

    def __init__(self, language: str) -> None:
        super().__init__()
        languages = json.loads((Path(__file__).parent / "stop_words.json").read_text("utf-8"))
        known = languages.get(language, {"language": "", "stop_words": ""})
        self._stop_words = frozenset(known["stop_words"].split())
        with _absent("sklearn", "scipy.stats"):
            from nltk.stem.snowball import SnowballStemmer

        name = known["language"]
        self._stem = SnowballStemmer(name).stem if name in SnowballStemmer.languages else str

    def __missing__(self, word: str) -> str:
        if len(self) >= _WORDS_KEPT:
            self.clear()
        self[word] = term = "" if word in self._stop_words else self._stem(word)
        return term


_terms = cache(_Terms)  # one for each language


@contextmanager
def _absent(*modules: str) -> Iterator[None]:
    """Prevent nltk from importing optional modules that are not used, which takes seconds."""
    hidden = [name for name in modules if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type] - None: import fails
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]
