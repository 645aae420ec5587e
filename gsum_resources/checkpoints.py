"""Trained weights as safetensors bytes that say what they are.

All of the description stands as JSON under one key of the header: safetensors writes several
keys in an order of its own, which differs from one process to the next, and equal checkpoints
must be equal bytes.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gsum_resources.content_hash import hash_texts

_KEY = "gsum"


class CheckpointError(ValueError):
    """A checkpoint that cannot be used here; the message says why and what to do."""


@dataclass(frozen=True)
class Checkpoint:
    """Weights and what they need to be used.

    Attributes
    ----------
    encoder : name of the architecture.
    dimension : of the embeddings that it takes and gives.
    embedding_model : identity of the embedder whose vectors it was trained on.
    epochs : that it was trained for.
    settings : JSON-serializable; enough to build the encoder again.
    weights : name to array.
    """

    encoder: str
    dimension: int
    embedding_model: str
    epochs: int
    settings: Mapping[str, Any]
    weights: Mapping[str, np.ndarray] = field(repr=False)

    @property
    def settings_hash(self) -> str:
        """Changes with any setting."""
        return hash_texts([_canonical(self.settings)], 8)

    @property
    def description(self) -> dict[str, Any]:
        """Everything but the weights, as plain values."""
        return {
            "encoder": self.encoder,
            "dimension": self.dimension,
            "embedding_model": self.embedding_model,
            "epochs": self.epochs,
            "settings": dict(self.settings),
            "settings_hash": self.settings_hash,
        }

    def to_bytes(self) -> bytes:
        """Safetensors; the same bytes for the same checkpoint, always."""
        return pack(self.weights, self.description)

    @classmethod
    def from_bytes(cls, content: bytes) -> "Checkpoint":
        """What `to_bytes` wrote.

        Raises
        ------
        CheckpointError
            If these are not safetensors, or not written by `to_bytes`.
        """
        weights, told = unpack(content)
        names = ("encoder", "dimension", "embedding_model", "epochs", "settings")
        missing = [name for name in names if name not in told]
        if missing:
            raise CheckpointError(f"checkpoint: its description lacks {missing}; train it again")
        return cls(**{name: told[name] for name in names}, weights=weights)

    def require(self, embedding_model: str, dimension: int) -> None:
        """Nothing if the checkpoint fits the embeddings at hand.

        Raises
        ------
        CheckpointError
            If it was trained on vectors of another model or another dimension.
        """
        remedy = "materialize gor/model again, or set the embedding model back"
        if self.dimension != dimension:
            raise CheckpointError(
                f"checkpoint: encoder '{self.encoder}' takes vectors of dimension "
                f"{self.dimension} ({self.embedding_model}), these have {dimension} "
                f"({embedding_model}); {remedy}"
            )
        if self.embedding_model != embedding_model:
            raise CheckpointError(
                f"checkpoint: encoder '{self.encoder}' was trained on embeddings of "
                f"'{self.embedding_model}', these come from '{embedding_model}'; {remedy}"
            )


def pack(tensors: Mapping[str, np.ndarray], description: Mapping[str, Any]) -> bytes:
    """Named arrays and a JSON-serializable description as safetensors bytes."""
    from safetensors.numpy import save

    arrays = {name: np.asarray(array, order="C") for name, array in tensors.items()}
    return save(arrays, {_KEY: _canonical(description)})


def unpack(content: bytes) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """What `pack` was given.

    Raises
    ------
    CheckpointError
        If these are not safetensors, or carry no description.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        tensors = load(content)
        # The library reads a header's metadata only from a file: 8 bytes of length, then JSON.
        length = int.from_bytes(content[:8], "little")
        metadata = json.loads(content[8 : 8 + length]).get("__metadata__", {})
    except (SafetensorError, ValueError) as error:
        raise CheckpointError(
            f"checkpoint: {len(content)} bytes are not safetensors ({error}); train it again"
        ) from error
    if _KEY not in metadata:
        raise CheckpointError("checkpoint: safetensors without gsum's description; train it again")
    return tensors, json.loads(metadata[_KEY])


def _canonical(value: Mapping[str, Any]) -> str:
    return json.dumps(dict(value), sort_keys=True)
