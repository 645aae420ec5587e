"""Metrics for short answers and multiple choice.

Token F1 and exact match compare normalized words, as SQuAD does (Rajpurkar et al., 2016): lower
case, without punctuation and the articles a, an, the. Each character of a script without blanks
between words, such as Chinese, is a word, and the punctuation of other scripts is dropped, too.
"""

import re
import string
from collections import Counter
from collections.abc import Sequence

import regex

from gsum_assets.evaluation.retrieval_metrics import harmonic_mean
from gsum_resources.text.vocabulary import CHARACTER

LETTERS = string.ascii_uppercase
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_UNSPACED = regex.compile(CHARACTER)
_OTHER_PUNCTUATION = regex.compile(r"[\p{P}--[\x00-\u036f\u2000-\u2bff]]", regex.VERSION1)
_LETTER = re.compile(
    r"\W*(?:(?:the )?(?:correct |right )?(?:answer|option)(?: is)?\W*)?([a-z])\b", re.IGNORECASE
)


def normalized(text: str) -> str:
    """Return a text in lower case, without punctuation and articles, with single blanks."""
    text = _OTHER_PUNCTUATION.sub("", text.lower().translate(_PUNCTUATION))
    return " ".join(_ARTICLES.sub(" ", _UNSPACED.sub(r" \g<0> ", text)).split())


def exact_match(prediction: str, references: Sequence[str]) -> float:
    """Return 1 if the prediction equals any reference after normalization, else 0."""
    return float(normalized(prediction) in {normalized(reference) for reference in references})


def token_f1(prediction: str, references: Sequence[str]) -> float:
    """Return F1 of the shared words of prediction and reference, the maximum over references.

    If one side has no words after normalization, the score is 1 if both have none, else 0.
    """
    predicted = normalized(prediction).split()
    return max(_f1(predicted, normalized(reference).split()) for reference in references)


def _f1(predicted: Sequence[str], reference: Sequence[str]) -> float:
    if not predicted or not reference:
        return float(predicted == reference)
    shared = (Counter(predicted) & Counter(reference)).total()
    return harmonic_mean(shared / len(predicted), shared / len(reference))


def listed(options: Sequence[str]) -> str:
    """Return the options as shown in a question, one line each: `(A) …`."""
    return "\n".join(f"({LETTERS[i]}) {option}" for i, option in enumerate(options))


def chosen_option(reply: str, options: Sequence[str]) -> int | None:
    """Return which option a reply chooses, from 0; None if it is undecidable.

    A reply may begin with the option's letter ("B", "(B) because …", "Answer: b"), be the text of
    an option, or mention one: then the option with the greatest token F1 counts, if it is unique.
    """
    texts = [normalized(option) for option in options]
    if normalized(reply) in texts:
        return texts.index(normalized(reply))
    letter = _LETTER.match(reply)
    if letter and _stands_alone(reply, letter) and letter[1].upper() in LETTERS[: len(options)]:
        return LETTERS.index(letter[1].upper())
    words = normalized(reply).split()
    shares = [_f1(words, text.split()) for text in texts]
    best = max(shares, default=0.0)
    return shares.index(best) if best > 0 and shares.count(best) == 1 else None


def _stands_alone(reply: str, letter: re.Match[str]) -> bool:
    """Return whether a letter is an option: in "A" and "(A) the boat", not in "A boat sank"."""
    before, after = reply[: letter.start(1)], reply[letter.end(1) :]
    return letter[1] not in "Aa" or not re.match(r"\s+\w", after) or bool(before.strip())


def is_right(reply: str, options: Sequence[str], references: Sequence[str]) -> float:
    """Return 1 if the reply chooses an option that is a reference, else 0."""
    chosen = chosen_option(reply, options)
    right = {normalized(reference) for reference in references}
    return float(chosen is not None and normalized(options[chosen]) in right)
