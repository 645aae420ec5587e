"""Sentence ends in prose, dialogue, lists and speech."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsum_resources.text.passages import join_overlapping
from gsum_resources.text.sentences import read_sentences, split_clauses, split_sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dr. Lin met Mr. Roe. They left.", ["Dr. Lin met Mr. Roe.", "They left."]),
        ("He was born in the U.S. Army base.", ["He was born in the U.S. Army base."]),
        ("It costs 12.5 Euro. We sell it.", ["It costs 12.5 Euro.", "We sell it."]),
        ("J. R. Tolkien wrote. I read.", ["J. R. Tolkien wrote.", "I read."]),
        (
            '"Whose notion was it?" he asked. "Mine," said both.',
            ['"Whose notion was it?" he asked.', '"Mine," said both.'],
        ),
        ("He waited... and left.", ["He waited... and left."]),
        ("A line that is\nwrapped. Then more.", ["A line that is wrapped.", "Then more."]),
        ("# Title\n\n- one thing\n- two things", ["Title", "one thing", "two things"]),
        ("", []),
        ("港口开放。“吊车坏了！”他说？是。", ["港口开放。", "“吊车坏了！”", "他说？", "是。"]),
        ("هل افتتح؟ نعم. في مايو.", ["هل افتتح؟", "نعم.", "في مايو."]),
        ("क्रेन टूट गई। मई में।", ["क्रेन टूट गई।", "मई में।"]),
    ],
)
def test_text_is_split_into_sentences(text, expected):
    assert split_sentences(text) == expected


def test_clauses_of_a_run_on_sentence_have_a_minimum_length():
    sentence = ", and ".join(f"we went to place {i} to see the thing" for i in range(8))
    pieces = split_clauses(sentence)
    assert len(pieces) == 8
    assert all(len(piece.split()) >= 7 for piece in pieces)
    assert split_clauses("Short, and sweet.") == ["Short, and sweet."]


def test_turns_keep_their_speakers():
    sentences = read_sentences(["Ann: We sell it. Um, it is red.\nBo: Why do we?"])
    assert [(s.speaker, s.text) for s in sentences] == [
        ("Ann", "We sell it."),
        ("Ann", "It is red."),
        ("Bo", "Why do we?"),
    ]


def test_overlapping_passages_give_each_sentence_once():
    whole = " ".join(f"The boat number {i} left harbour {i} at dawn." for i in range(20))
    passages = [whole[300:700], whole[:350], whole[650:]]
    texts = [s.text for s in read_sentences(passages)]
    assert texts == split_sentences(whole)


def test_cut_borders_are_marked():
    sentences = read_sentences(["and then it ended badly. The crew went home. They never"])
    assert [s.whole for s in sentences] == [False, True, False]


def test_noise_gives_no_sentences():
    assert read_sentences(["A: Um.\nB: Mm-hmm.\nA: Uh."]) == []


def test_heading_ends_with_its_line():
    assert split_sentences("# The Hull\nIt leaked\nbadly.") == ["The Hull", "It leaked badly."]


# Overlapping chunks join to the text they were cut from, in any order.

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


@given(st.text("ab", min_size=1), st.text("ab", min_size=1), st.integers(1, 7))
def test_two_passages_are_joined_at_their_longest_overlap(first, second, least):
    def shared(left, right):
        lengths = range(least, 1 + min(len(left), len(right)))
        return max((n for n in lengths if left.endswith(right[:n])), default=0)

    joined = join_overlapping([first, second], least)
    longer, shorter = sorted((first, second), key=len, reverse=True)
    if first == second or (shorter in longer and len(shorter) >= least):
        assert joined == [longer]
    elif n := max(shared(first, second), shared(second, first)):
        left, right = (first, second) if shared(first, second) == n else (second, first)
        assert joined == [left + right[n:]]
    else:
        assert joined == [first, second]


def test_cycle_of_overlaps_terminates():
    a, b = "x" * 40, "y" * 40
    assert len(join_overlapping([a + b, b + a])) == 1


def test_many_passages_are_joined_in_linear_time():
    rng = random.Random(0)
    text = " ".join(str(rng.random()) for _ in range(20_000))
    chunks = [text[i : i + 1200] for i in range(0, len(text), 1000)]
    rng.shuffle(chunks)
    assert join_overlapping(chunks) == [text.strip()]
