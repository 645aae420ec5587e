"""Entities and their relationships, by rule: names, recurring noun phrases, co-occurrence."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import regex

from gsum_resources.protocols.results import Entities, Entity, Relationship
from gsum_resources.text.keyphrases import keyphrases
from gsum_resources.text.rendering import render_sentences
from gsum_resources.text.sentences import Sentence
from gsum_resources.text.vocabulary import FUNCTION_WORDS

_TYPES = (
    (
        "organization",
        r"inc|ltd|corp|company|committee|university|ministry|department|council|board|institute"
        r"|bank|party|government|agency|association|trust|team|group|school|college|army|navy"
        r"|court|office|cooperative|commission|union|church|club",
    ),
    (
        "place",
        r"river|lake|city|street|road|island|mountain|valley|sea|ocean|bay|county|town|village"
        r"|country|planet|station|harbour|harbor|port|yard|moss|hill|forest|park|square|house"
        r"|landing|bridge|room|north|south|east|west",
    ),
    (
        "event",
        r"meeting|war|conference|election|festival|ceremony|launch|party|trial|attack|battle"
        r"|wedding|voyage|trip|journey|accident|pandemic|crisis|departure|kickoff",
    ),
)
_CAPITALIZED = regex.compile(
    r"\b(?!I\b)\p{Lu}[\w'’.-]*\w(?:(?: of)?(?: the)? (?!I\b)\p{Lu}[\w'’-]*\w)*"
)
_TITLES = r"(?:mr|mrs|ms|miss|dr|prof|professor|captain|admiral|lieutenant|sir|lady|hon|president)"
_SPEAKS = r"(?:said|says|thought|told|who|had|[a-z]{3,}ed)"
_WHERE = r"(?:in|at|near|towards?|across)"


def extract_entities(
    sentences: Sequence[Sentence], importance: np.ndarray, limit: int = 15
) -> Entities:
    """Return the most important entities and the relationships among them.

    Parameters
    ----------
    limit : maximum number of entities; names come before common nouns of equal weight.

    Returns
    -------
    Entities
        The description of an entity consists of its most important sentences (two at most), that
        of a relationship is the most important sentence which names both. Strength: the number
        of shared sentences, at most 10.
    """
    speakers = Counter(s.speaker for s in sentences if s.speaker)
    mentions: dict[str, list[int]] = {}
    for speaker, _ in speakers.most_common(limit):
        mentions[speaker] = [i for i, s in enumerate(sentences) if s.speaker == speaker]
    things = {
        k.phrase.core: list(k.sentences)
        for k in keyphrases(sentences, importance)
        if not k.phrase.proper and k.phrase.evidence
    }
    for name, where in [*proper_names(sentences).items(), *things.items()]:
        if len(mentions) < limit and name.lower() not in {m.lower() for m in mentions}:
            mentions[name] = where
    entities = [
        Entity(
            name=name,
            type="person" if name in speakers else guess_type(name, sentences),
            description=render_sentences([sentences[i] for i in _best(where, importance, 2)]),
        )
        for name, where in mentions.items()
    ]
    return Entities(
        entities=entities, relationships=_relationships(sentences, mentions, importance, limit)
    )


def proper_names(sentences: Sequence[Sentence]) -> dict[str, list[int]]:
    """Return capitalized phrases and the sentences that use them, the most frequent first.

    A capital at the start of a sentence counts only if the word is also capitalized elsewhere.
    """
    inner = {
        word
        for sentence in sentences
        for match in _CAPITALIZED.finditer(sentence.text)
        if not _begins(sentence.text, match.start())
        for word in match[0].split()
    }
    mentions: defaultdict[str, list[int]] = defaultdict(list)
    for index, sentence in enumerate(sentences):
        for match in _CAPITALIZED.finditer(sentence.text):
            words = match[0].split()
            if _begins(sentence.text, match.start()):
                while words and words[0] not in inner:
                    words = words[1:]
            name = re.sub(r"['’]s$", "", " ".join(words)).strip(".")
            if len(name) > 1 and name.lower() not in FUNCTION_WORDS and index not in mentions[name]:
                mentions[name].append(index)
    named = {name: where for name, where in mentions.items() if where}
    return dict(sorted(named.items(), key=lambda item: (-len(item[1]), item[1][0])))


def _begins(text: str, position: int) -> bool:
    """Return whether a capital at this position is due to the start of a sentence or quotation."""
    return not re.search(r"[\w,;'’)] *$", text[:position])


def _best(where: Sequence[int], importance: np.ndarray, count: int) -> list[int]:
    return sorted(sorted(where, key=lambda i: (-importance[i], i))[:count])


def guess_type(name: str, sentences: Sequence[Sentence]) -> str:
    """Return one of person, organization, place, event, thing, concept."""
    last = re.findall(r"\w+", name.lower())[-1:]
    for kind, nouns in _TYPES:
        if last and re.fullmatch(f"(?:{nouns})s?", last[0]):
            return kind
    if not name[:1].isupper():
        return "concept"
    text = " ".join(s.text for s in sentences)
    quoted = re.escape(name)
    first = re.escape(name.split()[0])
    person_signs = len(re.findall(rf"\b{quoted},? {_SPEAKS}\b|{_SPEAKS},? {quoted}\b", text))
    person_signs += 2 * len(re.findall(rf"\b{_TITLES}\.? {first}\b", text, re.I))
    person_signs += 2 * len(re.findall(rf"^{_TITLES}\b", name, re.I))
    place_signs = len(re.findall(rf"\b{_WHERE} {quoted}\b", text))
    if person_signs or place_signs:
        return "person" if person_signs >= place_signs else "place"
    return "thing"


def _relationships(
    sentences: Sequence[Sentence],
    mentions: dict[str, list[int]],
    importance: np.ndarray,
    limit: int,
) -> list[Relationship]:
    shared: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for left, right in combinations(mentions, 2):
        both = sorted(set(mentions[left]) & set(mentions[right]))
        if both and left.lower() not in right.lower() and right.lower() not in left.lower():
            shared[left, right] = both
    strongest = sorted(shared.items(), key=lambda item: -len(item[1]))[:limit]
    relationships = []
    for (left, right), both in strongest:
        sentence = sentences[_best(both, importance, 1)[0]]
        if sentence.text.find(left) > sentence.text.find(right) >= 0:
            left, right = right, left
        relationships.append(
            Relationship(
                source=left,
                target=right,
                relation=relation_words(sentence, left, right),
                description=render_sentences([sentence]),
                strength=min(10, len(both)),
            )
        )
    return relationships


def relation_words(sentence: Sentence, source: str, target: str) -> str:
    """Return at most three words between two names in a sentence; "mentions" for a speaker."""
    if sentence.speaker == source:
        return "mentions"
    between = re.search(rf"{re.escape(source)}\b(.*?)\b{re.escape(target)}", sentence.text)
    inner = re.findall(r"[^\W\d_]+", between[1]) if between else []
    inner = [w for w in inner if w.lower() not in ("the", "a", "an", "his", "her", "its", "their")]
    return " ".join(inner) if 0 < len(inner) <= 3 else "named with"
