"""Small deterministic models: what a run does must not depend on the real ones being loaded."""

import hashlib
from collections.abc import Sequence

import numpy as np

from gsum_resources.protocols.models import Completion, CompletionError, OnReply, Reply, Request


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
