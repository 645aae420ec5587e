import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsum_assets.retrieval.full_context import FullContext, spans
from tests.retrieval.toys import collection, toy_question

lengths = st.lists(st.integers(1, 20), max_size=30)


def test_texts_are_in_reading_order():
    found = FullContext(collection()).scores(toy_question("?", "!"))
    assert (found.nodes[0] == found.nodes[1]).all()
    assert (found.nodes[0, :-1] > found.nodes[0, 1:]).all()
    assert (found.documents[0, :-1] > found.documents[0, 1:]).all()


def test_fitting_document_is_one_span():
    assert spans([10, 10, 10], 30, n_spans=5, seed=0) == [range(3)]
    assert spans([], 30, n_spans=5, seed=0) == []


def test_spans_known_values():
    assert spans([10] * 5, 30, n_spans=9, seed=0) == [range(3), range(1, 4), range(2, 5)]
    assert spans([10, 25, 5, 10], 30, n_spans=9, seed=0) == [range(1), range(1, 3), range(2, 4)]


def test_tokens_shared_by_neighbours_count_once():
    # 10 + 8 + 8 = 26 fit into 26, a fourth chunk does not.
    assert spans([10] * 4, 26, n_spans=9, seed=0, overlap_tokens=2) == [range(3), range(1, 4)]
    assert spans([10] * 4, 26, n_spans=9, seed=0)[0] == range(2)


def used(run, tokens, overlap):
    return sum(tokens[i] if i == run.start else max(tokens[i] - overlap, 0) for i in run)


@given(lengths, st.integers(20, 60), st.integers(1, 5), st.integers(0, 9), st.integers(0, 25))
def test_spans_fill_the_window_and_never_exceed_it(tokens, window, n_spans, seed, overlap):
    found = spans(tokens, window, n_spans, seed, overlap)
    assert len(found) <= n_spans
    assert len(set(found)) == len(found)
    assert bool(found) == bool(tokens)
    for run in found:
        assert len(run) > 0
        assert used(run, tokens, overlap) <= window
        longer = range(run.start, run.stop + 1)
        assert run.stop == len(tokens) or used(longer, tokens, overlap) > window


@given(lengths, st.integers(20, 60))
def test_possible_spans_cover_the_document(tokens, window):
    everything = spans(tokens, window, n_spans=len(tokens) + 1, seed=0)
    assert {i for run in everything for i in run} == set(range(len(tokens)))


def test_seed_decides_the_spans():
    tokens = [1] * 100
    assert spans(tokens, 10, 3, seed=4) == spans(tokens, 10, 3, seed=4)
    assert len({tuple(spans(tokens, 10, 3, seed=s)) for s in range(10)}) == 10


def test_invalid_arguments_raise():
    with pytest.raises(ValueError, match=r"chunk of 40 tokens exceeds the window of 30; cut"):
        spans([10, 40], 30, 2, seed=0)
    with pytest.raises(ValueError, match="n_spans is 0"):
        spans([10, 40], 50, 0, seed=0)
