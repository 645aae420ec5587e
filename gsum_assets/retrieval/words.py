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
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

_WORD = re.compile(r"\w+")

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
        """The terms of `text` in order, repeated as often as they occur."""
        language = _LANGUAGES.get(self.language.lower().split("-")[0], "")
        terms = [
            term for word in _WORD.findall(text.lower()) if (term := _term(word, language)) != ""
        ]
        if self.bigrams:
            return terms + [f"{first} {second}" for first, second in pairwise(terms)]
        return terms


@lru_cache(maxsize=2**18)  # stemming is slow, and a corpus has few distinct words
def _term(word: str, language: str) -> str:
    """The stem of `word`, or "" if it is a stop word."""
    if word in _stop_words(language):
        return ""
    stemmer = _stemmer(language)
    return word if stemmer is None else stemmer.stem(word)


@lru_cache
def _stop_words(language: str) -> frozenset[str]:
    from bm25s import stopwords

    # bm25s' short English list of 33 words lacks "what", "who", "how": words every question has.
    name = "STOPWORDS_EN_PLUS" if language == "english" else f"STOPWORDS_{language.upper()}"
    return frozenset(getattr(stopwords, name, ()))


@lru_cache
def _stemmer(language: str):
    from nltk.stem.snowball import SnowballStemmer

    return SnowballStemmer(language) if language in SnowballStemmer.languages else None
