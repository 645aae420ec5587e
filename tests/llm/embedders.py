"""An embedder whose cosines mean something and cost nothing: words hashed to dimensions."""

import zlib
from collections.abc import Sequence

import numpy as np

from gsum_resources.text.vocabulary import content_stems


class WordEmbedder:
    """Unit vectors of content-word counts; counts its calls and the texts it was given."""

    def __init__(self, dimension: int = 512) -> None:
        self.identity = f"words-{dimension}"
        self.dimension = dimension
        self.calls: list[list[str]] = []

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        self.calls.append(list(texts))
        rows = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[0] = 0.1
            for stem in content_stems(text):
                row[1 + zlib.crc32(stem.encode()) % (self.dimension - 1)] += 1
            row /= np.linalg.norm(row)
        return rows

    def embed_queries(self, texts: Sequence[str]) -> np.ndarray:
        rows = self.embed(texts)
        self.calls.pop()
        return rows
