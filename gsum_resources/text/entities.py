"""Entities and their relationships, by rule: names, noun phrases, co-occurrence."""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from itertools import combinations

import numpy as np
import regex

from gsum_resources.protocols.results import Entities, Entity, Relationship
from gsum_resources.text.keyphrases import keyphrases
from gsum_resources.text.noun_phrases import is_verb_form, is_weak, noun_phrases
from gsum_resources.text.sentences import Sentence, render_sentences
from gsum_resources.text.vocabulary import FUNCTION_WORDS, stem, word_list, word_set

UNTYPED = "thing"
"""Type of a name about which the sentences say nothing."""
_LAST_NOUNS = {
    noun: kind for kind in ("organization", "place", "event") for noun in word_list(f"{kind}_nouns")
}
_FIRST_NOUNS = word_set("lake mount mt port fort cape river isle gulf")
_PERSONS = word_list("person_titles")
_CALENDAR = word_list("calendar")
_NO_NAMES = word_list("no_names")
_NAME_STARTS = word_set("little new upper great north south")
_PASSING = word_list("passing_nouns")
_VAGUE = word_list("vague_adjectives")
_ORDINAL = re.compile(r"(?:teen|tie|-?first|-?second|-?third|[rfxn]|ven|gh)th$|teen$|ty-\w+$")
_PLAIN = re.compile(r"[^\W\d_A-Z]+(?:-[^\W\d_A-Z]+)*")
_ABBREVIATED = r"(?:St|Mt|Ft|Dr|Mr|Mrs|Ms|Prof|Capt|Lt|Col|Gen|Sgt|Rev|Hon|Messrs)\.(?= \p{Lu})"
_WORD = (
    rf"(?:(?:\p{{Lu}}\.){{2,}}|{_ABBREVIATED}|(?!I\b)\p{{Lu}}\.(?= \p{{Lu}}[\p{{Ll}}.])"
    r"|(?<!\w)\.\p{Lu}{2,}|(?!I\b)\p{Lu}[\w'’|/.-]*\w)"
)
_PARTICLE = r"(?: (?:of|de|du|da|di|del|van|von|der|bin)(?: (?:the|la|der|den))?)"
_JOINED = (
    rf"(?:{_PARTICLE} | & | [\"“‘'](?=\p{{Lu}}[\w ]{{1,20}}[\"”’'] \p{{Lu}})|(?<=\w)[\"”’'] | )"
)
_NAME = regex.compile(rf"(?<![\w'’]){_WORD}(?:{_JOINED}(?:{_WORD}|(?!I\b)\p{{Lu}}(?![\w'’])))*")
_SAYING = (
    r"(?:said|says|thought|asked|told|replied|cried|answered|whispered|shouted|muttered|nodded"
    r"|smiled|laughed|grinned|sighed|shrugged|knew|felt|wanted)"
)
_ACTS = rf"(?:{_SAYING}|who|had|was|[a-z]{{3,}}ed)"
_OWN = (
    r"(?:hands?|eyes?|face|voice|head|mother|father|wife|husband|son|daughter|sister|brother"
    r"|arms?|lips|mind|shoulders?)"
)
_IN = r"(?:in|at|near|towards?|across|into|outside|reached)"


def extract_entities(
    sentences: Sequence[Sentence], importance: np.ndarray, limit: int = 30
) -> Entities:
    """Return at most `limit` entities of a text, and of relationships among them.

    Speakers come first, then names, then noun phrases without a name, number or possessive, the
    most important first. Their two most important sentences describe an entity, and the most
    important shared one a relationship. Strength: the number of shared sentences, at most 10.
    """
    speakers = Counter(s.speaker for s in sentences if s.speaker)
    mentions: dict[str, list[int]] = {}
    for speaker, _ in speakers.most_common(limit):
        mentions[speaker] = [i for i, s in enumerate(sentences) if s.speaker == speaker]
    known = {speaker.lower() for speaker in mentions}
    things = {
        concept: list(k.sentences)
        for k in keyphrases(sentences, importance)
        if k.phrase.evidence and (concept := _concept(k.phrase.core))
    }
    for name, where in [*proper_names(sentences, speakers).items(), *things.items()]:
        if len(mentions) < limit and name.lower() not in known:
            known.add(name.lower())
            mentions[name] = where
    entities = [
        Entity(
            name=name,
            type="person" if name in speakers else guess_type(name, [sentences[i] for i in where]),
            description=render_sentences([sentences[i] for i in _best(where, importance, 2)]),
        )
        for name, where in mentions.items()
    ]
    return Entities(
        entities=entities, relationships=_relationships(sentences, mentions, importance, limit)
    )


