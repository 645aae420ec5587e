"""Assertions met: which of the statements that a right answer makes an answer says.

By rule, without a language model: an answer says a statement if one of its runs of sentences
supports it, has some of its words besides those of the question, has its figures, and is not its
negation. A judge decides it by reading, see
`judges/ratings.py`.
"""

import re
from collections.abc import Sequence

from gsum_assets.evaluation.support import Support
from gsum_resources.text.sentences import split_sentences
from gsum_resources.text.speech import without_names
from gsum_resources.text.vocabulary import content_stems

# Least support, of 0 to 2. Chosen on 118 sentences of reference answers to 20 questions of five
# stories of SQuALITY train: another writer's answer to the same question has it for 60% of them, an
# answer to another question on the same story for 30%. By the share met an answer to the same
# question is above the other with a probability of 0.81; thresholds from 0.5 to 0.75 are similar.
_LEAST = 0.7
# Least share of the content words that the question does not have. On 580 such sentences of 25
# stories of SQuALITY train: 53% of the sentences have it, and 39% with the other answer.
_LEAST_NEW = 0.2
_SAME = 0.8  # share of content words by which one sentence may be the negation of another
_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")
_NEGATION = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|neither|nor|without|cannot)\b|n['’]t\b", re.IGNORECASE
)


def assertions_met(
    assertions: Sequence[str], answer: str, support: Support, question: str = ""
) -> float:
    """Return the share of assertions that an answer to a question says, 0 to 1.

    Parameters
    ----------
    assertions : at least one.
    """
    met = [is_met(assertion, answer, support, question) for assertion in assertions]
    return sum(met) / len(met)


def is_met(assertion: str, answer: str, support: Support, question: str = "") -> bool:
    """Return whether an answer to a question says a statement."""
    value, _, span = support.of(assertion, [answer])
    said = answer[slice(*span)]
    if value < _LEAST or not _figures(assertion) <= _figures(said):
        return False
    stems = frozenset(content_stems(without_names(assertion)))
    new = stems - frozenset(content_stems(question)) or stems
    if len(new & frozenset(content_stems(said))) < _LEAST_NEW * len(new):
        return False
    shares = [
        (len(stems & frozenset(content_stems(sentence))) / max(1, len(stems)), sentence)
        for sentence in split_sentences(said)
    ]
    share, nearest = max(shares, key=lambda item: item[0])
    is_negated = bool(_NEGATION.search(assertion)) != bool(_NEGATION.search(nearest))
    return share < _SAME or not is_negated


def _figures(text: str) -> frozenset[str]:
    return frozenset(_FIGURE.findall(text.replace(",", "")))
