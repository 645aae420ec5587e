"""Allowances fit together, and a cut text keeps to its length and ends well."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gsum_assets.corpus.chunk import n_word_pieces
from gsum_assets.evaluation.budget import Room, allowances, cut_to_tokens, room_for
from gsum_resources.protocols.models import Request


def test_all_requests_fit_with_tolerance() -> None:
    assert allowances([100, 50, 0], Room(1000, 3)) == ([100, 50, 0], 1.5)
    assert allowances([100, 50], Room(186, 3)) == ([100, 50], 1.2)


def test_short_room_is_shared_in_proportion() -> None:
    # 2 marks of 3 leave 200, of which 85% are requested: 170 of 400
    allowed, slack = allowances([300, 100], Room(206, 3))
    assert allowed == [127, 42]
    assert slack == pytest.approx(200 / 169)


def test_last_items_are_dropped_below_a_sentence() -> None:
    allowed, _ = allowances([100] * 10, Room(60, 3))
    # of 54 free for two, 45.9 are requested; for three 43.35, less than three sentences of 16
    assert allowed == [22, 22, 0, 0, 0, 0, 0, 0, 0, 0]


@given(
    st.lists(st.integers(0, 500), min_size=1, max_size=70), st.integers(30, 5000), st.integers(1, 5)
)
def test_allowances_fit_with_tolerance_and_marks(wished: list[int], tokens: int, mark: int) -> None:
    allowed, slack = allowances(wished, Room(tokens, mark))
    assert len(allowed) == len(wished)
    assert all(0 <= a <= w for a, w in zip(allowed, wished, strict=True))
    assert sum(int(slack * a) + mark for a in allowed if a) <= tokens
    assert any(allowed) or not any(wished) or not wished[0]


def test_room_is_the_rest_of_the_prompt() -> None:
    request = Request("answer", "Answer briefly.", "Who came?", ("of no", "concern"))
    # answer briefly . (3), question : who came ? (5), [ 7 ] (3)
    assert room_for(request, 7, 100, n_word_pieces) == Room(92, 3)


TEXT = "Dr. Lin came late. The others had begun, because of the rain; nobody had minded at all."


@pytest.mark.parametrize(
    ("tokens", "kept"),
    [
        (100, TEXT),
        (9, "Dr. Lin came late."),
        (11, "Dr. Lin came late."),
        (14, "Dr. Lin came late. The others had begun, because of…"),
        (4, "Dr. Lin…"),
        (0, "Dr.…"),
    ],
)
def test_cut_ends_at_a_sentence_or_visibly(tokens: int, kept: str) -> None:
    assert cut_to_tokens(TEXT, tokens, n_word_pieces) == kept


@settings(max_examples=60, deadline=None)
@example("a a.a" + "\u200b" * 9, 30)
@example("a字a.a" + "\u200b" * 8, 30)
@given(
    st.text(st.sampled_from("ab. ,é漢字\n\u200b"), min_size=1, max_size=400), st.integers(30, 120)
)
def test_cut_is_a_prefix_within_its_length(text: str, tokens: int) -> None:
    cut = cut_to_tokens(text, tokens, n_word_pieces)
    assert n_word_pieces([cut])[0] <= tokens
    assert text.startswith(cut.removesuffix("…"))
    if n_word_pieces([text])[0] > tokens:
        assert n_word_pieces([cut])[0] >= tokens // 4