def _concept(phrase: str) -> str:
    """Return a noun phrase without weak words at its beginning; "" if it is no concept."""
    words = phrase.split()
    while words and (is_weak(words[0]) or words[0] in _VAGUE):
        words = words[1:]
    is_plain = all(_PLAIN.fullmatch(word) for word in words)
    has_head = bool(words) and not is_weak(words[-1]) and not _ORDINAL.search(words[-1])
    if not has_head or not is_plain or any(map(is_verb_form, words)):
        return ""
    return " ".join(words) if (_CALENDAR | _PASSING).isdisjoint(words) else ""


def proper_names(
    sentences: Sequence[Sentence], speakers: Collection[str] = ()
) -> dict[str, list[int]]:
    """Return capitalized phrases and the sentences that use them, the most frequent first.

    A capitalized word alone at the start of a sentence counts only if it is capitalized inside
    another one; before another capitalized word, as in "Ada Lovelace", also if no sentence has it
    in lower case. Months, weekdays, exclamations and the 's of a known speaker end a name.
    """
    lower = {word for s in sentences for word in re.findall(r"\b[^\W\d_A-Z]+\b", s.text)}
    inner = {word for name in speakers for word in name.split()}
    texts = [s.text if 2 * sum(map(str.isupper, s.text)) < len(s.text) else "" for s in sentences]
    for text in texts:
        for match in _NAME.finditer(text):
            inner.update(match[0].split()[_begins(text, match.start()) :])
    mentions: defaultdict[str, list[int]] = defaultdict(list)
    for index, text in enumerate(texts):
        for match in _NAME.finditer(text):
            words = match[0].split()
            if _begins(text, match.start()) and words[0] not in inner:
                first = words[0].strip(".").lower()
                is_common = first in lower or is_weak(first) or is_verb_form(first)
                is_common |= first.endswith(("ed", "ing"))
                if len(words) == 1 or (is_common and first not in _NAME_STARTS | _PERSONS):
                    words = words[1:]
            for name in _split_names(words, inner):
                if index not in mentions[name]:
                    mentions[name].append(index)
    named = {name: where for name, where in mentions.items() if where}
    return dict(sorted(named.items(), key=lambda item: (-len(item[1]), item[1][0])))


def _split_names(words: Sequence[str], known: Collection[str]) -> Iterator[str]:
    """Yield the names in a run of words, which end at months, exclamations and a known owner."""
    run: list[str] = []
    for word in [*words, ""]:
        bare = re.sub(r"['’]s$", "", word)
        lower = bare.strip(".").lower()
        ends = (
            not word
            or lower in _CALENDAR | _NO_NAMES
            or (not run and lower in FUNCTION_WORDS - _NAME_STARTS)
        )
        owns = bare != word and bare in known
        run += [] if ends else [bare if owns else word]
        if (ends or owns) and run:
            while run and (run[-1].lower() in FUNCTION_WORDS or run[-1] == "&"):
                run.pop()  # the particle before a month
            name = " ".join(run)
            if not name.startswith("St"):  # "St. John's"
                name = re.sub(r"['’]s$", "", name)
            if not re.search(r"(?:\w\.){2,}$", name):  # "U.S."
                name = name.lstrip("'’").rstrip(".'’")
            if len(name) > 1 and name.strip(".").lower() not in _PERSONS | FUNCTION_WORDS:
                yield name
            run = []


def _begins(text: str, position: int) -> bool:
    """Return whether a capital at this position is due to the start of a sentence or quotation."""
    return not re.search(r"[\w,;'’)&] *$", text[:position])


def _best(where: Sequence[int], importance: np.ndarray, count: int) -> list[int]:
    return sorted(sorted(where, key=lambda i: (-importance[i], i))[:count])


