"""How the word-based baselines split a text: words, stop words, stems, bigrams.

Chosen on development data only, by BM25 with its usual k1 and b:

* ODSum-Story, 250 questions of the train stories, sections, P@3 / P@10: every word 73.5 / 46.8,
  without stop words 73.9 / 48.0, stems as well 74.1 / 48.6, bigrams as well 77.2 / 49.4;
* QMSum train, 1,095 specific questions, passages of 190 words inside their meeting, P@6 / MRR:
  words of one letter (a speaker's "C") dropped 25.0 / 58.0, kept 25.1 / 58.2; bigrams lowered
  P@6 by 0.4.

So stems and no stop words are the default; bigrams are a setting, for corpora whose questions
quote titles and full names.
"""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

_WORD = re.compile(r"\w+")
_WORDS_KEPT = 2**18  # about 40 MB

# Names of languages as nltk's Snowball stemmers and bm25s' stop word lists have them.
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

    A language without a stop word list or a stemmer goes without. Scripts that write no spaces
    (Chinese, Japanese, Thai) come out as whole runs, and are better served by `dense`.

    Attributes
    ----------
    language : BCP 47 code, as in `corpus.toml`; only its first part counts.
    bigrams : also count pairs of neighbouring terms, joined by a blank.
    """

    language: str = "en"
    bigrams: bool = False

    def split(self, text: str) -> list[str]:
        """The terms of `text` in order, repeated as often as they occur; then pairs of them."""
        terms = self.terms(text)
        if self.bigrams:
            return terms + [f"{first} {second}" for first, second in pairwise(terms)]
        return terms

    def terms(self, text: str) -> list[str]:
        """The terms of `text` without pairs."""
        term_of = self._terms
        return [term for word in self.find(text) if (term := term_of[word]) != ""]

    def find(self, text: str) -> list[str]:
        """The words of `text` in lower case, stop words too."""
        return _WORD.findall(text.lower())

    def term_of(self, word: str) -> str:
        """What a word counts as: its stem, or "" for a stop word."""
        return self._terms[word]

    @property
    def _terms(self) -> "_Terms":
        return _terms(_LANGUAGES.get(self.language.lower().split("-")[0], ""))


class _Terms(dict[str, str]):
    """The term of each word met so far: its stem, or "" for a stop word.

    Stemming is slow, and a corpus has few distinct words; a plain dict answers twice as fast as
    `lru_cache`.
    """

    def __init__(self, language: str) -> None:
        super().__init__()
        self._stop_words = _stop_words(language)
        self._stemmer = _stemmer(language)

    def __missing__(self, word: str) -> str:
        if len(self) >= _WORDS_KEPT:
            self.clear()
        if word in self._stop_words:
            term = ""
        else:
            term = word if self._stemmer is None else self._stemmer.stem(word)
        self[word] = term
        return term


_terms = lru_cache(_Terms)  # one for each language


def _stop_words(language: str) -> frozenset[str]:
    from bm25s import stopwords

    # bm25s' short English list of 33 words lacks "what", "who", "how": words every question has.
    name = "STOPWORDS_EN_PLUS" if language == "english" else f"STOPWORDS_{language.upper()}"
    return frozenset(getattr(stopwords, name, ()))


def _stemmer(language: str):
    with _absent("sklearn", "scipy.stats"):
        from nltk.stem.snowball import SnowballStemmer

    return SnowballStemmer(language) if language in SnowballStemmer.languages else None


@contextmanager
def _absent(*modules: str) -> Iterator[None]:
    """Let imports inside do without modules that are not loaded yet.

    nltk imports all that it can use, which takes longer than a question to answer; what is
    imported here uses neither.
    """
    hidden = [name for name in modules if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type] - None: import fails
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]
