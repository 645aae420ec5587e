"""Rules that reject meaningless simulated questions without a model.

The paper leaves this filtering to future work (section 6) and proposes simple rules followed by a
model's judgement; this module has the rules.
"""

import re

from gsum_resources.text.reading import question_aspects
from gsum_resources.text.vocabulary import content_stems, word_set, words

# Jaccard similarity of content words from which two questions are duplicates. Of questions that
# `extractive` wrote at temperature 0.5 about 32 training meetings of QMSum, 67% of the pairs about
# one passage reach it, and 3 of 233,380 pairs about two passages of a meeting.
NEAR_DUPLICATE = 0.7
_SHORTEST, _LONGEST = 10, 400  # characters, because scripts without blanks have no words to count
_LEAD = re.compile(
    r"^(?:[\s\"'“”‘’*#>\-–]|\d+[.)]|(?:sure|certainly|okay|of course)\s*[!.,:]"
    r"|(?:here(?:['’]s| is) (?:a|the|one|your) )?(?:question|query|q)\b[^:?]{0,40}:)+",
    re.I,
)
_MARKS = "?？؟"
_POINTING = word_set("he she it they him her them his their its this that these those there here")
_OWN_CONTENT = 2  # fewest content words of a question that has a pronoun
_ABOUT_THE_PASSAGE = re.compile(
    r"\b(?:the|this|that)(?: \w+)? (?:passage|excerpt|paragraph|snippet)s?\b"
    r"|\bthis (?:text|transcript|document|article|section|chunk|context)\b"
    r"|\b(?:according to|(?:mentioned|described|discussed|stated|presented|outlined|given|shown"
    r"|said|told|contained) in) the (?:\w+ )?(?:text|transcript|document|article|section|chunk"
    r"|context)\b",
    re.IGNORECASE,
)


def question_in(reply: str) -> str:
    """Return the question in a reply: its first line with a question mark, without a label."""
    lines = [line.strip() for line in reply.splitlines() if line.strip()]
    asking = next((line for line in lines if any(mark in line for mark in _MARKS)), "")
    text = _LEAD.sub("", asking or " ".join(lines))
    end = max(text.rfind(mark) for mark in _MARKS)
    return " ".join((text[: end + 1] if end >= 0 else text).split())


def flaw(question: str) -> str | None:
    """Return why a question cannot be answered without seeing its passage; None if it can.

    Parameters
    ----------
    question : a question as returned by `question_in`.

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
    """Return the distinct stems of the content words."""
    return frozenset(content_stems(question))


def jaccard(left: frozenset[str], right: frozenset[str]) -> float:
    """Return shared members over all members, 0 to 1; two empty sets are equal."""
    return len(left & right) / len(left | right) if left or right else 1.0
