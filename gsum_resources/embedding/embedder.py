"""`LocalEmbedder`: unit vectors of texts of any length, computed by a local transformer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from gsum_resources.embedding.encoder import TextEncoder
from gsum_resources.embedding.model_files import PACKAGED, query_encoder_name
from gsum_resources.embedding.processor import Precision
from gsum_resources.embedding.windows import unit_length, weighted_means
from gsum_resources.store.locked_property import locked_property

OnProgress = Callable[[int, int], None]

_RUNTIMES = {"torch": "local-1", "numpy": "numpy-1"}  # prefix of the identity


@dataclass(frozen=True)
class LocalEmbedder:
    """Embeds texts with a sentence-transformers or transformers model, without a network.

    `identity` and `dimension` need no torch, which is imported at the first embedding. On one
    processor, the vector of a text is bitwise independent of the other texts of a call and of the
    number of threads. Between processors and devices, float32 vectors agree to about 1e-6, and
    bfloat16 vectors to the third digit.

    Attributes
    ----------
    model : "packaged" (all-MiniLM-L6-v2), a folder, or an id on the Hugging Face hub; of the
        passage encoders of Dragon and DPR, the query encoder embeds queries.
    precision : of weights and activations; vectors are float32 in any case.
    window_tokens : content tokens of a window, without special tokens and prefix.
    device : "auto" uses the GPU where there is one.
    threads : number of batches at once on the CPU; None: the physical cores of the process.
    runtime : "numpy" runs a plain BERT without torch, for a few texts in a new process.
    """

    model: str = PACKAGED
    precision: Precision = "float32"
    window_tokens: int = 256
    device: Literal["auto", "cpu", "cuda"] = "auto"
    threads: int | None = None
    takes_progress: ClassVar[bool] = True
    runtime: Literal["torch", "numpy"] = "torch"

    @cached_property
    def identity(self) -> str:
        """Identity of the vectors: digest of the weights, precision, pooling, window, prefixes."""
        passages, queries = self._passages, self._queries
        return (
            f"{_RUNTIMES[self.runtime]}:{passages.settings.model_type}-{self.dimension}:{passages.digest}:{self.precision}"
            f":{passages.settings.pooling}:window={self.window_tokens}"
            f":passage={passages.settings.passage_prefix!r}"
            f":query={queries.digest}/{queries.settings.pooling}/{queries.settings.query_prefix!r}"
        )

    def unloaded(self, threads: int | None) -> "LocalEmbedder":
        """Return an equal embedder without weights, for another process."""
        return replace(self, threads=threads)

    @property
    def runs_in_numpy(self) -> bool:
        """Whether this model supports `runtime="numpy"`."""
        from gsum_resources.embedding.numpy_encoder import is_plain_bert

        encoders = (self._passages, self._queries)
        return self.precision == "float32" and all(is_plain_bert(e.folder) for e in encoders)

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self._passages.settings.dimension

    def embed(self, texts: Sequence[str], on_progress: OnProgress | None = None) -> np.ndarray:
        """Return float32 unit vectors of passages, `(n_texts, dimension)`.

        That of a text longer than `window_tokens` is the mean of the windows' vectors weighted by
        their tokens, normalized to unit length; a text without tokens is embedded as ".".
        `on_progress` is called with (texts done, texts in total) after each batch. Raises
        `ValueError` if `window_tokens` exceeds the model's limit, `ModelNotFoundError` if the model
        is neither a folder nor available from the hub.
        """
        prefix = self._passages.settings.passage_prefix
        return self._embed(self._passages, texts, prefix, on_progress)

    def embed_queries(
        self, texts: Sequence[str], on_progress: OnProgress | None = None
    ) -> np.ndarray:
        """Return float32 unit vectors of queries, by the query encoder and prefix; see `embed`."""
        return self._embed(self._queries, texts, self._queries.settings.query_prefix, on_progress)

    def _embed(
        self,
        encoder: TextEncoder,
        texts: Sequence[str],
        prefix: str,
        on_progress: OnProgress | None,
    ) -> np.ndarray:
        if isinstance(texts, str):  # its characters would be taken for texts
            raise TypeError("texts is one string; give a list of texts, [text] for a single one")
        overhead = encoder.cutter.overhead(prefix)
        if self.window_tokens + overhead > encoder.settings.max_tokens:
            raise ValueError(
                f"window_tokens = {self.window_tokens}: model '{encoder.name}' takes at most "
                f"{encoder.settings.max_tokens - overhead} beside its special tokens and prefix"
            )
        windows = encoder.cutter.cut(texts, self.window_tokens, prefix)
        remaining = np.bincount(windows.owner, minlength=len(texts))  # windows of each text

        def report(batch: np.ndarray) -> None:
            np.subtract.at(remaining, windows.owner[batch], 1)
            if on_progress is not None:
                on_progress(int((remaining == 0).sum()), len(texts))

        raw = encoder.encode(windows, report)
        means = weighted_means(raw, windows.owner, windows.n_content, len(texts))
        return unit_length(means, encoder.name)

    @locked_property
    def _passages(self) -> TextEncoder:
        return self._encoder(self.model)

    @locked_property
    def _queries(self) -> TextEncoder:
        name = query_encoder_name(self.model)
        return self._passages if name == self.model else self._encoder(name)

    def _encoder(self, name: str) -> TextEncoder:
        how = name, self.precision, self.device, self.threads
        if self.runtime == "numpy":
            from gsum_resources.embedding.numpy_encoder import NumpyEncoder

            return NumpyEncoder(*how)
        return TextEncoder(*how)
