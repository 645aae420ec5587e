"""A BERT encoder in numpy: embeds a few texts faster than torch can be imported."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path

import numpy as np

from gsum_resources.embedding.encoder import TextEncoder
from gsum_resources.embedding.model_files import read_json, transformer_folder, weight_files
from gsum_resources.store.locked_property import locked_property

_FEW_ROWS = 48
Weights = Mapping[str, np.ndarray]


def is_plain_bert(folder: Path) -> bool:
    """Return whether `NumpyEncoder` supports a model: BERT with GELU in one safetensors file."""
    config = read_json(transformer_folder(folder) / "config.json")
    files = weight_files(folder)
    return (
        config.get("model_type") == "bert"
        and config.get("hidden_act") == "gelu"
        and config.get("position_embedding_type", "absolute") == "absolute"
        and len(files) == 1
        and files[0].suffix == ".safetensors"
    )


class NumpyEncoder(TextEncoder):
    """The transformer of a plain BERT without torch; vectors agree with torch's to about 1e-6.

    Sums run in another order than in torch, so that its vectors have a separate identity.
    """

    @cached_property
    def _config(self) -> Mapping:
        return read_json(transformer_folder(self.folder) / "config.json")

    @locked_property
    def _weights(self) -> Weights:
        from safetensors.numpy import load_file

        loaded = load_file(weight_files(self.folder)[0])
        return {
            name.removeprefix("bert."): np.asarray(value, np.float32)
            for name, value in loaded.items()
        }

    @property
    def _batch_tokens(self) -> tuple[int, int]:
        return 0, 1024  # one layer's data fits into the second-level cache

    def _mapped(self, of_batch: Callable, batches: Iterable) -> Iterator:
        return map(of_batch, batches)

    def _pooled(self, ids: np.ndarray, present: np.ndarray) -> np.ndarray:
        hidden = bert(self._weights, self._config, ids, present)
        return pooled(hidden, present, self.settings.pooling)


def bert(weights: Weights, config: Mapping, ids: np.ndarray, present: np.ndarray) -> np.ndarray:
    """Return the output of the last layer, `(rows, length, dim)` (Devlin et al. 2019).

    `ids` are tokens, `present` is False for padding, both `(rows, length)`.
    """
    eps = float(config["layer_norm_eps"])
    n_rows, length = ids.shape
    x = (
        weights["embeddings.word_embeddings.weight"][ids]
        + weights["embeddings.position_embeddings.weight"][:length]
        + weights["embeddings.token_type_embeddings.weight"][0]
    ).reshape(n_rows * length, -1)
    x = _layer_norm(weights, "embeddings.LayerNorm", x, eps)
    mask = np.where(present, 0, np.finfo(np.float32).min).astype(np.float32)
    for layer in range(config["num_hidden_layers"]):
        name = f"encoder.layer.{layer}."
        attended = _attention(weights, name, x, mask, config["num_attention_heads"])
        attended = _linear(weights, name + "attention.output.dense", attended)
        x = _layer_norm(weights, name + "attention.output.LayerNorm", x + attended, eps)
        inner = _gelu(_linear(weights, name + "intermediate.dense", x))
        inner = _linear(weights, name + "output.dense", inner)
        x = _layer_norm(weights, name + "output.LayerNorm", x + inner, eps)
    return x.reshape(n_rows, length, -1)


def pooled(hidden: np.ndarray, present: np.ndarray, pooling: str) -> np.ndarray:
    """Return one vector per row, `(rows, dim)`, for token vectors `(rows, length, dim)`."""
    if pooling == "cls":
        return hidden[:, 0]
    if pooling == "last":
        return hidden[np.arange(len(hidden)), present.sum(1) - 1]
    is_token = present[:, :, None]
    if pooling == "max":
        return np.where(is_token, hidden, -np.inf).max(1)
    return (hidden * is_token).sum(1) / is_token.sum(1)


def _linear(weights: Weights, name: str, x: np.ndarray) -> np.ndarray:
    weight = weights[f"{name}.weight"]
    # a question has few rows, with which the transposed product is faster and equal in all bits
    product = np.ascontiguousarray((weight @ x.T).T) if len(x) <= _FEW_ROWS else x @ weight.T
    product += weights[f"{name}.bias"]
    return product


def _layer_norm(weights: Weights, name: str, x: np.ndarray, eps: float) -> np.ndarray:
    centred = x - x.mean(1, keepdims=True)
    spread = np.sqrt((centred * centred).mean(1, keepdims=True) + eps)
    return centred / spread * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def _attention(
    weights: Weights, name: str, x: np.ndarray, mask: np.ndarray, n_heads: int
) -> np.ndarray:
    """Return all heads' self-attention plus `mask` `(rows, length)`, `(rows * length, dim)`."""
    n_rows, length = mask.shape

    def heads(kind: str) -> np.ndarray:  # (rows, heads, length, dim / heads)
        projected = _linear(weights, f"{name}attention.self.{kind}", x)
        return projected.reshape(n_rows, length, n_heads, -1).transpose(0, 2, 1, 3)

    queries, keys, values = heads("query"), heads("key"), heads("value")
    scores = queries @ keys.transpose(0, 1, 3, 2)  # (rows, heads, length, length)
    scores *= np.float32(queries.shape[-1] ** -0.5)
    scores += mask[:, None, None, :]
    scores -= scores.max(-1, keepdims=True)
    shares = np.exp(scores)
    shares /= shares.sum(-1, keepdims=True)
    return (shares @ values).transpose(0, 2, 1, 3).reshape(n_rows * length, -1)


def _gelu(x: np.ndarray) -> np.ndarray:
    from scipy.special import erf

    factor = x * np.float32(0.5**0.5)
    erf(factor, out=factor)
    factor += 1
    factor *= x * np.float32(0.5)
    return factor
