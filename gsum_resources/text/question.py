"""A question that a passage answers, built from its keyphrases."""

from collections.abc import Sequence

import numpy as np

from gsum_resources.text.keyphrases import Keyphrase, distinct, keyphrases
from gsum_resources.text.noun_phrases import NounPhrase
from gsum_resources.text.sentences import Sentence
from gsum_resources.text.topics import enumerate_phrases

# Keyphrases per question. On QMSum train a question retrieves its own chunk first among the
# meeting's in 56, 63 and 67% of the cases with two, three and four (210 chunks of 21 meetings).
PHRASES = 4
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
    """Return a question about the best keyphrases of a passage.

    Parameters
    ----------
    temperature : spread of the choice of phrases; 0 selects the best, whatever the seed.

    Returns
    -------
    str
        "" if the passage has no keyphrase. If one speaker dominates, the question names that
        speaker and concerns their statements.
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
