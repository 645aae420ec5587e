"""One transformer: token ids in, a pooled vector for each window out."""

import warnings
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gsum_resources.embedding.batches import equal_length_batches
from gsum_resources.embedding.model_files import (
    model_digest,
    model_folder,
    read_json,
    transformer_folder,
)
from gsum_resources.embedding.model_settings import ModelSettings, Pooling, read_model_settings
from gsum_resources.embedding.processor import (
    bfloat16_supported,
    physical_cores,
    torch_threads,
)
from gsum_resources.embedding.windows import WindowCutter

if TYPE_CHECKING:
    import torch

Precision = Literal["float32", "bfloat16"]

# On a processor a batch should fit its second-level cache (32 windows of 256 tokens ran at two
# thirds of the speed of 8); a GPU wants to be filled.
BATCH_TOKENS = {"cpu": 2048, "cuda": 65536}

# Smallest matrix products whose rows came out alike at every batch size; see `_padded_rows`.
_FLOOR_TOKENS = {"float32": 256, "bfloat16": 1024}


class TextEncoder:
    """A transformer with its tokenizer and settings; everything heavy is loaded on first use.

    Parameters
    ----------
    name : "packaged", a folder or a hub id.
    precision : of weights and activations.
    pooling : None takes what the model declares.
    device : "auto", "cpu" or "cuda".
    threads : of torch on the processor; None is the physical cores the process may use.
    """

    def __init__(
        self,
        name: str,
        precision: Precision,
        pooling: Pooling | None,
        device: str,
        threads: int | None,
    ) -> None:
        self.name = name
        self._precision: Precision = precision
        self._pooling: Pooling | None = pooling
        self._asked_device = device
        self._threads = threads or physical_cores()

    @cached_property
    def folder(self) -> Path:
        """The model's files; fetched from the hub where the name is an id."""
        return model_folder(self.name)

    @cached_property
    def settings(self) -> ModelSettings:
        """How the model is used; read from JSON, without torch."""
        return read_model_settings(self.folder, self.name, self._pooling)

    @cached_property
    def digest(self) -> str:
        """Distinguishes the weights, wherever they lie."""
        return model_digest(self.folder)

    @cached_property
    def cutter(self) -> WindowCutter:
        """The model's tokenizer."""
        return WindowCutter(transformer_folder(self.folder))

    @cached_property
    def _device(self) -> str:
        return resolve_device(self._asked_device)

    @cached_property
    def _model(self) -> Any:
        if self._precision == "bfloat16" and not bfloat16_supported(self._device):
            warnings.warn(
                f"bfloat16 has no hardware support on this {self._device}, so that embedding is "
                "slower than in float32; set precision='float32'",
                stacklevel=2,
            )
        return load_transformer(transformer_folder(self.folder), self.name, self._precision).to(
            self._device
        )

    def encode(
        self,
        windows: list[np.ndarray],
        batch_tokens: int | None,
        on_batch: Callable[[np.ndarray], None] | None = None,
    ) -> np.ndarray:
        """Pooled vectors of windows, not normalized, float32 `(n_windows, dim)`.

        Parameters
        ----------
        windows : token ids with special tokens.
        batch_tokens : most tokens in a batch; None is `BATCH_TOKENS` of the device.
        on_batch : called with the indices of the windows just done.
        """
        import torch

        vectors = np.empty((len(windows), self.settings.dimension), np.float32)
        with torch_threads(self._threads), torch.inference_mode():
            most = batch_tokens or BATCH_TOKENS[self._device]
            for batch in equal_length_batches([len(ids) for ids in windows], most):
                vectors[batch] = self._encode_batch(np.stack([windows[i] for i in batch]))
                if on_batch is not None:
                    on_batch(batch)
        return vectors

    def _encode_batch(self, ids: np.ndarray) -> np.ndarray:
        """`(rows, length)` token ids to `(rows, dim)`."""
        import torch

        padded = ids if self._device == "cuda" else _padded_rows(ids, self._precision)
        tokens = torch.from_numpy(padded).to(self._device)
        # All ones: no token is padding. Given all the same, since some models warn without.
        output = self._model(input_ids=tokens, attention_mask=torch.ones_like(tokens))
        pooled = _pool(output, self.settings.pooling)
        return pooled[: len(ids)].cpu().numpy()


def resolve_device(device: str) -> str:
    """ "auto" to "cuda" where there is a GPU, else "cpu".

    Raises
    ------
    ValueError
        If "cuda" is asked for and torch sees none.
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


def _padded_rows(ids: np.ndarray, precision: Precision) -> np.ndarray:
    """Repeats rows of a small batch until its matrix products reach their usual form.

    Matrix libraries take other kernels for few rows, whose sums round differently. A text alone
    would then differ in the last bits from the same text among others, and an incremental
    rebuild from a full one.
    """
    n_rows = -(-_FLOOR_TOKENS[precision] // ids.shape[1])
    return ids if len(ids) >= n_rows else np.resize(ids, (n_rows, ids.shape[1]))


def _pool(output: Any, pooling: Pooling) -> "torch.Tensor":
    """Token vectors `(rows, length, dim)` to one float32 vector a row, `(rows, dim)`."""
    hidden = getattr(output, "last_hidden_state", None)
    if hidden is None:  # DPR gives its first token's vector, projected, and no others
        return output.pooler_output.float()
    if pooling == "cls":
        return hidden[:, 0].float()
    if pooling == "last":
        return hidden[:, -1].float()
    return hidden.float().mean(1) if pooling == "mean" else hidden.float().amax(1)


def load_transformer(folder: Path, name: str, precision: Precision) -> Any:
    """The transformer in evaluation mode, in the precision asked for.

    Raises
    ------
    ValueError
        If the weights file lacks parameters that the vectors depend on: transformers would fill
        them with random numbers and go on.
    """
    import torch
    import transformers

    architectures = read_json(folder / "config.json").get("architectures") or []
    # DPR's two encoders share a configuration class, by which AutoModel takes the wrong one.
    is_dpr = bool(architectures) and str(architectures[0]).startswith("DPR")
    loader: Any = getattr(transformers, architectures[0]) if is_dpr else transformers.AutoModel
    bars = transformers.utils.logging.is_progress_bar_enabled()
    transformers.utils.logging.disable_progress_bar()
    try:
        model, report = loader.from_pretrained(
            folder,
            dtype=getattr(torch, precision),
            attn_implementation="eager" if is_dpr else "sdpa",
            output_loading_info=True,
        )
    finally:
        if bars:
            transformers.utils.logging.enable_progress_bar()
    missing = sorted(key for key in report["missing_keys"] if "pooler" not in key)
    if missing:
        raise ValueError(
            f"embedding model '{name}': {len(missing)} parameters are not in its weights file "
            f"(first: {missing[0]}), so its vectors would be random; download the model again, "
            "or give the encoder's own folder"
        )
    return model.eval()
