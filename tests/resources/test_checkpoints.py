"""Checkpoints: reproducible bytes, lossless round trip, and errors for mismatches."""

import subprocess
import sys

import numpy as np
import pytest
from safetensors.numpy import save

from gsum_resources.store.checkpoints import Checkpoint, CheckpointError

WEIGHTS = {
    "matrix": np.arange(6, dtype=np.float32).reshape(2, 3),
    "gate": np.array(0.1, np.float32),
    "columns": np.asfortranarray(np.arange(4, dtype=np.float32).reshape(2, 2)),
}
MADE = Checkpoint("gat", 3, "model-a", 150, {"seed": 0, "loss": {"alpha": 0.9}}, WEIGHTS)


def test_checkpoint_round_trips():
    back = Checkpoint.from_bytes(MADE.to_bytes())
    assert back.description == MADE.description
    assert back.weights.keys() == WEIGHTS.keys()
    for name, array in WEIGHTS.items():
        assert back.weights[name].shape == array.shape
        np.testing.assert_array_equal(back.weights[name], array)


def test_bytes_are_equal_in_another_process():
    code = (
        "from tests.resources.test_checkpoints import MADE;"
        "import hashlib; print(hashlib.sha256(MADE.to_bytes()).hexdigest())"
    )
    hashes = {subprocess.check_output([sys.executable, "-c", code]) for _ in range(3)}
    assert len(hashes) == 1


def test_other_dimension_or_embedding_model_is_reported():
    MADE.require("model-a", 3)
    for model, dimension in (("model-a", 5), ("model-b", 3)):
        message = (
            f"'model-a' with 3 dimensions, these come from '{model}' and have {dimension}; mat"
        )
        with pytest.raises(CheckpointError, match=message):
            MADE.require(model, dimension)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "0 bytes are not safetensors"),
        (b"x" * 100, "100 bytes are not safetensors"),
        (MADE.to_bytes()[:-4], "not safetensors"),
        (save({"a": np.zeros(2)}), "not safetensors with gsum's description"),
        (save({}, {"gsum": '{"encoder": "gat"}'}), "KeyError: 'dimension'"),
    ],
)
def test_corrupt_bytes_are_refused(content, message):
    with pytest.raises(CheckpointError, match=message):
        Checkpoint.from_bytes(content)
