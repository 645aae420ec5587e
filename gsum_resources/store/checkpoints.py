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
        return pack(self.weights, self.description)

    @classmethod
    def from_bytes(cls, content: bytes) -> "Checkpoint":
        """Read a checkpoint; raise `CheckpointError` if `to_bytes` did not write the bytes."""
        weights, description = unpack(content)
        if missing := [name for name in _DESCRIBED if name not in description]:
            raise CheckpointError(f"checkpoint: its description lacks {missing}; train it again")
        return cls(**{name: description[name] for name in _DESCRIBED}, weights=weights)

    def require(self, embedding_model: str, dimension: int, asset: str = "gor/model") -> None:
        """Raise `CheckpointError` if `asset` trained it on another model or dimension."""
        remedy = f"materialize {asset} again, or set the embedding model back"
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


def learnt_hash(document_id: str) -> str:
    """Return the hash of a document id in a model, which outlives the document and its name."""
    return hash_texts([document_id], 8)


def pack(tensors: Mapping[str, np.ndarray], description: Mapping[str, Any]) -> bytes:
    """Return named arrays and a JSON-serializable description as safetensors bytes."""
    from safetensors.numpy import save

    arrays = {name: np.asarray(array, order="C") for name, array in tensors.items()}
    return save(arrays, {_KEY: _canonical(description)})


def unpack(content: bytes) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return what was passed to `pack`; raise `CheckpointError` if the bytes are something else."""
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
