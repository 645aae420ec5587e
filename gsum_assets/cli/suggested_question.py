"""The question that a command suggests: about a phrase that recurs in one document."""

import re
from collections.abc import Iterable, Sequence

from gsum_resources.text.keyphrases import Keyphrase, keyphrases
from gsum_resources.text.sentences import read_sentences
from gsum_resources.text.vocabulary import word_set

_PHRASE_WORDS = (2, 3)  # least and most words of a phrase
_TITLE_CHARACTERS = 60
_BEGINNING = 20_000  # characters of a document whose phrases may be suggested
_OFTEN = 3  # sentences with a phrase that is suggested before those that fewer have
_VAGUE = word_set(
    """
    two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen twenty thirty forty fifty hundred
    thousand first second third last next other same high low whole following rest
    january february march april may june july august september october november december
    monday tuesday wednesday thursday friday saturday sunday
    """
)


def suggest_question(documents: Sequence[tuple[str, str]]) -> str:
    """Return a question on a phrase of one of the documents, or a general one.

    `documents` are title and text of each, in any order; the phrase occurs in few of them.
    """
    beginnings = [text[:_BEGINNING] for _, text in documents]
    folded = [text.casefold() for text in beginnings]
    choices = []
    for (title, _), text in zip(documents, beginnings, strict=True):
        sentences = read_sentences([text])
        is_spoken = any(sentence.speaker for sentence in sentences)
        for keyphrase in keyphrases(sentences):
            if not _is_specific(keyphrase, title):
                continue
            n_mentions = len(keyphrase.sentences)
            having = sum(keyphrase.phrase.core.casefold() in other for other in folded)
            weight = keyphrase.weight * n_mentions**0.5 / having if having else 0.0
            mentions = [sentences[i].text for i in keyphrase.sentences]
            phrase = _within_a_sentence(keyphrase.phrase.text, mentions)
            choices.append((min(n_mentions, _OFTEN), weight, title, phrase, is_spoken))
    if not choices:
        return "What are these documents about?"
    _, _, title, phrase, is_spoken = max(choices)
    return _question_about(phrase, is_spoken, title)


def _question_about(phrase: str, is_spoken: bool, title: str) -> str:
    title = " ".join(title.split())
    if is_spoken:
        return f"What was said about {phrase}?"
    is_name = bool(_letters(title)) and len(title) <= _TITLE_CHARACTERS
    if not is_name or title.endswith((".", "?", "!", "…")):
        return f"What is written about {phrase}?"
    return f"What does {title} say about {phrase}?"


def _is_specific(keyphrase: Keyphrase, title: str) -> bool:
    """Return whether a phrase is a whole noun phrase ("free program" is none), not of the title."""
    phrase, words = keyphrase.phrase, keyphrase.phrase.core.split()
    folded = {word.casefold() for word in words}
    is_whole = phrase.text != phrase.core or phrase.proper or words[-1].endswith("s")
    return (
        is_whole
        and bool(phrase.evidence)
        and _PHRASE_WORDS[0] <= len(words) <= _PHRASE_WORDS[1]
        and _VAGUE.isdisjoint(folded)
        and all(re.fullmatch(r"[^\W\d_]{3,}(?:[-'’][^\W\d_]+)*|of|the", word) for word in words)
        and folded.isdisjoint(_letters(title))
    )


def _letters(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]+", text.casefold())


def _within_a_sentence(phrase: str, sentences: Iterable[str]) -> str:
    """Return a phrase in lower case if one of the sentences that name it has it so."""
    lowered = phrase[0].lower() + phrase[1:]
    return lowered if any(lowered in sentence for sentence in sentences) else phrase
