"""Atomic facts: statements of a single fact each, with their key elements."""

import re
from collections.abc import Sequence

import numpy as np

from gsum_resources.protocols.results import Fact, Facts
from gsum_resources.text.noun_phrases import noun_phrases
from gsum_resources.text.selection import SelectionSettings, readability
from gsum_resources.text.sentences import Sentence

_JOINT = re.compile(r"; |, (?:and|but|so) (?=(?:the|it|he|she|they|we|i|this|that|there)\b)", re.I)
_OPEN = re.compile(r"(?:it|this|that|these|those|he|she|they|which|there)\b", re.I)


def extract_facts(sentences: Sequence[Sentence], importance: np.ndarray, limit: int = 12) -> Facts:
    """Return statements that are understandable without context, in document order.

    A compound sentence gives a fact for each main clause. Questions and statements without a key
    element are left out; elements are up to three noun phrases, the speaker first. `importance`,
    `(n_sentences,)` in 0..1, selects facts if there are more than `limit`.
    """
    clear = readability(sentences, SelectionSettings())
    candidates: list[tuple[float, int, Fact]] = []
    for index, sentence in enumerate(sentences):
        if sentence.text.endswith("?") or not sentence.whole:
            continue
        for clause in atomic_statements(sentence.text):
            elements = fact_elements(clause, sentence.speaker)
            if len(clause.split()) < 4 or not elements[bool(sentence.speaker) :]:
                continue
            statement = f"{sentence.speaker}: {clause}" if sentence.speaker else clause
            worth = importance[index] * clear[index] * (0.7 if _OPEN.match(clause) else 1.0)
            candidates.append(
                (worth, len(candidates), Fact(statement=statement, elements=elements))
            )
    best = sorted(candidates, key=lambda f: (-f[0], f[1]))[:limit]
    return Facts(facts=[fact for _, _, fact in sorted(best, key=lambda f: f[1])])


def atomic_statements(sentence: str) -> list[str]:
    """Return main clauses as sentences: "The hull leaks, and it is old." gives two."""
    pieces = [piece.strip(" ,;") for piece in _JOINT.split(sentence)]
    if any(len(piece.split()) < 3 for piece in pieces) or re.search('["“”]', sentence):
        pieces = [sentence.strip()]
    ending = sentence.rstrip()[-1:]
    closed = [
        p if p[-1:] in ".!?…:\"”'" else p + (ending if ending in ".!" else ".") for p in pieces
    ]
    return [piece[0].upper() + piece[1:] for piece in closed if piece]


def fact_elements(statement: str, speaker: str = "", count: int = 3) -> list[str]:
    """Return up to `count` key elements: the speaker, then names, then other noun phrases."""
    phrases = noun_phrases(statement)
    ordered = [p for p in phrases if p.proper] + [p for p in phrases if not p.proper]
    names = [speaker] * bool(speaker) + [p.core for p in ordered]
    return list(dict.fromkeys(names))[:count]
