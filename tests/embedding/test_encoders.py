"""Encoders: windows, batches, numpy beside torch, and processors."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsum_resources.embedding.batches import equal_form_batches, run_lengths
from gsum_resources.embedding.embedder import LocalEmbedder
from gsum_resources.embedding.windows import WindowCutter, unit_length, weighted_means
from tests.embedding.tiny_models import token_ids, write_tokenizer

pytestmark = pytest.mark.slow

# Windows cover every token; batches take every window once; vectors by closed form.


def test_windows_known_values(tmp_path):
    write_tokenizer(tmp_path)
    cutter = WindowCutter(tmp_path)
    windows = cutter.cut(["a b c d e", "f"], window_tokens=2, prefix="q x ")
    cls, sep = 2, 3
    opening = [cls, *token_ids("q x")]
    expected = ["a b", "c d", "e", "f"]
    assert [w.tolist() for w in windows.ids] == [[*opening, *token_ids(w), sep] for w in expected]
    assert windows.owner.tolist() == [0, 0, 0, 1]
    assert windows.n_content.tolist() == [2, 2, 1, 1]
    assert windows.full_length == 2 + 2 + 2


@pytest.mark.parametrize("prefix", ["", "q "])
def test_a_text_without_tokens_is_read_as_a_full_stop(tmp_path, prefix):
    write_tokenizer(tmp_path)
    cutter = WindowCutter(tmp_path)
    blank = cutter.cut(["a", " \n\t"], 2, prefix)
    stop = cutter.cut(["a", "."], 2, prefix)
    assert [ids.tolist() for ids in blank.ids] == [ids.tolist() for ids in stop.ids]
    assert blank.owner.tolist() == [0, 1]
    assert blank.n_content.tolist() == [1, 1]


lengths_and_full = st.integers(3, 300).flatmap(
    lambda full: st.tuples(st.lists(st.integers(3, full), max_size=60), st.just(full))
)


@given(lengths_and_full, st.integers(1, 3000))
def test_batches_hold_every_window_once_within_the_budget(drawn, budget):
    lengths, full = np.array(drawn[0], np.int64), drawn[1]
    batches = list(equal_form_batches(lengths, full, budget))
    taken = [index for _, batch in batches for index in batch.tolist()]
    assert sorted(taken) == list(range(len(lengths)))
    for run, batch in batches:
        assert len(batch) == 1 or len(batch) * run <= budget
        assert (lengths[batch] <= run).all()
        # All or none are padded: an attention mask is there for the whole batch or for none.
        assert len({bool(length < run) for length in lengths[batch]}) == 1


def test_window_is_padded_to_its_own_length():
    lengths = np.array([3, 7, 8, 15, 250, 256, 257, 258])
    assert run_lengths(lengths, 258).tolist() == [8, 8, 16, 16, 256, 258, 258, 258]
    assert run_lengths(lengths[:1], 258).tolist() == [8]


def test_weighted_mean_has_unit_length():
    vectors = np.array([[1, 0], [0, 1], [3, 4]], np.float32)
    means = weighted_means(vectors, np.array([0, 0, 1]), np.array([3, 1, 5]), 2)
    np.testing.assert_allclose(means, [[0.75, 0.25], [3, 4]])
    units = unit_length(means, "m")
    assert units.dtype == np.float32
    np.testing.assert_allclose(units[1], [0.6, 0.8], atol=1e-7)
    for broken in ([0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0]):
        with pytest.raises(ValueError, match=r"'m': 1 of 2 vectors.*row 1"):
            unit_length(np.array([[1.0, 0.0], broken]), "m")


# The packaged model in numpy against the same in torch.

TEXTS = ["Who paid?", "The ferry was late because the hull leaked. " * 3, "word " * 400]


def test_vectors_equal_those_of_torch() -> None:
    ours, torchs = LocalEmbedder(runtime="numpy"), LocalEmbedder()
    assert torchs.runs_in_numpy
    np.testing.assert_allclose(ours.embed(TEXTS), torchs.embed(TEXTS), atol=2e-6)
    assert ours.identity != torchs.identity


def test_torch_is_not_imported() -> None:
    code = (
        "import sys; from gsum_resources.embedding.embedder import LocalEmbedder\n"
        "LocalEmbedder(runtime='numpy').embed_queries(['Who paid?'])\n"
        "assert not {'torch', 'transformers'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# Vectors agree across processor features up to the last bits.

TOLERANCE = 1e-5  # of unit vectors; measured 2.3e-7 between AVX-512, AVX2 and neither
PROGRAM = """
import sys
import numpy as np
from gsum_resources.embedding.embedder import LocalEmbedder
texts = ["Why did the board wait?", "The heron met the boat. " * 20, "A lamp."]
np.save(sys.argv[1], LocalEmbedder(device="cpu", threads=1).embed(texts))
"""


def test_other_processor_features_stay_within_tolerance(tmp_path: Path) -> None:
    vectors = []
    for features in ({}, {"ATEN_CPU_CAPABILITY": "default"}):  # which every processor can do
        file = tmp_path / f"{len(features)}.npy"
        command = [sys.executable, "-c", PROGRAM, str(file)]
        subprocess.run(command, env=os.environ | features, check=True, capture_output=True)
        vectors.append(np.load(file))
    np.testing.assert_allclose(*vectors, rtol=0, atol=TOLERANCE)
