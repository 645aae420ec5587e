"""What the tasks share: the sentences of a request with their vectors, and its question."""

import re
from dataclasses import dataclass

import numpy as np

from gsum_resources.llm.classical.sentences import Sentence
from gsum_resources.llm.classical.vocabulary import (
    FUNCTION_WORDS,
    content_stems,
    stem,
    word_set,
    words,
)

# A question of these words alone asks for a summary of everything: nothing in it can be searched.
CONTENTLESS = frozenset(
    stem(word)
    for word in word_set(
        """
        summarize summarise summary summarization sum recap overview outline brief
        briefly short concise describe explain discuss discussed discussion discussions
        talk talked meeting meetings conversation conversations transcript transcripts
        story stories tale narrative novel book chapter plot document documents text
        texts article articles report reports paper papers passage passages chunk chunks
        content contents context corpus collection main key important central major
        focus topic topics theme themes point points gist essence resolutions conclusion
        conclusions outcome outcomes happen happens happened occur occurs events event
        entire overall general complete write provide give generate present please
        answer question following words sentences paragraph
        """
    )
)


@dataclass(frozen=True)
class Reading:
    """A request as the classical tasks see it.

    Attributes
    ----------
    sentences : in document order as far as the passages tell it.
    vectors : unit vectors of the sentences, `(n_sentences, dim)`.
    question : as asked.
    aspects : unit vectors of the question's parts, `(n_aspects, dim)`; no rows for a question
        without content words, which asks for everything.
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
    """Return the parts of a question that can be searched for; none if it only says "summarize".

    A question may carry a list of topics after it, one a line or set off by semicolons; each is
    an aspect of its own, so that a summary can serve them all.
    """
    parts = [p.strip() for p in re.split(r"[\n;•]|(?<=[.?!])\s", question)]
    return [part for part in parts if _searchable(part)]


def _searchable(part: str) -> bool:
    content = {stem(w) for w in words(part) if w not in FUNCTION_WORDS}
    return bool(content - CONTENTLESS) and bool(content_stems(part))
