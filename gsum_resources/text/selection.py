"""Selection of a summary's sentences: weighted word coverage under a budget, greedily.

The value of a set of sentences is the weight of the words it covers, a submodular function, so that
repetitions add little (Lin and Bilmes 2011; Gillick and Favre 2009 for words as concepts). A word
is weighted by the number of sentences that use it, a sentence by its relevance to the question, its
centrality among the embeddings and its readability.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from gsum_resources.text.records import ENDS
from gsum_resources.text.sentences import FINITE, Sentence
from gsum_resources.text.vocabulary import content_stems, n_words, words

_OWN = frozenset(("i", "me", "my", "you", "your"))
_HANGING = re.compile(
    r"…?(?:which|that (?:is|was|you|we|they|are)|to|than|whereas|of|as|with)\b", re.I
)
_IMPRINT = re.compile(r"https?://|www\.|\bcopyright\b|transcriber's note|\bISBN\b", re.IGNORECASE)
_POSSESSIVE = re.compile(r"(?<!\bit)(?<!\bhe)(?<!\bthat)(?<!\bthere)['’]s\b", re.IGNORECASE)
_FIGURE = re.compile(
    r"\d(?:[\d.,:]*\d)?|(?<![.?!] )\b[A-Z]\w+|\b(?:one|two|three|four|five|six|seven|eight|nine|ten"
    r"|eleven|twelve|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|deux|trois|quatre|cinq)\b"
)
_PAIR = re.compile(r"[^\W\d_][\w ]{2,30}: .*[,;(\d]")  # "Present: Ann Muir, Bo Lee."
_LEAST = 0.001  # probability


@dataclass(frozen=True)
class SelectionSettings:
    """Weights of sentences in the selection, tuned on the QMSum training meetings.

    Attributes
    ----------
    word_power : exponent on ln(1 + number of sentences that use the word).
    repetition : share of its weight that a covered word still contributes.
    same : cosine from which two sentences count as equal; the second is never selected.
    length_power : penalty on length; 0 favours long sentences, 1 short ones.
    relevance : exponent on the relevance to a question with search terms.
    probability, relevance_beside : where passages of speech have probabilities, the exponents on
        that of a sentence's passage, and on the relevance, which it depends on already. Chosen on
        the first 60 meetings of QMSum train (docs/evidence.md).
    probability_in_prose : the exponent on the probability in prose, where the one on the relevance
        stays. Chosen on SQuALITY train (docs/evidence.md).
    chat : penalty on the share of "I", "you" and similar words in a sentence.
    fragment : factor for a sentence cut off at a passage's border or by its speaker.
    hanging : factor for a sentence that begins as the end of another ("Which is …").
    verbless : factor for a sentence without a sign of a finite verb.
    quoted : factor for a quotation in prose.
    imprint : factor for addresses and editors' notes.
    shortest, longest : words; other sentences are selected only if nothing else is available.
    slack : share by which a summary may exceed the requested length.
    """

    word_power: float = 2.0
    repetition: float = 0.6
    same: float = 0.85
    length_power: float = 0.5
    relevance: float = 1.5
    probability: float = 1.5
    relevance_beside: float = 0.5
    probability_in_prose: float = 0.5
    centrality: float = 0.2
    chat: float = 3.0
    question: float = 0.9
    fragment: float = 0.6
    hanging: float = 0.85
    verbless: float = 0.85
    quoted: float = 0.8
    imprint: float = 0.1
    shortest: int = 6
    longest: int = 40
    slack: float = 0.03


def select_sentences(
    sentences: Sequence[Sentence],
    vectors: np.ndarray,
    wanted: np.ndarray | None,
    centrality: np.ndarray,
    max_words: int,
    settings: SelectionSettings,
) -> list[int]:
    """Return the indices of the selected sentences, ascending; none if not even one fits.

    Parameters
    ----------
    vectors : unit vectors, `(n_sentences, dim)`, to detect equal sentences.
    wanted : the result of `relevance_factor`, or None for a question that requests everything.
    max_words : requested length, speakers' names included.
    """
    worth = readability(sentences, settings)
    worth *= np.clip(centrality, 0.01, 1) ** settings.centrality
    if wanted is not None:
        worth *= wanted
    stems = [frozenset(content_stems(s.text)) for s in sentences]
    weights = word_weights(stems, settings.word_power)
    sizes = [n_words(s.text) for s in sentences]
    names = [n_words(s.speaker) for s in sentences]
    values, seen = dict(weights), Counter[str]()  # what each word adds, and how often it is covered

    def gain(i: int) -> float:
        covered = sum(values[word] for word in stems[i])
        return covered * worth[i] / sizes[i] ** settings.length_power

    def length(chosen: list[int]) -> int:  # words, including each change of speaker
        total, last = 0, ""
        for i in chosen:
            speaker = sentences[i].speaker
            total += sizes[i] + (names[i] if speaker != last else 0)
            last = speaker
        return total

    gains = np.array([gain(i) for i in range(len(sentences))])
    proper = {
        i
        for i, n in enumerate(sizes)
        if (sentences[i].is_record or settings.shortest <= n <= settings.longest)
        and is_statement(sentences[i])
    }
    budget = max_words * (1 + settings.slack)
    chosen: list[int] = []
    headings = {i for i, sentence in enumerate(sentences) if sentence.text.endswith(":")}
    for pool in (proper, set(range(len(sentences))) - proper - headings, headings - proper):
        if chosen:
            break
        while pool:
            candidates = np.array(sorted(pool))
            by_gain = candidates[np.argsort(-gains[candidates], kind="stable")].tolist()
            fitting = (i for i in by_gain if length(sorted([*chosen, i])) <= budget)
            best = next(fitting, None)
            if best is None or gains[best] <= 0:
                break
            chosen.append(best)
            seen.update(stems[best])
            for word in stems[best]:
                values[word] = weights[word] * settings.repetition ** seen[word]
            alike = np.flatnonzero(vectors @ vectors[best] >= settings.same).tolist()
            said = _figures(sentences[best])
            pool -= {best, *(i for i in alike if said >= _figures(sentences[i]))}
            for i in pool:
                if not stems[best].isdisjoint(stems[i]):
                    gains[i] = gain(i)
    return sorted(chosen)


def relevance_factor(
    relevance: np.ndarray,
    probabilities: np.ndarray | None,
    settings: SelectionSettings,
    of_speech: bool,
) -> np.ndarray:
    """Return the factor by which a question prefers each sentence, `(n_sentences,)`.

    Parameters
    ----------
    relevance : similarity to the question, `(n_sentences,)` in 0..1.
    probabilities : that the passage of each sentence holds evidence, `(n_sentences,)`.
    of_speech : whether they are said by speakers, see `is_speech`.
    """
    clipped = np.clip(relevance, 0.01, 1)
    if probabilities is None:
        return clipped**settings.relevance
    likely = np.clip(probabilities, _LEAST, 1)
    if of_speech:
        return likely**settings.probability * clipped**settings.relevance_beside
    return likely**settings.probability_in_prose * clipped**settings.relevance


def is_question(sentence: Sentence) -> bool:
    """Return whether a sentence ends in a question mark."""
    return sentence.text.endswith(("?", "？", "؟"))


def is_statement(sentence: Sentence) -> bool:
    """Return whether a sentence states something: a heading, a date line or a bare name does not.

    Neither does prose that is cut by a passage's border, or that ends in a colon. Without a sign of
    a finite verb, prose needs a mark at its end and a word in lower case; the 's of a possessive is
    no such sign.
    """
    if sentence.speaker or sentence.is_record:
        return True
    if sentence.kind == "heading" or not sentence.whole or sentence.text.endswith(":"):
        return False
    if FINITE.search(_POSSESSIVE.sub("", sentence.text)) or _PAIR.match(sentence.text):
        return True
    ends = re.search(rf"[{ENDS}][\"'”’)\]」』）]*$", sentence.text)
    return bool(ends and re.search(r"(?<!\w)[^\W\d_A-Z]{3,}", sentence.text))


def word_weights(stems: Sequence[frozenset[str]], power: float) -> dict[str, float]:
    """Return ln(1 + number of sentences that use it) ** power of every content stem."""
    counts = Counter(stem for sentence in stems for stem in sentence)
    return {stem: math.log1p(n) ** power for stem, n in counts.items()}


def readability(sentences: Sequence[Sentence], settings: SelectionSettings) -> np.ndarray:
    """Return a factor in 0..1 per sentence, `(n_sentences,)`, lower for chat and fragments."""
    factors = np.ones(len(sentences))
    for i, sentence in enumerate(sentences):
        chat_share, is_imprint, hangs, has_verb = _traits(sentence.text)
        factors[i] = max(0.2, 1 - settings.chat * chat_share)
        factors[i] *= settings.quoted if sentence.text[0] in '"“' else 1
        factors[i] *= settings.imprint if is_imprint else 1
        factors[i] *= settings.question if is_question(sentence) else 1
        factors[i] *= 1 if sentence.whole else settings.fragment
        factors[i] *= settings.hanging if hangs else 1
        factors[i] *= 1 if has_verb else settings.verbless
    return factors


def _figures(sentence: Sentence) -> frozenset[str]:
    """Return the numbers and names of a sentence: one that has another says something else."""
    return frozenset(_FIGURE.findall(sentence.text[1:]))


@lru_cache(maxsize=2**14)  # as of the stems of a sentence
def _traits(text: str) -> tuple[float, bool, bool, bool]:
    """Return the share of "I" and "you", and whether it is an imprint, hangs, and has a verb."""
    spoken = words(text)
    chat_share = sum(word in _OWN for word in spoken) / max(1, len(spoken))
    matches = _IMPRINT.search(text), _HANGING.match(text), FINITE.search(text)
    is_imprint, hangs, has_verb = map(bool, matches)
    return chat_share, is_imprint, hangs, has_verb
