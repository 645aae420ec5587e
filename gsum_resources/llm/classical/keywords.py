"""Keywords to search for: what a question names, and what it says of that."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from gsum_resources.llm.classical.keyphrases import keyphrases
from gsum_resources.llm.classical.reading import CONTENTLESS
from gsum_resources.llm.classical.sentences import Sentence
from gsum_resources.llm.classical.vocabulary import FUNCTION_WORDS, stem


def keywords(sentences: Sequence[Sentence], limit: int = 10) -> list[str]:
    """Return keyphrases, best first, then the words of content that none of them holds, in order.

    Those of sentences that ask come first, before what is told or offered as an answer around
    them.

    Parameters
    ----------
    sentences : of a question, or of any text.
    limit : keywords at most.

    Returns
    -------
    list of str
        As written, each once whatever its number or tense; empty for a text that only asks for
        everything, as "Summarize the whole meeting."
    """
    said = [replace(s, text=f"{s.speaker}: {s.text}" if s.speaker else s.text) for s in sentences]
    asking = [sentence for sentence in said if sentence.text.endswith("?")]
    telling = [sentence for sentence in said if not sentence.text.endswith("?")]
    found: dict[tuple[str, ...], str] = {}
    for part in (asking, telling):
        for keyphrase in keyphrases(part):
            found.setdefault(tuple(keyphrase.phrase.key.split()), keyphrase.phrase.core)
        held = {word for key in found for word in key}
        for key, word in _content_words(part):
            if key not in held:
                found.setdefault((key,), word)
    return [written for key, written in found.items() if not CONTENTLESS.issuperset(key)][:limit]


def _content_words(sentences: Sequence[Sentence]) -> Iterator[tuple[str, str]]:
    """Yield stem and spelling of each word that says something."""
    for sentence in sentences:
        for match in re.finditer(r"[^\W_]{2,}(?:['’][^\W\d_]+)?", sentence.text):
            word = re.split("['’]", match[0])[0]
            if len(word) > 1 and word.lower() not in FUNCTION_WORDS:
                yield stem(word.lower()), word
