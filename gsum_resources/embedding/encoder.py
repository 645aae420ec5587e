"""A transformer encoder: token ids in, one pooled vector per window out."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from gsum_resources.embedding.batches import batches_of, equal_form_batches, filled_up
from gsum_resources.embedding.model_files import (
    ModelSettings,
    Pooling,
    model_digest,
    model_folder,
    read_json,
    read_model_settings,
    transformer_folder,
)
from gsum_resources.embedding.processor import (
    Precision,
    physical_cores,
    single_threaded_pool,
    torch_threads,
)
from gsum_resources.embedding.windows import WindowCutter, Windows
from gsum_resources.store.locked_property import locked_property

if TYPE_CHECKING:
    import torch

# A GPU needs large batches. On a CPU a batch should fit into the second-level caches.
_BATCH_TOKENS_CUDA = 65536
_BATCH_TOKENS_PER_THREAD = 1024
_LOADING = Lock()


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
        self._threads = threads or physical_cores()

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

    @property
    def _batch_tokens(self) -> int:
        on_processor = self._device == "cpu"
        return _BATCH_TOKENS_PER_THREAD * self._threads if on_processor else _BATCH_TOKENS_CUDA

    @locked_property
    def _model(self) -> Any:
        folder = transformer_folder(self.folder)
        return load_transformer(folder, self.name, self._precision).to(self._device)

    def encode(
        self, windows: Windows, on_batch: Callable[[np.ndarray], None] | None = None
    ) -> np.ndarray:
        """Return the pooled vectors of windows, not normalized, float32 `(n_windows, dim)`.

        `on_batch` is called with the indices of the windows of each finished batch.
        """
        vectors = np.empty((len(windows.ids), self.settings.dimension), np.float32)
        lengths = np.array([len(ids) for ids in windows.ids], np.int64)
        for run_length, batch in equal_form_batches(
            lengths, windows.full_length, self._batch_tokens
        ):
            ids = np.full((len(batch), run_length), self.settings.pad_id, np.int64)
            for row, window in enumerate(batch):
                ids[row, : lengths[window]] = windows.ids[window]
            present = np.arange(run_length) < lengths[batch][:, None]  # (rows, length)
            vectors[batch] = self._encode_batch(ids, present)
            if on_batch is not None:
                on_batch(batch)
        return vectors

    def encode_tokens(self, inputs: Sequence[np.ndarray], layer: int | None) -> list[np.ndarray]:
        """Return the unit vectors of each input's tokens, float32 `(n_tokens, dim)`.

        `inputs` are token ids, special tokens included, none longer than `settings.max_tokens`;
        those of equal length share batches. `layer` is a number from 1, None the last; `ValueError`
        if the model has no such layer.
        """
        on_cpu = self._device == "cpu"
        vectors: list[np.ndarray] = [np.empty(0)] * len(inputs)

        def embed(length: int, batch: np.ndarray) -> None:
            n_rows = len(batch)
            if on_cpu:
                n_rows, _ = filled_up(n_rows, length, self._precision, 1)
            ids = np.stack([inputs[i] for i in np.resize(batch, n_rows)])
            for index, of_text in zip(batch, self._token_batch(ids, layer), strict=False):
                vectors[index] = of_text

        lengths = np.array([len(ids) for ids in inputs], np.int64)
        most = _BATCH_TOKENS_PER_THREAD if on_cpu else _BATCH_TOKENS_CUDA
        self._model  # noqa: B018 - loaded before threads need it
        with single_threaded_pool(self._threads if on_cpu else 1) as pool:
            list(pool.map(lambda batch: embed(*batch), batches_of(lengths, lengths, most)))
        return vectors

    def _token_batch(self, ids: np.ndarray, layer: int | None) -> np.ndarray:
        """Return unit vectors for `(n_inputs, n_tokens)` ids, `(n_inputs, n_tokens, dim)`."""
        import torch

        with torch.inference_mode():
            wanted = torch.from_numpy(ids.astype(np.int64)).to(self._device)
            model = self._model
            if model.config.is_encoder_decoder:  # BART, T5
                model = model.get_encoder()
            states = model(input_ids=wanted, output_hidden_states=True).hidden_states
            # input embeddings, then each layer's output
            if layer is not None and not 1 <= layer < len(states):
                raise ValueError(
                    f"layer = {layer}: model '{self.name}' has {len(states) - 1} layers, "
                    "from 1; None takes the last"
                )
            unit = torch.nn.functional.normalize(states[layer or -1].float(), dim=2)
            return unit.cpu().numpy()

    def _encode_batch(self, ids: np.ndarray, present: np.ndarray) -> np.ndarray:
        """Return vectors `(n_windows, dim)` of padded ids; `present` is False for padding."""
        import torch

        n_windows, run_length = ids.shape
        n_rows, threads = n_windows, self._threads
        if self._device == "cpu":
            n_rows, threads = filled_up(n_windows, run_length, self._precision, threads)
        rows = np.arange(n_rows) % n_windows  # rows beyond the windows repeat them
        with torch_threads(threads), torch.inference_mode():
            mask = torch.from_numpy(present[rows].astype(np.int64)).to(self._device)
            wanted = torch.from_numpy(ids[rows]).to(self._device)
            output = self._model(input_ids=wanted, attention_mask=mask)
            return _pool(output, mask, self.settings.pooling)[:n_windows].cpu().numpy()


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
    return model.eval()
