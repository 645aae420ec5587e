"""Token embeddings: one vector per token of a text, as used by BERTScore."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gsum_resources.embedding.encoder import TextEncoder
from gsum_resources.embedding.model_files import PACKAGED
from gsum_resources.store.locked_property import locked_property


@dataclass(frozen=True)
class TokenVectors:
    """The tokens of one text, special ones included.

    `vectors` have unit length, float32 `(n_tokens, dim)`; `counted`, bool `(n_tokens,)`, is False
    for special tokens, which may be matched, but their own matches are not counted.
    """

    vectors: np.ndarray
    counted: np.ndarray


@dataclass(frozen=True)
class LocalTokenEmbedder:
    """Token vectors of a local transformer, as computed by the `bert-score` package.

    As in that package, a text is cut at the model's maximum input (512 tokens for the packaged
    model), and the precision is float32.
    """

    model: str = PACKAGED
    layer: int | None = None
    device: Literal["auto", "cpu", "cuda"] = "auto"
    threads: int | None = None

    @property
    def identity(self) -> str:
        """Identity of the vectors: weights and layer, independent of the device."""
        return f"tokens-1:{self._encoder.digest}:layer={self.layer or 'last'}"

    def embed_tokens(self, texts: Sequence[str]) -> list[TokenVectors]:
        """Return the tokens of each text up to the model's maximum input, in order.

        A blank text has special tokens only, which are not counted.
        """
        encoder = self._encoder
        stripped = [text.strip() for text in texts]
        inputs = encoder.cutter.beginnings(stripped, encoder.settings.max_tokens)
        vectors = encoder.encode_tokens(inputs, self.layer)
        return [
            TokenVectors(rows, ~np.isin(ids, encoder.cutter.frame))
            for rows, ids in zip(vectors, inputs, strict=True)
        ]

    @locked_property
    def _encoder(self) -> TextEncoder:
        return TextEncoder(self.model, "float32", self.device, self.threads)
