"""Keyphrases of a text, and what is built from them: search terms, a title, a question."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gsum_resources.text.noun_phrases import NounPhrase, noun_phrases
from gsum_resources.text.ranking import centrality
from gsum_resources.text.reading import CONTENTLESS, Reading
from gsum_resources.text.sentences import Sentence
from gsum_resources.text.vocabulary import FUNCTION_WORDS, stem

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
    occurrence of a word counts, times factors for evidence that it is a noun phrase, and for the
    importance of its sentences, `(n_sentences,)` in 0..1; None weights all equally.
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


_CONTENT_WORD = re.compile(r"[^\W_]{2,}(?:['’][^\W\d_]+)?")


def keywords(sentences: Sequence[Sentence], limit: int = 10) -> list[str]:
    """Return keyphrases, best first, then the remaining content words, in order.

    Those of questions come first. As written, each once regardless of its number or tense; none for
    a text that requests everything, such as "Summarize the whole meeting."
    """
    attributed = [
        replace(s, text=f"{s.speaker}: {s.text}" if s.speaker else s.text) for s in sentences
    ]
    questions = [sentence for sentence in attributed if sentence.text.endswith("?")]
    statements = [sentence for sentence in attributed if not sentence.text.endswith("?")]
    spelling_of: dict[tuple[str, ...], str] = {}
    for group in (questions, statements):
        for keyphrase in keyphrases(group):
            spelling_of.setdefault(tuple(keyphrase.phrase.key.split()), keyphrase.phrase.core)
        covered = {word for key in spelling_of for word in key}
        spellings = (
            re.split("['’]", match[0])[0] for s in group for match in _CONTENT_WORD.finditer(s.text)
        )
        for word in spellings:
            key = stem(word.lower())
            if len(word) > 1 and word.lower() not in FUNCTION_WORDS and key not in covered:
                spelling_of.setdefault((key,), word)
    subjects = [word for key, word in spelling_of.items() if not CONTENTLESS.issuperset(key)]
    return subjects[:limit]


def topic_title(reading: Reading, phrases: int = 3) -> str:
    """Return a title from keyphrases: "Rubber case, kinetic battery and speech recognition".

    Without a keyphrase, these are the first words of the text.
    """
    ranked = keyphrases(reading.sentences, centrality(reading.vectors))
    cores = [keyphrase.phrase.core for keyphrase in distinct(ranked, phrases)]
    title = enumerate_phrases(cores) or " ".join(reading.text.split()[:6]).rstrip(".,;:")
    return title[:1].upper() + title[1:]


def enumerate_phrases(phrases: list[str]) -> str:
    """Return `a`, `a and b`, or `a, b and c`."""
    if len(phrases) < 2:
        return "".join(phrases)
    return f"{', '.join(phrases[:-1])} and {phrases[-1]}"


PHRASES = 4  # of a question, by which it retrieves its own chunk first; chosen on QMSum train
_SPOKEN = (
    "What did {who} say about {what}?",
    "What was the view of {who} on {what}?",
    "How did {who} explain {what}?",
)
_UNATTRIBUTED = ("What was said about {what}?", "What was discussed about {what}?")
_PROSE = (
    "What is told about {what}?",
    "What happens in connection with {what}?",
    "How are {what} connected?",
)


def write_question(
    sentences: Sequence[Sentence], importance: np.ndarray, temperature: float, seed: int
) -> str:
    """Return a question about the best keyphrases of a passage, "" if it has none.

    If one speaker dominates, the question names that speaker and concerns their statements. At
    temperature 0 the best phrases are selected, whatever the seed.
    """
    rng = np.random.default_rng(seed)
    speaker = _leading_speaker(sentences, importance)
    by_speaker = [i for i, s in enumerate(sentences) if s.speaker == speaker]
    ranked = keyphrases([sentences[i] for i in by_speaker], importance[by_speaker])
    if len(distinct(ranked, PHRASES)) < 2:
        speaker, ranked = "", keyphrases(sentences, importance)
    chosen = distinct(_sampled(ranked, temperature, rng), PHRASES)
    if not chosen:
        return ""
    spoken = any(s.speaker for s in sentences)
    forms = _SPOKEN if speaker else _UNATTRIBUTED if spoken else _PROSE
    if len(chosen) == 1:
        forms = forms[:2]  # a single phrase cannot be "connected"
    form = forms[int(rng.integers(len(forms))) if temperature > 0 else 0]
    capitals = {  # words that are capitalized inside a sentence
        word.strip(",.;:!?\"'“”")
        for s in sentences
        for word in s.text.split()[1:]
        if word[0].isupper()
    }
    what = enumerate_phrases([_shown(k.phrase, capitals) for k in chosen])
    who = speaker[0].lower() + speaker[1:] if speaker.startswith("The ") else speaker
    return form.format(who=who, what=what)


def _leading_speaker(sentences: Sequence[Sentence], importance: np.ndarray) -> str:
    """Return the dominant speaker, by weight of sentences, if it has at least a third; else ""."""
    shares: dict[str, float] = {}
    for sentence, weight in zip(sentences, importance, strict=True):
        size = len(sentence.text.split())
        shares[sentence.speaker] = shares.get(sentence.speaker, 0) + size * float(weight + 0.1)
    best = max(shares, key=lambda s: (shares[s], s), default="")
    return best if shares and shares[best] >= sum(shares.values()) / 3 else ""


def _sampled(
    ranked: list[Keyphrase], temperature: float, rng: np.random.Generator
) -> list[Keyphrase]:
    """Draw without replacement with odds weight ** (4 / temperature), by Gumbel noise."""
    if temperature <= 0 or not ranked:
        return ranked
    weights = np.array([keyphrase.weight for keyphrase in ranked])
    noise = rng.gumbel(size=len(ranked)) * temperature / 4
    return [ranked[i] for i in np.argsort(-(np.log(weights + 1e-9) + noise), kind="stable")]


def _shown(phrase: NounPhrase, capitals: set[str]) -> str:
    first = phrase.core.split()[0]
    borrowed = phrase.start == 0 and first[1:].islower() and first not in capitals
    return phrase.text[0].lower() + phrase.text[1:] if borrowed else phrase.text
