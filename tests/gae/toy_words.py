"""Word statistics of toy corpora, fitted to their own texts."""

from gsum_assets.gae.levels import levels
from gsum_assets.gae.word_vectors import WordStatistics, word_statistics
from gsum_assets.retrieval.collection import Collection
from gsum_assets.retrieval.words import Words


def known_words(collection: Collection) -> dict[str, WordStatistics]:
    """Return the statistics of the words of each level."""
    return {level.name: word_statistics(level.texts, Words()) for level in levels(collection)}
