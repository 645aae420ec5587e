"""Which simulated questions are worth asking: rules that need no model.

The paper leaves the filtering of meaningless questions to future work (section 6) and proposes
simple rules first and a model's judgement after them; these are the rules.
"""

import re

from gsum_resources.llm.classical.reading import question_aspects
from gsum_resources.llm.classical.vocabulary import content_stems, word_set, words

# Jaccard similarity of content words from which two questions count as the same. Of questions that
# `extractive` wrote at temperature 0.5 about 32 training meetings of QMSum, 67% of the pairs about
# one passage reach it, and 3 of 233,380 pairs about two passages of a meeting.
NEAR_DUPLICATE = 0.7
_SHORTEST, _LONGEST = 10, 400  # characters: scripts without blanks have no words to count
_LEAD = re.compile(
    r"^(?:[\s\"'“”‘’*#>\-–]|\d+[.)]|(?:here is the )?(?:question|query|q)\s*:)+", re.I
)
_MARKS = "?？؟"
_POINTING = word_set("he she it they him her them his their its this that these those there here")
_OWN_CONTENT = 2  # content words that a question with a pronoun must bring along
_ABOUT_THE_PASSAGE = re.compile(
    r"\b(?:the|this|that)(?: \w+)? (?:passage|excerpt|paragraph|snippet)s?\b"
    r"|\bthis (?:text|transcript|document|article|section|chunk|context)\b"
    r"|\b(?:according to|(?:mentioned|described|discussed|stated|presented|outlined|given|shown"
    r"|said|told|contained) in) the (?:\w+ )?(?:text|transcript|document|article|section|chunk"
    r"|context)\b",
    re.IGNORECASE,
)


def question_in(reply: str) -> str:
    """Return the question in a model's reply: its first line that asks, without label and quotes."""
    lines = [line.strip() for line in reply.splitlines() if line.strip()]
    asking = next((line for line in lines if any(mark in line for mark in _MARKS)), "")
    text = _LEAD.sub("", asking or " ".join(lines))
    end = max(text.rfind(mark) for mark in _MARKS)
    return " ".join((text[: end + 1] if end >= 0 else text).split())


def flaw(question: str) -> str | None:
    """Why nobody could answer this question without seeing its passage; None if one could.

    Parameters
    ----------
    question : as `question_in` gives it.

    Returns
    -------
    str or None
        One of "no question", "too short", "too long", "no content", "about the passage" and
        "not self-contained".
    """
    if not question.endswith(tuple(_MARKS)):
        return "no question"
    if len(question) < _SHORTEST:
        return "too short"
    if len(question) > _LONGEST:
        return "too long"
    if not question_aspects(question):
        return "no content"
    if _ABOUT_THE_PASSAGE.search(question):
        return "about the passage"
    if _POINTING & set(words(question)) and len(content_set(question)) < _OWN_CONTENT:
        return "not self-contained"
    return None


def content_set(question: str) -> frozenset[str]:
    """Return stems of the content words, each once."""
    return frozenset(content_stems(question))


def jaccard(left: frozenset[str], right: frozenset[str]) -> float:
    """Return shared members over all members, 0 to 1; two empty sets are equal."""
    return len(left & right) / len(left | right) if left or right else 1.0
