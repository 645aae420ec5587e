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

# Names of languages in nltk's Snowball stemmers and in `stop_words.json`.
_LANGUAGES = {
    "ar": "arabic",
    "da": "danish",
    "de": "german",
    "en": "english",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "hu": "hungarian",
    "it": "italian",
    "ko": "korean",
    "nl": "dutch",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sv": "swedish",
    "tr": "turkish",
    "zh": "chinese",
}


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
        return _terms(_LANGUAGES.get(self.language.lower().split("-")[0], ""))


class _Terms(dict[str, str]):
    """Cache of the term of each word: its stem, or "" for a stop word.

    Stemming is slow, and a corpus has few distinct words; a dict is twice as fast as `lru_cache`.
    """

    def __init__(self, language: str) -> None:
        super().__init__()
        lists = json.loads((Path(__file__).parent / "stop_words.json").read_text("utf-8"))
        self._stop_words = frozenset(lists.get(language, "").split())
        with _absent("sklearn", "scipy.stats"):
            from nltk.stem.snowball import SnowballStemmer

        has_stemmer = language in SnowballStemmer.languages
        self._stem = SnowballStemmer(language).stem if has_stemmer else str

    def __missing__(self, word: str) -> str:
        if len(self) >= _WORDS_KEPT:
            self.clear()
        self[word] = term = "" if word in self._stop_words else self._stem(word)
        return term


_terms = cache(_Terms)  # one for each language


@contextmanager
def _absent(*modules: str) -> Iterator[None]:
    """Prevent the import of modules that are not loaded yet.

    nltk imports optional modules, which takes longer than answering a question; the parts imported
    here do not use them.
    """
    hidden = [name for name in modules if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type] - None: import fails
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]
