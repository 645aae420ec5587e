"""Token embeddings: a vector for every token of a text, as BERTScore matches them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol

import numpy as np

from gsum_resources.embedding.encoder import TextEncoder
from gsum_resources.embedding.model_files import PACKAGED


@dataclass(frozen=True)
class TokenVectors:
    """The tokens of one text, special ones included.

    Attributes
    ----------
    vectors : unit length, float32 `(n_tokens, dim)`.
    counted : whether a token belongs to the text itself, bool `(n_tokens,)`; the special tokens
        around it may be matched, but nobody asks how well they are matched themselves.
    """

    vectors: np.ndarray
    counted: np.ndarray


class TokenEmbedder(Protocol):
    """Turns texts into token vectors."""

    @property
    def identity(self) -> str:
        """What distinguishes this model's token vectors: weights, layer."""
        ...

    def embed_tokens(self, texts: Sequence[str]) -> list[TokenVectors]:
        """Return the tokens of each text, in order."""
        ...


@dataclass(frozen=True)
class LocalTokenEmbedder:
    """Token vectors of a transformer on this machine, as the `bert-score` package takes them.

    A text is cut at the model's longest input (512 tokens for the packaged model) like there,
    and unlike `LocalEmbedder`, which goes on in windows.

    The precision is float32 and no setting: on a QMSum meeting the F1 scores of the package were
    missed by 1.4e-3 in bfloat16 and by 1.6e-4 in float16 (1.0e-4 where only matrix products ran
    in it), at 2.5 times the speed.

    Attributes
    ----------
    model : "packaged" (all-MiniLM-L6-v2), a folder, or an id on the Hugging Face hub.
    layer : whose output is taken, from 1, the package's `num_layers`; None is the last.
    device : "auto" takes the GPU where there is one.
    threads : of torch on the processor; None takes the physical cores that the process may use.
    """

    model: str = PACKAGED
    layer: int | None = None
    device: Literal["auto", "cpu", "cuda"] = "auto"
    threads: int | None = None

    @property
    def identity(self) -> str:
        """What distinguishes the vectors: weights and layer, not where they are computed."""
        return f"tokens-1:{self._encoder.digest}:layer={self.layer or 'last'}"

    def embed_tokens(self, texts: Sequence[str]) -> list[TokenVectors]:
        """Return the tokens of each text up to the model's longest input, in order.

        A text without tokens has the special ones only, and none that count.

        Raises
        ------
        ValueError
            If the model has no such layer.
        ModelNotFoundError
            If the model is neither a folder nor to be had from the hub.
        """
        encoder = self._encoder
        stripped = [text.strip() for text in texts]
        inputs = encoder.cutter.beginnings(stripped, encoder.settings.max_tokens)
        vectors = encoder.encode_tokens(inputs, self.layer)
        return [
            TokenVectors(rows, ~np.isin(ids, encoder.cutter.frame))
            for rows, ids in zip(vectors, inputs, strict=True)
        ]

    @cached_property
    def _encoder(self) -> TextEncoder:
        return TextEncoder(self.model, "float32", None, self.device, self.threads)
