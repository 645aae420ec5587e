"""Keywords for search: the subjects of a question and related words."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from gsum_resources.text.keyphrases import keyphrases
from gsum_resources.text.reading import CONTENTLESS
from gsum_resources.text.sentences import Sentence
from gsum_resources.text.vocabulary import FUNCTION_WORDS, stem


def keywords(sentences: Sequence[Sentence], limit: int = 10) -> list[str]:
    """Return keyphrases, best first, then the remaining content words, in order.

    Those of questions come first, before those of statements.

    Parameters
    ----------
    sentences : sentences of a question, or of any text.
    limit : maximum number of keywords.

    Returns
    -------
    list of str
        As written, each once regardless of its number or tense; empty for a text that requests
        everything, such as "Summarize the whole meeting."
    """
    said = [replace(s, text=f"{s.speaker}: {s.text}" if s.speaker else s.text) for s in sentences]
    questions = [sentence for sentence in said if sentence.text.endswith("?")]
    statements = [sentence for sentence in said if not sentence.text.endswith("?")]
    found: dict[tuple[str, ...], str] = {}
    for group in (questions, statements):
        for keyphrase in keyphrases(group):
            found.setdefault(tuple(keyphrase.phrase.key.split()), keyphrase.phrase.core)
        held = {word for key in found for word in key}
        for key, word in _content_words(group):
            if key not in held:
                found.setdefault((key,), word)
    return [written for key, written in found.items() if not CONTENTLESS.issuperset(key)][:limit]


def _content_words(sentences: Sequence[Sentence]) -> Iterator[tuple[str, str]]:
    """Yield stem and spelling of each content word."""
    for sentence in sentences:
        for match in re.finditer(r"[^\W_]{2,}(?:['’][^\W\d_]+)?", sentence.text):
            word = re.split("['’]", match[0])[0]
            if len(word) > 1 and word.lower() not in FUNCTION_WORDS:
                yield stem(word.lower()), word
