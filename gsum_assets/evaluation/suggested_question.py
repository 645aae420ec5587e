"""A question to begin with, about a corpus that has none: made from its own words, by no model."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gsum_resources.llm.classical.keyphrases import Keyphrase, keyphrases
from gsum_resources.llm.classical.sentences import Sentence, read_sentences
from gsum_resources.llm.classical.vocabulary import word_set

_N_CHARACTERS = 20_000  # of a document; its key phrases stand there already
_N_MENTIONS = (3, 2, 1)  # sentences that a phrase stands in; fewer where none stands in as many
_N_WORDS = (2, 3)  # of a phrase: one word is seldom specific, four are seldom a phrase
_TITLE_CHARACTERS = 60
_VAGUE = word_set(
    """
    two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred
    thousand first second third last next other same high low whole following
    """
)
_ANYTHING = "What are these documents about?"


@dataclass(frozen=True)
class Text:
    """A document, as far as a question about it needs it."""

    title: str
    text: str


@dataclass(frozen=True)
class _Choice:
    """A phrase of one document. `weight` compares phrases of all documents."""

    title: str
    phrase: str
    is_spoken: bool
    n_mentions: int
    weight: float


def suggest_question(documents: Sequence[Text]) -> str:
    """Return a question that one of the documents answers, or where no phrase is found, any does.

    The phrase is the one that its document repeats most, weighed by its words' frequency, and
    that few of the other documents have. The same documents give the same question.
    """
    texts = [document.text[:_N_CHARACTERS] for document in documents]
    folded = [text.casefold() for text in texts]
    choices = [
        choice
        for document, text in zip(documents, texts, strict=True)
        for choice in _choices(document.title, text, folded)
    ]
    for n_mentions in _N_MENTIONS:
        if often := [choice for choice in choices if choice.n_mentions >= n_mentions]:
            return _worded(
                max(
                    often,
                    key=lambda keyphrase: (keyphrase.weight, keyphrase.title, keyphrase.phrase),
                )
            )
    return _ANYTHING


def _choices(title: str, text: str, texts: Sequence[str]) -> list[_Choice]:
    sentences = read_sentences([text])
    spoken = any(sentence.speaker for sentence in sentences)
    return [
        _Choice(
            title,
            _shown(keyphrase, sentences),
            spoken,
            len(keyphrase.sentences),
            _weight(keyphrase, texts),
        )
        for keyphrase in keyphrases(sentences)
        if _is_specific(keyphrase, title)
    ]


def _is_specific(keyphrase: Keyphrase, title: str) -> bool:
    """Return whether a phrase can be asked about: a whole noun phrase of words beside the title's.

    A common noun in the singular without an article ("free program") is a piece of a phrase.
    """
    words = keyphrase.phrase.core.split()
    is_whole = (
        keyphrase.phrase.text != keyphrase.phrase.core
        or keyphrase.phrase.proper
        or words[-1].endswith("s")
    )
    return (
        is_whole
        and bool(keyphrase.phrase.evidence)
        and _N_WORDS[0] <= len(words) <= _N_WORDS[1]
        and not _VAGUE & {word.casefold() for word in words}
        and all(re.fullmatch(r"[^\W\d_]{3,}(?:[-'’][^\W\d_]+)*|of|the", word) for word in words)
        and not {word.casefold() for word in words} & set(_words(title))
    )


def _weight(keyphrase: Keyphrase, texts: Sequence[str]) -> float:
    having = sum(keyphrase.phrase.core.casefold() in text for text in texts)
    return keyphrase.weight * len(keyphrase.sentences) ** 0.5 / having if having else 0.0


def _shown(keyphrase: Keyphrase, sentences: Sequence[Sentence]) -> str:
    """Return the phrase with its article, in lower case where only a sentence's begin raised it."""
    phrase = keyphrase.phrase.text
    lowered = phrase[0].lower() + phrase[1:]
    inner = (sentences[i].text for i in keyphrase.sentences)
    return lowered if any(lowered in text for text in inner) else phrase


def _worded(choice: _Choice) -> str:
    title = " ".join(choice.title.split())
    if choice.is_spoken:
        return f"What was said about {choice.phrase}?"
    is_name = bool(_words(title)) and len(title) <= _TITLE_CHARACTERS
    if not is_name or title.endswith((".", "?", "!", "…")):
        return f"What is written about {choice.phrase}?"
    return f"What does {title} say about {choice.phrase}?"


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]+", text.casefold())
