"""Which sentences a summary takes: weighted word coverage under a budget, greedily.

The value of a set of sentences is the weight of the words it covers, a submodular function, so
that repeating what is said already earns little (Lin and Bilmes 2011; Gillick and Favre 2009 for
words as concepts). A word weighs by how many sentences of the context use it, a sentence by its
relevance to the question, its centrality among the embeddings and its readability.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gsum_resources.llm.classical.sentences import Sentence
from gsum_resources.llm.classical.vocabulary import content_stems, count_words, words

_OWN = frozenset(("i", "me", "my", "you", "your"))
_HANGING = re.compile(
    r"(?:which|that (?:is|was|you|we|they|are)|to|than|whereas|of|as|with)\b", re.I
)
_IMPRINT = re.compile(r"https?://|www\.|\bcopyright\b|transcriber's note|\bISBN\b", re.IGNORECASE)
_POSSESSIVE = re.compile(r"(?<!\bit)(?<!\bhe)(?<!\bthat)(?<!\bthere)['’]s\b", re.IGNORECASE)
_FINITE = re.compile(
    r"\b(?:is|are|am|was|were|be|been|has|have|had|do|does|did|can|could|will|would|shall|should|may"
    r"|might|must|need|needs|let|i|you|he|she|we|they|who|[a-z]{3,}ed|isn|aren|don|doesn|didn|said"
    r"|says|came|went|took|made|gave|saw|knew|got|told|felt|found|kept|left|stood|put|makes|gives"
    r"|wants|works|means)\b|['’](?:s|re|ve|ll|d|m)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class SelectionSettings:
    """How sentences compete; the defaults were chosen on the QMSum training meetings.

    Attributes
    ----------
    word_power : exponent on ln(1 + sentences that use the word).
    repetition : share of its weight that a word covered already still earns.
    same : cosine from which two sentences say the same; the second is never taken.
    length_power : how much length costs; 0 favours long sentences, 1 short ones.
    relevance : exponent on the relevance to a question that can be searched.
    centrality : exponent on the centrality.
    chat : how much a share of "I", "you" and their kind in a sentence costs.
    question : factor for a sentence that asks.
    fragment : factor for a sentence cut off at a passage's border or by its speaker.
    hanging : factor for one that begins as the tail of another ("Which is …").
    verbless : factor for one without a sign of a finite verb.
    quoted : factor for a quotation in prose, which tells less than the narrative around it.
    imprint : factor for addresses and notes of editors.
    shortest, longest : words; outside of them a sentence is taken only if nothing else is there.
    slack : share by which a summary may exceed the wanted length.
    """

    word_power: float = 2.0
    repetition: float = 0.6
    same: float = 0.85
    length_power: float = 0.5
    relevance: float = 1.5
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
    relevance: np.ndarray | None,
    centrality: np.ndarray,
    max_words: int,
    settings: SelectionSettings,
) -> list[int]:
    """Return the indices of the chosen sentences, ascending.

    Parameters
    ----------
    sentences : the candidates, in document order.
    vectors : unit vectors, `(n_sentences, dim)`, to tell what says the same.
    relevance : `(n_sentences,)` in 0..1, or None for a question that asks for everything.
    centrality : `(n_sentences,)` in 0..1.
    max_words : wanted length, speakers' names included.
    settings : how sentences compete.

    Returns
    -------
    list of int
        Empty if not even the shortest sentence fits.
    """
    worth = readability(sentences, settings)
    worth *= np.clip(centrality, 0.01, 1) ** settings.centrality
    if relevance is not None:
        worth *= np.clip(relevance, 0.01, 1) ** settings.relevance
    stems = [frozenset(content_stems(s.text)) for s in sentences]
    weights = word_weights(stems, settings.word_power)
    sizes = [count_words(s.text) for s in sentences]
    proper = {
        i
        for i, n in enumerate(sizes)
        if settings.shortest <= n <= settings.longest and is_statement(sentences[i])
    }
    budget = max_words * (1 + settings.slack)
    chosen: list[int] = []
    for pool in (proper, set(range(len(sentences))) - proper):
        if chosen:
            break
        seen: Counter[str] = Counter()
        while pool:
            fitting = [
                i for i in sorted(pool) if _length(sorted([*chosen, i]), sentences, sizes) <= budget
            ]
            gains = [
                sum(weights[w] * settings.repetition ** seen[w] for w in stems[i])
                * worth[i]
                / sizes[i] ** settings.length_power
                for i in fitting
            ]
            if max(gains, default=0) <= 0:
                break
            best = fitting[int(np.argmax(gains))]
            chosen.append(best)
            seen.update(stems[best])
            said = np.flatnonzero(vectors @ vectors[best] >= settings.same)
            pool -= {best, *said.tolist()}
    return sorted(chosen)


def is_statement(sentence: Sentence) -> bool:
    """Return whether a sentence states something: a heading, a date line or a bare name does not.

    Nor does prose that a passage's border cuts, or that ends in a colon and announces what
    follows. Without a sign of a finite verb, prose needs a mark at its end and a word that begins
    small; the 's of a possessive is no such sign.
    """
    if sentence.speaker:
        return True
    if not sentence.whole or sentence.text.endswith(":"):
        return False
    if _FINITE.search(_POSSESSIVE.sub("", sentence.text)):
        return True
    ends = re.search(r"[.!?…][\"'”’)\]]*$", sentence.text)
    return bool(ends and re.search(r"(?<!\w)[^\W\d_A-Z]{3,}", sentence.text))


def _length(chosen: list[int], sentences: Sequence[Sentence], sizes: list[int]) -> int:
    """Return the words of a summary as shown: a speaker is named where he takes over."""
    total, last = 0, ""
    for i in chosen:
        speaker = sentences[i].speaker
        total += sizes[i] + (count_words(speaker) if speaker != last else 0)
        last = speaker
    return total


def word_weights(stems: Sequence[frozenset[str]], power: float) -> dict[str, float]:
    """ln(1 + number of sentences that use it) ** power of every content stem."""
    counts = Counter(stem for sentence in stems for stem in sentence)
    return {stem: math.log1p(n) ** power for stem, n in counts.items()}


def readability(sentences: Sequence[Sentence], settings: SelectionSettings) -> np.ndarray:
    """Return the factor in 0..1 of each sentence, `(n_sentences,)`: statements before chat and
    fragments.
    """
    factors = np.ones(len(sentences))
    for i, sentence in enumerate(sentences):
        spoken = words(sentence.text)
        own = sum(word in _OWN for word in spoken) / max(1, len(spoken))
        factors[i] = max(0.2, 1 - settings.chat * own)
        factors[i] *= settings.quoted if sentence.text[0] in '"“' else 1
        factors[i] *= settings.imprint if _IMPRINT.search(sentence.text) else 1
        factors[i] *= settings.question if sentence.text.endswith("?") else 1
        factors[i] *= 1 if sentence.whole else settings.fragment
        factors[i] *= settings.hanging if _HANGING.match(sentence.text) else 1
        factors[i] *= 1 if _FINITE.search(sentence.text) else settings.verbless
    return factors
