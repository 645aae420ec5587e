"""Extractive answers: sentences of the passages."""

from dataclasses import dataclass, field

import numpy as np

from gsum_resources.llm.classical.ranking import centrality, relevance
from gsum_resources.llm.classical.reading import Reading
from gsum_resources.llm.classical.selection import SelectionSettings, select_sentences
from gsum_resources.llm.classical.sentences import Sentence

# exponent on the probability of a sentence's passage; of 0, 1.5 and 3 the best on 60 meetings of
# QMSum train (docs/evidence.md)
_PROBABILITY_POWER = 3.0
_LEAST = 0.001  # probability


@dataclass(frozen=True)
class SummarySettings:
    """Threshold of unrelated sentences, and the settings of the selection."""

    unrelated: float = 0.2
    selection: SelectionSettings = field(default_factory=SelectionSettings)


def choose_sentences(
    reading: Reading,
    max_words: int,
    settings: SummarySettings | None = None,
    probabilities: np.ndarray | None = None,
) -> list[Sentence]:
    """Return the sentences of a summary, in document order.

    Parameters
    ----------
    reading : sentences, vectors and question.
    max_words : requested length; exceeded by `selection.slack` at most.
    settings : defaults tuned on the QMSum training meetings.
    probabilities : that the passage of each sentence holds evidence, `(n_sentences,)`; sentences of
        likely passages are preferred. None if unknown; without effect on a question that requests
        everything.

    Returns
    -------
    list of Sentence
        If even the best sentence is too long, its first words, ending in "…".
    """
    settings = settings or SummarySettings()
    central = centrality(reading.vectors, settings.unrelated)
    relevant = relevance(reading.vectors, reading.aspects) if len(reading.aspects) else None
    prior = np.ones(len(reading.sentences))
    if probabilities is not None and relevant is not None:
        prior = np.clip(probabilities, _LEAST, 1) ** _PROBABILITY_POWER
    chosen = select_sentences(
        reading.sentences, reading.vectors, relevant, central, max_words, settings.selection, prior
    )
    if chosen or not reading.sentences:
        return [reading.sentences[i] for i in chosen]
    best = int((central if relevant is None else relevant * prior).argmax())
    sentence = reading.sentences[best]
    cut = " ".join(sentence.text.split()[: max(1, max_words - 3)]).rstrip(" ,;:.") + "…"
    return [Sentence(cut, sentence.speaker, sentence.run, whole=False)]
