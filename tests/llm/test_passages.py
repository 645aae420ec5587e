"""Overlapping chunks join to the text they were cut from, in any order."""

import random

from hypothesis import given
from hypothesis import strategies as st

from gsum_resources.text.passages import join_overlapping

TEXT = " ".join(f"sentence{i} has its own number {i * 7919}." for i in range(60))


@given(st.permutations(range(9)))
def test_chunks_of_one_text_join_to_it(order):
    step, size = 260, 320
    chunks = [TEXT[i * step : i * step + size].strip() for i in range(9)]
    covered = TEXT[: 8 * step + size].strip()
    assert join_overlapping([chunks[i] for i in order]) == [covered]


def test_disjoint_passages_keep_the_given_order():
    passages = [f"{name} " * 20 for name in ("beta", "alpha", "gamma")]
    assert join_overlapping(passages) == [p.strip() for p in passages]


def test_joined_run_takes_the_position_of_its_best_passage():
    first, second, other = TEXT[:300], TEXT[250:600], "Nothing in common with the rest at all."
    assert join_overlapping([second, other, first]) == [TEXT[:600].strip(), other]


def test_contained_and_equal_passages_are_dropped():
    assert join_overlapping([TEXT[100:300], TEXT, TEXT, "  "]) == [TEXT]


def test_short_overlaps_do_not_join():
    assert len(join_overlapping(["One story ends here. Yeah.", "Yeah. Another begins here."])) == 2


def test_cycle_of_overlaps_terminates():
    a, b = "x" * 40, "y" * 40
    assert len(join_overlapping([a + b, b + a])) == 1


def test_many_passages_are_joined_in_linear_time():
    rng = random.Random(0)
    text = " ".join(str(rng.random()) for _ in range(20_000))
    chunks = [text[i : i + 1200] for i in range(0, len(text), 1000)]
    rng.shuffle(chunks)
    assert join_overlapping(chunks) == [text.strip()]
