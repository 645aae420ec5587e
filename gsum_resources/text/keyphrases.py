"""Keyphrases: noun phrases weighted by frequency, length and their sentences' centrality."""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gsum_resources.text.noun_phrases import NounPhrase, noun_phrases
from gsum_resources.text.sentences import Sentence

_LENGTH_FACTOR = {1: 0.7, 2: 1.2, 3: 1.2}  # a single word is seldom specific


@dataclass(frozen=True)
class Keyphrase:
    """A phrase, its weight (higher is better) and the indices of the sentences that use it."""

    phrase: NounPhrase
    weight: float
    sentences: tuple[int, ...]


def keyphrases(
    sentences: Sequence[Sentence], importance: np.ndarray | None = None
) -> list[Keyphrase]:
    """Return all keyphrases of a text, best first.

    The weight of a phrase is the sum over its words of ln(1 + frequency), where as in RAKE every
    occurrence of a word counts, times factors for evidence that it is a noun phrase, for names, and
    for the importance of its sentences.

    Parameters
    ----------
    importance : `(n_sentences,)` in 0..1, such as the centrality; None weights all equally.
    """
    importance = np.ones(len(sentences)) if importance is None else importance
    mentions: defaultdict[str, list[tuple[int, NounPhrase]]] = defaultdict(list)
    for index, sentence in enumerate(sentences):
        for phrase in noun_phrases(sentence.text):
            mentions[phrase.key].append((index, phrase))
    frequency: Counter[str] = Counter()
    for key, occurrences in mentions.items():
        for word in key.split():
            frequency[word] += len(occurrences)
    ranked = []
    for key, occurrences in mentions.items():
        words = key.split()
        evidence = any(phrase.evidence for _, phrase in occurrences)
        known = sum(math.log1p(frequency[word]) for word in words) / len(words) ** 0.5
        weight = known * (1.0 if evidence else 0.5) * _LENGTH_FACTOR.get(len(words), 1.0)
        weight *= 0.5 + 0.5 * max(importance[i] for i, _ in occurrences)
        form = max(
            (phrase for _, phrase in occurrences),
            key=lambda p: (p.evidence, p.text.startswith("the ")),
        )
        ranked.append(Keyphrase(form, weight, tuple(dict.fromkeys(i for i, _ in occurrences))))
    return sorted(ranked, key=lambda k: (-k.weight, k.phrase.key))


def distinct(ranked: Sequence[Keyphrase], count: int) -> list[Keyphrase]:
    """Return the first `count` keyphrases that share no word with an earlier one."""
    chosen: list[Keyphrase] = []
    used: set[str] = set()
    for candidate in ranked:
        words = set(candidate.phrase.key.split())
        if words and not words & used:
            chosen.append(candidate)
            used |= words
        if len(chosen) == count:
            break
    return chosen
