"""Vectors agree across processor features up to the last bits."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.slow

TOLERANCE = 1e-5  # of unit vectors; measured 2.3e-7 between AVX-512, AVX2 and neither
PROGRAM = """
import sys
import numpy as np
from gsum_resources.embedding.embedder import LocalEmbedder
texts = ["Why did the board wait?", "The heron met the boat. " * 20, "A lamp."]
np.save(sys.argv[1], LocalEmbedder(device="cpu", threads=1).embed(texts))
"""


def embedded(path: Path, **features: str) -> np.ndarray:
    """Vectors of a process that uses these processor features."""
    environment = {**os.environ, **features}
    command = [sys.executable, "-c", PROGRAM, str(path)]
    subprocess.run(command, env=environment, check=True, capture_output=True)
    return np.load(path)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> np.ndarray:
    """Without vector extensions, which every processor can do."""
    path = tmp_path_factory.mktemp("plain") / "vectors.npy"
    return embedded(path, ATEN_CPU_CAPABILITY="default")


def test_same_features_give_the_same_bytes(tmp_path: Path, plain: np.ndarray) -> None:
    again = embedded(tmp_path / "again.npy", ATEN_CPU_CAPABILITY="default")
    assert again.tobytes() == plain.tobytes()


def test_other_cpu_features_stay_within_tolerance(tmp_path: Path, plain: np.ndarray) -> None:
    native = embedded(tmp_path / "native.npy")
    np.testing.assert_allclose(native, plain, rtol=0, atol=TOLERANCE)
