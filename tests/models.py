"""Small deterministic models: what a run does must not depend on the real ones being loaded."""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from gsum_resources.embedding.windows import unit_length
from gsum_resources.protocols.models import Completion, CompletionError, OnReply, Reply, Request
from gsum_resources.text.vocabulary import content_stems


class HashEmbedder:
    """Unit vectors drawn from a hash of the text; counts the texts it was given."""

    def __init__(self, name: str = "hash", dimension: int = 8) -> None:
        self.identity = name
        self.dimension = dimension
        self.n_embedded = 0

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        self.n_embedded += len(texts)
        rows = np.empty((len(texts), self.dimension), np.float32)
        for row, text in zip(rows, texts, strict=True):
            seed = hashlib.blake2b(f"{self.identity} {text}".encode(), digest_size=8).digest()
            row[:] = np.random.default_rng(int.from_bytes(seed, "big")).normal(size=len(row))
            row /= np.linalg.norm(row)
        return rows

    def embed_queries(self, texts: Sequence[str]) -> np.ndarray:
        return self.embed(texts)


class LetterHashes:
    """An `Embedder` by shared trigrams of content words, 1000 times as fast as a network.

    Its cosines have a distribution similar to the packaged model's, which the extractive model uses
    to decide what is related: for questions and sentences of the sample meetings half are below
    0.06, and one in twenty is above 0.2, with both. So texts written with it are about as long, and
    as many passages are found relevant.
    """

    identity = "letter-hashes-2"
    dimension = 384

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Return float32 unit vectors of texts, `(n_texts, dimension)`."""

        from sklearn.feature_extraction.text import HashingVectorizer

        def trigrams(text: str) -> list[str]:  # of stems, with a blank around each
            words = [f" {stem} " for stem in content_stems(text)]
            return [word[at : at + 3] for word in words for at in range(len(word) - 2)]

        hashing: Any = HashingVectorizer(
            analyzer=trigrams,  # pyright: ignore[reportArgumentType] - it is untyped
            n_features=self.dimension - 1,
            alternate_sign=False,
        )
        counts = hashing.transform(texts).toarray()
        # the constant component keeps the vector of a text without content words from being zero
        return unit_length(np.hstack([counts, np.full((len(counts), 1), 0.05)]), self.identity)

    def embed_queries(self, texts: Sequence[str]) -> np.ndarray:
        """Return the vectors of queries; see `embed`."""
        return self.embed(texts)


class FirstWords:
    """Answers with the first words of the passages; fails where they hold `refuses`.

    With `filters` such a failure is that of a content filter.
    """

    def __init__(
        self,
        name: str = "first-words",
        refuses: str | None = None,
        reads_weights: bool = False,
        filters: bool = False,
    ) -> None:
        self.filters = filters
        self.identity = name
        self.refuses = refuses
        self.reads_weights = reads_weights
        self.requests: list[Request] = []
        self.n_requests = 0

    def complete(self, requests: Sequence[Request], on_reply: OnReply | None = None) -> list[Reply]:
        replies = []
        for index, request in enumerate(requests):
            self.requests.append(request)
            self.n_requests += 1
            replies.append(self._one(request))
            if on_reply:
                on_reply(index, replies[-1])
        return replies

    def _one(self, request: Request) -> Reply:
        text = " ".join(request.passages)
        if self.refuses and self.refuses in text:
            reason = f"refused: '{self.refuses}' in the passages"
            return CompletionError(
                reason, self.identity, repeats=self.filters, is_filtered=self.filters
            )
        words = text.split()[: request.max_words]
        return Completion(" ".join(words), self.identity, len(text), len(words), 0.01)
