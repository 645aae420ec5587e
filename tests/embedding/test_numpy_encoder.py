"""The packaged model in numpy against the same in torch."""

import subprocess
import sys

import numpy as np

from gsum_resources.embedding.embedder import LocalEmbedder

TEXTS = ["Who paid?", "The ferry was late because the hull leaked. " * 3, "word " * 400]


def test_vectors_equal_those_of_torch() -> None:
    assert LocalEmbedder().runs_in_numpy
    ours = LocalEmbedder(runtime="numpy").embed(TEXTS)
    np.testing.assert_allclose(ours, LocalEmbedder().embed(TEXTS), atol=2e-6)


def test_identity_differs_from_torch() -> None:
    assert LocalEmbedder(runtime="numpy").identity != LocalEmbedder().identity


def test_torch_is_not_imported() -> None:
    code = (
        "import sys; from gsum_resources.embedding.embedder import LocalEmbedder\n"
        "LocalEmbedder(runtime='numpy').embed_queries(['Who paid?'])\n"
        "assert not {'torch', 'transformers'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
