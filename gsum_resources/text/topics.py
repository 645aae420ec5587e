"""A short title of a text."""

from gsum_resources.text.keyphrases import distinct, keyphrases
from gsum_resources.text.ranking import centrality
from gsum_resources.text.reading import Reading


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
