"""Extractive answers: sentences of the passages."""

from dataclasses import dataclass, field

import numpy as np

from gsum_resources.text.ranking import centrality, relevance
from gsum_resources.text.reading import Reading
from gsum_resources.text.selection import SelectionSettings, relevance_factor, select_sentences
from gsum_resources.text.sentences import Sentence
from gsum_resources.text.speech import is_speech


@dataclass(frozen=True)
class SummarySettings:
    """Threshold of unrelated sentences, and the settings of the selection.

    `of_a_fact`, `of_a_brief_answer`: share of the best sentence's similarity to the question that
    one must have to be in the answer to a question for a fact, and in another brief answer.
    """

    unrelated: float = 0.2
    of_a_fact: float = 0.8
    of_a_brief_answer: float = 0.4
    selection: SelectionSettings = field(default_factory=SelectionSettings)


def choose_sentences(
    reading: Reading,
    max_words: int,
    settings: SummarySettings | None = None,
    probabilities: np.ndarray | None = None,
    least_relevance: float = 0.0,
) -> list[Sentence]:
    """Return the sentences of a summary, in document order.

    Parameters
    ----------
    max_words : requested length; exceeded by `selection.slack` at most.
    probabilities : that the passage of each sentence holds evidence, `(n_sentences,)`; sentences of
        likely passages are preferred. None if unknown; without effect on a question that requests
        everything.
    least_relevance : share of the best sentence's similarity to the question below which a sentence
        is left out, even if there is room for it.

    Returns
    -------
    list of Sentence
        If even the best sentence is too long, its first words, ending in "…".
    """
    settings = settings or SummarySettings()
    central = centrality(reading.vectors, settings.unrelated)
    relevant = wanted = None
    if len(reading.aspects):
        relevant = relevance(reading.vectors, reading.aspects)
        of_speech = is_speech([sentence.speaker for sentence in reading.sentences])
        wanted = relevance_factor(relevant, probabilities, settings.selection, of_speech)
        wanted[relevant < least_relevance * relevant.max(initial=0)] = 0
    chosen = select_sentences(
        reading.sentences, reading.vectors, wanted, central, max_words, settings.selection
    )
    if chosen or not reading.sentences:
        return [reading.sentences[i] for i in chosen]
    best = int((central if wanted is None else wanted).argmax())
    sentence = reading.sentences[best]
    cut = " ".join(sentence.text.split()[: max(1, max_words - 3)]).rstrip(" ,;:.") + "…"
    return [Sentence(cut, sentence.speaker, sentence.run, whole=False)]
