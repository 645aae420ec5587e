"""Trained weights as safetensors bytes with a description.

The description is stored as JSON under a single key of the header: safetensors writes several keys
in an order that differs between processes, and equal checkpoints must be equal bytes.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gsum_resources.store.content_hash import hash_texts

_KEY = "gsum"
_DESCRIBED = ("encoder", "dimension", "embedding_model", "epochs", "settings")


class CheckpointError(ValueError):
    """A checkpoint that cannot be used; the message names the reason and the remedy."""


@dataclass(frozen=True)
class Checkpoint:
    """Weights and the description needed to use them.

    Attributes
    ----------
    dimension : dimension of input and output embeddings.
    embedding_model : identity of the embedder whose vectors it was trained on.
    settings : JSON-serializable settings from which the encoder can be rebuilt.
    """

    encoder: str
    dimension: int
    embedding_model: str
    epochs: int
    settings: Mapping[str, Any]
    weights: Mapping[str, np.ndarray] = field(repr=False)

    @property
    def description(self) -> dict[str, Any]:
        """All fields except the weights, as plain values."""
        described = {name: getattr(self, name) for name in _DESCRIBED}
        return described | {"settings_hash": hash_texts([_canonical(self.settings)], 8)}

    def to_bytes(self) -> bytes:
        """Return safetensors bytes, equal for equal checkpoints."""
        from safetensors.numpy import save

        arrays = {name: np.asarray(array, order="C") for name, array in self.weights.items()}
        return save(arrays, {_KEY: _canonical(self.description)})

    @classmethod
    def from_bytes(cls, content: bytes) -> "Checkpoint":
        """Read a checkpoint; raise `CheckpointError` if `to_bytes` did not write the bytes."""
        from safetensors import SafetensorError
        from safetensors.numpy import load

        try:
            weights = load(content)
            # The library reads metadata only from a file: 8 bytes of length, then a header of JSON.
            length = int.from_bytes(content[:8], "little")
            description = json.loads(json.loads(content[8 : 8 + length])["__metadata__"][_KEY])
            return cls(**{name: description[name] for name in _DESCRIBED}, weights=weights)
        except (SafetensorError, ValueError, KeyError, TypeError) as error:
            raise CheckpointError(
                f"checkpoint: {len(content)} bytes are not safetensors with gsum's description "
                f"({type(error).__name__}: {error}); train it again"
            ) from error

    def require(self, embedding_model: str, dimension: int) -> None:
        """Raise `CheckpointError` if gor/model trained it on another model or dimension."""
        if (self.embedding_model, self.dimension) != (embedding_model, dimension):
            raise CheckpointError(
                f"checkpoint: encoder '{self.encoder}' was trained on embeddings of "
                f"'{self.embedding_model}' with {self.dimension} dimensions, these come from "
                f"'{embedding_model}' and have {dimension}; materialize gor/model again, or set "
                "the embedding model back"
            )


def learnt_hash(document_id: str) -> str:
    """Return the hash of a document id in a model, which outlives the document and its name."""
    return hash_texts([document_id], 8)


def _canonical(value: Mapping[str, Any]) -> str:
    return json.dumps(dict(value), sort_keys=True)
