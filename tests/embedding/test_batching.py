"""A text's vector is the same to the last bit alone, in a handful and in a crowd."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsum_resources.embedding.batches import filled_up
from gsum_resources.embedding.embedder import LocalEmbedder
from gsum_resources.embedding.encoder import Precision
from gsum_resources.embedding.processor import bfloat16_supported

PRECISIONS: tuple[Precision, ...] = ("float32", "bfloat16")
# Of 4, 16, 60, 68 and 164 tokens: the first three are run by one thread when they are alone.
QUESTIONS = ["Why " + "did the board wait " * n + "?" for n in (0, 3, 14, 16, 40)]


@given(st.integers(1, 300), st.integers(3, 300), st.sampled_from(PRECISIONS), st.integers(1, 64))
def test_batch_keeps_windows_and_uses_at_most_available_threads(
    n_windows, run_length, precision, threads
):
    rows, used = filled_up(n_windows, run_length, precision, threads)
    assert rows >= n_windows
    assert 1 <= used <= threads
    more_rows, more_used = filled_up(n_windows + 1, run_length, precision, threads)
    assert more_rows >= rows
    assert more_used >= used


def test_one_question_uses_one_thread_and_a_large_batch_uses_all():
    assert filled_up(1, 64, "float32", 8) == (1, 1)
    assert filled_up(1, 72, "float32", 8) == (15, 8)
    assert filled_up(100, 24, "float32", 8) == (100, 8)
    assert filled_up(1, 64, "bfloat16", 2) == (8, 1)


@pytest.mark.skipif(not bfloat16_supported(), reason="measured on processors with bfloat16 only")
@pytest.mark.parametrize("precision", PRECISIONS)
def test_one_and_two_threads_give_equal_bits(precision):
    embedder = LocalEmbedder(precision=precision, device="cpu", threads=2)
    crowd = embedder.embed(QUESTIONS * 9)[: len(QUESTIONS)]
    for question, expected in zip(QUESTIONS, crowd, strict=True):
        np.testing.assert_array_equal(embedder.embed([question])[0], expected)
