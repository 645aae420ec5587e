"""Short answers and choices against what a person would say."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsum_assets.evaluation.short_answers import (
    chosen_option,
    exact_match,
    is_right,
    listed,
    token_f1,
)

OPTIONS = ["A boat sank.", "A train was late.", "The mayor resigned.", "Nobody came."]


@pytest.mark.parametrize(
    ("prediction", "references", "f1", "is_exact"),
    [
        ("The Ebro!", ["ebro"], 1, 1),
        ("Ebro river", ["ebro"], 2 / 3, 0),
        ("in Hethering Mill", ["Hethering Mill"], 0.8, 0),  # 2 * 2/3 * 1 / (2/3 + 1)
        ("Mill", ["lock", "the mill"], 1, 1),
        ("在五月开放", ["五月开放了。"], 0.8, 0),  # four of five characters right, and found
        ("五月。", ["「五月」"], 1, 1),
        ("ميناء؟", ["ميناء"], 1, 1),
        ("“Mill” — was", ["“mill” was"], 0.8, 0),  # Latin text as SQuAD
        ("the", ["a"], 1, 1),
        ("", ["mill"], 0, 0),
    ],
)
def test_words_are_compared_after_normalization(prediction, references, f1, is_exact):
    assert token_f1(prediction, references) == pytest.approx(f1)
    assert exact_match(prediction, references) == is_exact


@given(st.text(max_size=30), st.text(max_size=30))
def test_token_f1_is_symmetric(one, other):
    assert token_f1(one, [other]) == pytest.approx(token_f1(other, [one]))
    assert token_f1(one, [one]) == exact_match(one, [one]) == 1


@pytest.mark.parametrize(
    ("reply", "chosen"),
    [
        ("B", 1),
        ("(b)", 1),
        ("C. The mayor resigned.", 2),
        ("Answer: D", 3),
        ("The answer is (A).", 0),
        ("A", 0),
        ("A train was late", 1),
        ("A train, I believe, came late that day", 1),
        ("The mayor, who had resigned", 2),
        ("E", None),
        ("No idea", None),
        ("", None),
    ],
)
def test_choice_is_parsed_from_a_reply(reply, chosen):
    assert chosen_option(reply, OPTIONS) == chosen


def test_every_option_is_chosen_by_letter_and_text():
    for i, line in enumerate(listed(OPTIONS).splitlines()):
        assert chosen_option(line, OPTIONS) == chosen_option(line[:3], OPTIONS) == i
        assert chosen_option(OPTIONS[i], OPTIONS) == i
    assert [is_right(reply, OPTIONS, [OPTIONS[0]]) for reply in ("hm", "A")] == [0, 1]
