"""Windows cover every token; batches take every window once; vectors by closed form."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsum_resources.embedding.batches import equal_form_batches, run_lengths
from gsum_resources.embedding.vectors import unit_length, weighted_means
from gsum_resources.embedding.windows import WindowCutter
from tests.embedding.tiny_models import token_ids, write_tokenizer


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