def guess_type(name: str, sentences: Sequence[Sentence]) -> str:
    """Return one of person, organization, place, event, thing, concept, from sentences with it."""
    words = re.findall(r"\w+", name.lower())
    is_name = any(word[:1].isupper() for word in name.split())
    if words and is_name and words[0] in _PERSONS and len(words) > 1:
        return "person"
    for noun in (words[-1:] or [""])[0], (words[-1:] or [""])[0].removesuffix("s"):
        if noun in _LAST_NOUNS:
            return _LAST_NOUNS[noun]
    if not is_name:
        return "concept"
    if words[0] in _FIRST_NOUNS:
        return "place"
    if re.fullmatch(r"(?:[A-Z]\.?){2,5}", name):
        return "organization"
    text, quoted = "\n".join(s.text for s in sentences), re.escape(name)

    def count(pattern: str) -> int:
        return len(re.findall(pattern, text))

    n_the = count(rf"\b[Tt]he {quoted}\b")
    person = count(rf"\b{quoted},? {_ACTS}\b|\b{_SAYING},? {quoted}\b|\b{quoted}['’]s {_OWN}\b")
    person += count(rf"(?m), {quoted}[.!?]|^[\"“]?{quoted}[,!?] ")  # spoken to
    place = count(rf"\b{_IN} {quoted}\b(?!['’]s)")
    if person > max(place, n_the):
        return "person"
    if place > person:
        return "place"
    lower = set(re.findall(r"[^\W\d_]+", re.sub(quoted, "", text)))
    is_full_name = 1 < len(words) <= 3 and name.replace(" ", "").isalpha()
    is_full_name &= not any(map(is_weak, words)) and not words[-1].endswith("s")
    return "person" if is_full_name and not n_the and lower.isdisjoint(words) else UNTYPED


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


_ELEMENT_WORD = re.compile(r"[^\W_]+")
_SKIPPED_WORDS = word_list("skipped_words")
_MOST_WORDS = 3


def relate_elements(
    elements: Sequence[str], sentences: Sequence[Sentence], importance: np.ndarray
) -> list[Relationship]:
    """Return a relationship for each pair of elements named by a sentence, first one first.

    Elements are matched regardless of number, case and endings. Relation: at most three words
    between the two in the most important sentence that belong to no noun phrase, verbs if there
    are any, else "with". Strength: the number of sentences that name both, at most 10.
    """
    spans = [_spans(sentence.text, elements) for sentence in sentences]
    relationships = []
    for left, right in combinations(elements, 2):
        both = [i for i, named in enumerate(spans) if named[left] and named[right]]
        if not both:
            continue
        best = max(both, key=lambda i: (importance[i], -i))
        source, target = sorted((left, right), key=lambda name: spans[best][name][0])
        relationships.append(
            Relationship(
                source=source,
                target=target,
                relation=_relation(sentences[best].text, spans[best][source], spans[best][target]),
                description=render_sentences([sentences[best]]),
                strength=min(10, len(both)),
            )
        )
    return relationships


def _spans(text: str, elements: Sequence[str]) -> dict[str, list[tuple[int, int]]]:
    """Return where each element is named in a sentence, as `(start, end)` in characters."""
    words = [(stem(match[0].lower()), *match.span()) for match in _ELEMENT_WORD.finditer(text)]
    stems = [each for each, _, _ in words]
    spans = {}
    for element in elements:
        wanted = [stem(word.lower()) for word in _ELEMENT_WORD.findall(element)]
        size = len(wanted)
        spans[element] = [
            (words[i][1], words[i + size - 1][2])
            for i in range(len(stems) - size + 1)
            if wanted and stems[i : i + size] == wanted
        ]
    return spans


def _relation(
    text: str, source: Sequence[tuple[int, int]], target: Sequence[tuple[int, int]]
) -> str:
    """Return the words between the target and the last mention of the source before it.

    Of the runs of words between noun phrases, the first with content words, such as verbs, is used.
    """
    end = target[0][0]
    start = max(last for first, last in source if first <= end)
    phrases = [(p.start, p.start + len(p.core)) for p in noun_phrases(text)]
    runs: list[list[str]] = [[]]
    for match in _ELEMENT_WORD.finditer(text, start, end):
        if any(first <= match.start() < last for first, last in phrases):
            runs.append([])
        elif len(match[0]) > 1 and match[0].lower() not in _SKIPPED_WORDS:
            runs[-1].append(match[0])
    runs = [run for run in runs if run] or [["with"]]
    content_runs = [run for run in runs if not FUNCTION_WORDS.issuperset(map(str.lower, run))]
    return " ".join((content_runs or runs)[0][:_MOST_WORDS])
