"""A transformer encoder: token ids in, one pooled vector per window out."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from gsum_resources.embedding.batches import equal_form_batches
from gsum_resources.embedding.model_files import (
    ModelSettings,
    Pooling,
    model_digest,
    model_folder,
    read_json,
    read_model_settings,
    transformer_folder,
)
from gsum_resources.embedding.processor import Precision, physical_cores, single_threaded_pool
from gsum_resources.embedding.windows import WindowCutter, Windows
from gsum_resources.store.locked_property import locked_property

if TYPE_CHECKING:
    import torch

# A GPU needs large batches. On a CPU a batch should fit into the second-level cache.
_MOST_TOKENS_CUDA = 65536
_MOST_TOKENS_CPU = 1024
_LOADING = Lock()

# Matrix libraries use different kernels for few rows, which round differently: the vector of a text
# would depend on the other texts of its batch. From these sizes on, rows were bitwise equal at
# every batch size tried: the packaged model, MKL and oneDNN with AVX2, AVX-512 and AMX, one thread.
_LEAST_TOKENS = {"float32": 128, "bfloat16": 512}

Compute = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""From ids and presence of tokens, `(rows, length)` both, to an array of as many rows."""


class TextEncoder:
    """A transformer with its tokenizer and settings; weights are loaded on first use."""

    def __init__(
        self,
        name: str,
        precision: Precision,
        device: str,
        threads: int | None,
    ) -> None:
        self.name = name
        self._precision: Precision = precision
        self._requested_device = device
        self._threads = threads

    @cached_property
    def folder(self) -> Path:
        """Folder of the model's files, downloaded from the hub if the name is a hub id."""
        return model_folder(self.name)

    @cached_property
    def settings(self) -> ModelSettings:
        """Pooling, prefixes and limits of the model, read from JSON without torch."""
        return read_model_settings(self.folder, self.name)

    @cached_property
    def digest(self) -> str:
        """Digest of the weights, independent of their path."""
        return model_digest(self.folder)

    @locked_property
    def cutter(self) -> WindowCutter:
        """The model's tokenizer."""
        return WindowCutter(transformer_folder(self.folder))

    @cached_property
    def _device(self) -> str:
        return resolve_device(self._requested_device)

    @locked_property
    def _model(self) -> Any:
        folder = transformer_folder(self.folder)
        return load_transformer(folder, self.name, self._precision).to(self._device)

    def encode(
        self, windows: Windows, on_batch: Callable[[np.ndarray], None] = lambda _: None
    ) -> np.ndarray:
        """Return the pooled vectors of windows, not normalized, float32 `(n_windows, dim)`.

        `on_batch` is called with the indices of the windows of each finished batch.
        """
        vectors = np.empty((len(windows.ids), self.settings.dimension), np.float32)
        for batch, of_batch in self._computed(windows.ids, windows.full_length, self._pooled):
            vectors[batch] = of_batch
            on_batch(batch)
        return vectors

    def encode_tokens(self, inputs: Sequence[np.ndarray], layer: int | None) -> list[np.ndarray]:
        """Return the unit vectors of each input's tokens, float32 `(n_tokens, dim)`.

        `inputs` are token ids, special tokens included, none longer than `settings.max_tokens`.
        `layer` is a number from 1, None the last; `ValueError` if the model has no such layer.
        """
        vectors: list[np.ndarray] = [np.empty(0)] * len(inputs)
        compute = partial(self._token_vectors, layer)
        for batch, of_batch in self._computed(inputs, self.settings.max_tokens, compute):
            for index, of_tokens in zip(batch, of_batch, strict=True):
                vectors[index] = of_tokens[: len(inputs[index])]
        return vectors

    def _computed(
        self, inputs: Sequence[np.ndarray], full_length: int, compute: Compute
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the indices of each batch of token ids, and what is computed of its rows."""
        lengths = np.array([len(ids) for ids in inputs], np.int64)
        least, most = self._batch_tokens

        def of_batch(form: tuple[int, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
            run_length, batch = form
            least_rows = -(-least // run_length)
            rows = np.resize(batch, max(len(batch), least_rows))  # further rows repeat the first
            ids = np.full((len(rows), run_length), self.settings.pad_id, np.int64)
            for row, index in enumerate(rows):
                ids[row, : lengths[index]] = inputs[index]
            present = np.arange(run_length) < lengths[rows][:, None]  # (rows, length)
            return batch, compute(ids, present)[: len(batch)]

        yield from self._mapped(of_batch, equal_form_batches(lengths, full_length, most))

    @property
    def _batch_tokens(self) -> tuple[int, int]:
        """The least and the most tokens of a batch."""
        if self._device == "cpu":
            return _LEAST_TOKENS[self._precision], _MOST_TOKENS_CPU
        return 0, _MOST_TOKENS_CUDA

    def _mapped(self, of_batch: Callable, batches: Iterable) -> Iterator:
        """Yield the results in order; on the CPU each batch is computed by one thread."""
        n_workers = (self._threads or physical_cores()) if self._device == "cpu" else 1
        with single_threaded_pool(n_workers) as pool:
            yield from pool.map(of_batch, batches)

    def _token_vectors(self, layer: int | None, ids: np.ndarray, present: np.ndarray) -> np.ndarray:
        """Return unit vectors of all tokens, `(rows, length, dim)`."""
        import torch

        states = self._output(ids, present, output_hidden_states=True)[0].hidden_states
        # input embeddings, then each layer's output
        if layer is not None and not 1 <= layer < len(states):
            raise ValueError(
                f"layer = {layer}: model '{self.name}' has {len(states) - 1} layers, "
                "from 1; None takes the last"
            )
        return torch.nn.functional.normalize(states[layer or -1].float(), dim=2).cpu().numpy()

    def _pooled(self, ids: np.ndarray, present: np.ndarray) -> np.ndarray:
        """Return one vector per row, `(rows, dim)`."""
        return _pool(*self._output(ids, present), self.settings.pooling).cpu().numpy()

    def _output(
        self, ids: np.ndarray, present: np.ndarray, **how: bool
    ) -> tuple[Any, "torch.Tensor"]:
        """Return the transformer's output and mask; `present` is False for padding."""
        import torch

        with torch.inference_mode():
            mask = torch.from_numpy(present.astype(np.int64)).to(self._device)
            wanted = torch.from_numpy(ids).to(self._device)
            return self._model(input_ids=wanted, attention_mask=mask, **how), mask


def resolve_device(device: str) -> str:
    """Return "cuda" for "auto" where there is a GPU, else "cpu".

    Raises `ValueError` if "cuda" is requested and torch sees no GPU.
    """
    if device == "cpu":
        return device
    import torch

    if torch.cuda.is_available():
        return "cuda"
    if device == "cuda":
        raise ValueError(
            "device 'cuda': torch sees no GPU; install a CUDA build of torch, or use 'auto'"
        )
    return "cpu"


def _pool(output: Any, mask: "torch.Tensor", pooling: Pooling) -> "torch.Tensor":
    """Return one float32 vector per row, `(rows, dim)`, for tokens `(rows, length, dim)`."""
    hidden = getattr(output, "last_hidden_state", None)
    if hidden is None:  # DPR returns only its first token's vector, projected
        return output.pooler_output.float()
    if pooling == "cls":
        return hidden[:, 0].float()
    lengths = mask.sum(1)  # (rows,)
    if pooling == "last":
        return hidden[range(len(hidden)), lengths - 1].float()
    present = mask.bool().unsqueeze(2)  # (rows, length, 1)
    if pooling == "max":
        return hidden.float().masked_fill(~present, -float("inf")).amax(1)
    return hidden.float().masked_fill(~present, 0).sum(1) / lengths.unsqueeze(1)


@contextmanager
def loading() -> Iterator[None]:
    """Let transformers load one model at a time, without a progress bar.

    It replaces functions of its own meanwhile, and of two loads at once restores the wrong ones.
    """
    from transformers.utils import logging

    with _LOADING:
        bars = logging.is_progress_bar_enabled()
        logging.disable_progress_bar()
        try:
            yield
        finally:
            if bars:
                logging.enable_progress_bar()


def load_transformer(folder: Path, name: str, precision: Precision) -> Any:
    """Return the transformer in evaluation mode, in the requested precision.

    Raises `ValueError` if the weights file lacks parameters, which transformers would initialize at
    random.
    """
    import torch
    import transformers

    architectures = read_json(folder / "config.json").get("architectures") or []
    # DPR's two encoders share a configuration class, so that AutoModel selects the wrong one.
    is_dpr = bool(architectures) and str(architectures[0]).startswith("DPR")
    loader: Any = getattr(transformers, architectures[0]) if is_dpr else transformers.AutoModel
    with loading():
        model, report = loader.from_pretrained(
            folder,
            dtype=getattr(torch, precision),
            attn_implementation="eager" if is_dpr else "sdpa",
            output_loading_info=True,
        )
    missing = sorted(key for key in report["missing_keys"] if "pooler" not in key)
    if missing:
        raise ValueError(
            f"embedding model '{name}': {len(missing)} parameters are not in its weights file "
            f"(first: {missing[0]}), so its vectors would be random; download the model again, "
            "or give the encoder's own folder"
        )
    encoder = model.get_encoder() if model.config.is_encoder_decoder else model  # BART, T5
    return encoder.eval()
