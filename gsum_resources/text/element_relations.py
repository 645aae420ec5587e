"""Relationships between the key elements of a text, by rule: sentences that name two of them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from gsum_resources.protocols.results import Relationship
from gsum_resources.text.noun_phrases import noun_phrases
from gsum_resources.text.rendering import render_sentences
from gsum_resources.text.sentences import Sentence
from gsum_resources.text.vocabulary import FUNCTION_WORDS, stem, word_set

_WORD = re.compile(r"[^\W_]+")
_SKIPPED_WORDS = word_set(
    """
    the a an my your his her its our their i you he she it we they me him us them
    and or but nor so as that this these those which who
    """
)
_MOST_WORDS = 3


@dataclass(frozen=True)
class _Named:
    """A sentence, and the spans of each element in it, as `(start, end)` in characters."""

    sentence: Sentence
    spans: dict[str, list[tuple[int, int]]]


def relate_elements(
    elements: Sequence[str], sentences: Sequence[Sentence], importance: np.ndarray
) -> list[Relationship]:
    """Return a relationship for each pair of elements named by a sentence, first one first.

    Parameters
    ----------
    elements : phrases of the text, matched regardless of number, case and endings.
    importance : `(n_sentences,)` in 0..1; the most important sentence gives the relation.

    Returns
    -------
    list of Relationship
        Both ends are spelt as in `elements`. Relation: at most three words between the two that
        belong to no noun phrase, verbs if there are any; "with" if there is no word. Strength:
        the number of sentences that name both, at most 10.
    """
    named = [_Named(sentence, _spans(sentence.text, elements)) for sentence in sentences]
    relationships = []
    for left, right in combinations(elements, 2):
        both = [i for i, n in enumerate(named) if n.spans[left] and n.spans[right]]
        if not both:
            continue
        best = named[max(both, key=lambda i: (importance[i], -i))]
        source, target = sorted((left, right), key=lambda name: best.spans[name][0])
        relationships.append(
            Relationship(
                source=source,
                target=target,
                relation=_relation(best, source, target),
                description=render_sentences([best.sentence]),
                strength=min(10, len(both)),
            )
        )
    return relationships


def _spans(text: str, elements: Sequence[str]) -> dict[str, list[tuple[int, int]]]:
    words = [(stem(match[0].lower()), *match.span()) for match in _WORD.finditer(text)]
    stems = [each for each, _, _ in words]
    spans = {}
    for element in elements:
        wanted = [stem(word.lower()) for word in _WORD.findall(element)]
        size = len(wanted)
        spans[element] = [
            (words[i][1], words[i + size - 1][2])
            for i in range(len(stems) - size + 1)
            if wanted and stems[i : i + size] == wanted
        ]
    return spans


def _relation(named: _Named, source: str, target: str) -> str:
    """Return the words between the target and the last mention of the source before it.

    Of the runs of words between noun phrases, the first with content words, such as verbs, is used.
    """
    text, end = named.sentence.text, named.spans[target][0][0]
    start = max(last for first, last in named.spans[source] if first <= end)
    phrases = [(p.start, p.start + len(p.core)) for p in noun_phrases(text)]
    runs: list[list[str]] = [[]]
    for match in _WORD.finditer(text, start, end):
        if any(first <= match.start() < last for first, last in phrases):
            runs.append([])
        elif len(match[0]) > 1 and match[0].lower() not in _SKIPPED_WORDS:
            runs[-1].append(match[0])
    runs = [run for run in runs if run] or [["with"]]
    content_runs = [run for run in runs if not FUNCTION_WORDS.issuperset(map(str.lower, run))]
    return " ".join((content_runs or runs)[0][:_MOST_WORDS])
