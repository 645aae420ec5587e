"""Keywords for search: the subjects of a question and related words."""

import re
from collections.abc import Sequence
from dataclasses import replace

from gsum_resources.text.keyphrases import keyphrases
from gsum_resources.text.reading import CONTENTLESS
from gsum_resources.text.sentences import Sentence
from gsum_resources.text.vocabulary import FUNCTION_WORDS, stem

_CONTENT_WORD = re.compile(r"[^\W_]{2,}(?:['’][^\W\d_]+)?")


def keywords(sentences: Sequence[Sentence], limit: int = 10) -> list[str]:
    """Return keyphrases, best first, then the remaining content words, in order.

    Those of questions come first, before those of statements.

    Returns
    -------
    list of str
        As written, each once regardless of its number or tense; empty for a text that requests
        everything, such as "Summarize the whole meeting."
    """
    attributed = [
        replace(s, text=f"{s.speaker}: {s.text}" if s.speaker else s.text) for s in sentences
    ]
    questions = [sentence for sentence in attributed if sentence.text.endswith("?")]
    statements = [sentence for sentence in attributed if not sentence.text.endswith("?")]
    spelling_of: dict[tuple[str, ...], str] = {}
    for group in (questions, statements):
        for keyphrase in keyphrases(group):
            spelling_of.setdefault(tuple(keyphrase.phrase.key.split()), keyphrase.phrase.core)
        covered = {word for key in spelling_of for word in key}
        spellings = (
            re.split("['’]", match[0])[0] for s in group for match in _CONTENT_WORD.finditer(s.text)
        )
        for word in spellings:
            key = stem(word.lower())
            if len(word) > 1 and word.lower() not in FUNCTION_WORDS and key not in covered:
                spelling_of.setdefault((key,), word)
    subjects = [word for key, word in spelling_of.items() if not CONTENTLESS.issuperset(key)]
    return subjects[:limit]
