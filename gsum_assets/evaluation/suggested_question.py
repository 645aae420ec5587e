"""A first question on a corpus without questions, built from its words without a model."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gsum_resources.text.keyphrases import Keyphrase, keyphrases
from gsum_resources.text.sentences import read_sentences
from gsum_resources.text.vocabulary import word_set

_N_CHARACTERS = 20_000  # length of a document's beginning that has its key phrases
_N_MENTIONS = (3, 2, 1)  # least number of sentences with a phrase; fewer if no phrase has as many
_N_WORDS = (2, 3)  # least and most words of a phrase
_TITLE_CHARACTERS = 60
_VAGUE = word_set(
    """
    two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen twenty thirty forty fifty hundred
    thousand first second third last next other same high low whole following rest
    january february march april may june july august september october november december
    monday tuesday wednesday thursday friday saturday sunday
    """
)
_ANYTHING = "What are these documents about?"


@dataclass(frozen=True)
class Text:
    """Title and text of a document."""

    title: str
    text: str


@dataclass(frozen=True)
class _Choice:
    """A phrase of one document; `weight` compares phrases of all documents."""

    title: str
    phrase: str
    is_spoken: bool
    n_mentions: int
    weight: float


def suggest_question(documents: Sequence[Text]) -> str:
    """Return a question on a phrase of one of the documents, or a general one.

    The phrase is the most repeated one of its document, weighted by the frequency of its words, and
    occurs in few other documents. The same documents give the same question.
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
            best = max(often, key=lambda choice: (choice.weight, choice.title, choice.phrase))
            return question_about(best.phrase, best.is_spoken, best.title)
    return _ANYTHING


def question_about(phrase: str, is_spoken: bool, title: str = "") -> str:
    """Return a question about a phrase, which names the document if its title is a name."""
    title = " ".join(title.split())
    if is_spoken:
        return f"What was said about {phrase}?"
    is_name = bool(_words(title)) and len(title) <= _TITLE_CHARACTERS
    if not is_name or title.endswith((".", "?", "!", "…")):
        return f"What is written about {phrase}?"
    return f"What does {title} say about {phrase}?"


def _choices(title: str, text: str, texts: Sequence[str]) -> list[_Choice]:
    sentences = read_sentences([text])
    spoken = any(sentence.speaker for sentence in sentences)
    choices = []
    for keyphrase in keyphrases(sentences):
        if not is_specific(keyphrase, title):
            continue
        phrase, n_mentions = keyphrase.phrase.text, len(keyphrase.sentences)
        lowered = phrase[0].lower() + phrase[1:]
        if any(lowered in sentences[i].text for i in keyphrase.sentences):
            phrase = lowered  # no name
        having = sum(keyphrase.phrase.core.casefold() in other for other in texts)
        weight = keyphrase.weight * n_mentions**0.5 / having if having else 0.0
        choices.append(_Choice(title, phrase, spoken, n_mentions, weight))
    return choices


def is_specific(keyphrase: Keyphrase, title: str) -> bool:
    """Return whether a phrase is a whole noun phrase with other words than the title.

    A common noun in the singular without an article ("free program") is only part of a phrase.
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


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]+", text.casefold())
