"""Keyphrases: noun phrases weighed by frequency, length, spread and their sentences' centrality."""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gsum_resources.llm.classical.noun_phrases import NounPhrase, noun_phrases
from gsum_resources.llm.classical.sentences import Sentence

_LENGTH_FACTOR = {1: 0.7, 2: 1.2, 3: 1.2}  # a word alone is seldom specific


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

    The weight of a phrase is the sum over its words of ln(1 + frequency), as in RAKE a word
    counts wherever it stands, times a factor for evidence that it is a noun phrase, for names,
    and for the importance of the sentences around it.

    Parameters
    ----------
    sentences : of one passage or of several.
    importance : `(n_sentences,)` in 0..1, such as the centrality; None weighs them equally.
    """
    importance = np.ones(len(sentences)) if importance is None else importance
    mentions: defaultdict[str, list[tuple[int, NounPhrase]]] = defaultdict(list)
    for index, sentence in enumerate(sentences):
        for phrase in noun_phrases(sentence.text):
            mentions[phrase.key].append((index, phrase))
    frequency: Counter[str] = Counter()
    for key, found in mentions.items():
        for word in key.split():
            frequency[word] += len(found)
    ranked = []
    for key, found in mentions.items():
        parts = key.split()
        evidence = any(phrase.evidence for _, phrase in found)
        known = sum(math.log1p(frequency[word]) for word in parts) / len(parts) ** 0.5
        weight = known * (1.0 if evidence else 0.5) * _LENGTH_FACTOR.get(len(parts), 1.0)
        weight *= 0.5 + 0.5 * max(importance[i] for i, _ in found)
        form = max(
            (phrase for _, phrase in found), key=lambda p: (p.evidence, p.text.startswith("the "))
        )
        ranked.append(Keyphrase(form, weight, tuple(dict.fromkeys(i for i, _ in found))))
    return sorted(ranked, key=lambda k: (-k.weight, k.phrase.key))


def distinct(ranked: Sequence[Keyphrase], count: int) -> list[Keyphrase]:
    """Return the first `count` keyphrases of which none shares a word with an earlier one."""
    chosen: list[Keyphrase] = []
    used: set[str] = set()
    for candidate in ranked:
        parts = set(candidate.phrase.key.split())
        if parts and not parts & used:
            chosen.append(candidate)
            used |= parts
        if len(chosen) == count:
            break
    return chosen
