"""Common input of the tasks: the sentences of a request with their vectors, and its question."""

import re
from dataclasses import dataclass

import numpy as np

from gsum_resources.text.sentences import Sentence
from gsum_resources.text.vocabulary import FUNCTION_WORDS, content_stems, stem, word_list, words

CONTENTLESS = frozenset(map(stem, word_list("contentless")))

_SMALL_TALK = frozenset(map(stem, word_list("small_talk")))
_FACT = re.compile(
    r"(?:who|whom|whose|when|where|which|how (?:many|much|long|old|far|often))\b", re.IGNORECASE
)
_FURTHER = re.compile(r",|;|\b(?:and|or|why|how)\b|\?\s*\S", re.IGNORECASE)
_BRACKETS = re.compile(r"\s*\([^()]*\)$")


@dataclass(frozen=True)
class Reading:
    """Input of the classical tasks for one request.

    Attributes
    ----------
    sentences : in document order as far as the passages determine it.
    vectors : unit vectors of the sentences, `(n_sentences, dim)`.
    aspects : unit vectors of the question's aspects, `(n_aspects, dim)`; no rows for a question
        without content words, which requests everything.
    """

    sentences: list[Sentence]
    vectors: np.ndarray
    question: str
    aspects: np.ndarray

    @property
    def text(self) -> str:
        """All sentences, without speakers."""
        return " ".join(sentence.text for sentence in self.sentences)


def question_aspects(question: str) -> list[str]:
    """Return the searchable sections of a question; none if it only says "summarize".

    Each of a list of topics, one per line or separated by semicolons, is a separate aspect.
    """
    sections = [p.strip() for p in re.split(r"[\n;•]|(?<=[.?!])\s", question)]
    return [
        section
        for section in sections
        if content_stems(section)
        and not CONTENTLESS.issuperset(stem(w) for w in words(section) if w not in FUNCTION_WORDS)
    ]


def says_nothing(sentence: Sentence) -> bool:
    """Return whether a speaker says no more than "Good point", or names himself."""
    said = {*content_stems(sentence.text)} - _SMALL_TALK
    return bool(sentence.speaker) and said <= {*content_stems(sentence.speaker)}


def is_fact(question: str) -> bool:
    """Return whether a question requests a single fact.

    "Who was made responsible?" does; "Who was made responsible, and why?" does not. Words in
    brackets at the end, which say what a follow-up is about, are not part of the request.
    """
    text = without_brackets(question)
    begins = _FACT.match(text)
    return begins is not None and not asks_further(text[begins.end() :])


def without_brackets(question: str) -> str:
    """Return a question without words in brackets at its end, which a follow-up was given."""
    return _BRACKETS.sub("", question.strip())


def asks_further(rest: str) -> bool:
    """Return whether the rest of a question requests more than its beginning: "and why?"."""
    return _FURTHER.search(rest) is not None
