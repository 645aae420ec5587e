"""Disfluencies go, words that mean something stay, and nothing is ever added."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsum_resources.text.speech import (
    Turn,
    is_spoken,
    join_interrupted,
    speaker_labels,
    tidy_spacing,
    trim_speech,
    turns,
)

TOKENS = "um uh the battery I mean you know we so like it costs , . ? -"


@pytest.mark.parametrize(
    ("spoken", "trimmed"),
    [
        ("Um, so I I think uh we we could make the the case.", "I think we could make the case."),
        ("Yeah, and it 's a user - friendly thing .", "It's a user-friendly thing."),
        ("We should, you know, leave.", "We should leave."),
        ("Le let us see.", "Let us see."),
        ("If the rem- remote control looked cool.", "If the remote control looked cool."),
        ("If th the remote looked cool.", "If the remote looked cool."),
        ("They they've brought out a new one.", "They've brought out a new one."),
        ("The oven didn't go wr- wrong.", "The oven didn't go wrong."),
        ("Mm-hmm.", ""),
        ("Okay, yeah, um.", ""),
    ],
)
def test_noise_is_trimmed(spoken, trimmed):
    assert trim_speech(spoken) == trimmed


@pytest.mark.parametrize(
    "sentence",
    [
        "Do you know what it costs?",
        "It's a kind of material.",
        "The coast to coast to coast tour begins.",
        "He had had enough of that.",
        "We go in into the house.",
        "A 5 kg bag is heavy.",
        "I don't think so.",
        "That is what they mean by it.",
    ],
)
def test_good_sentences_are_unchanged(sentence):
    assert trim_speech(sentence) == sentence


@given(st.lists(st.sampled_from(TOKENS.split()), min_size=1, max_size=25))
def test_no_word_is_ever_added(tokens):
    def letters(text):
        return re.findall(r"\w+", text.lower())

    spoken = " ".join(tokens)
    remaining = iter(letters(tidy_spacing(spoken)))
    assert all(word in remaining for word in letters(trim_speech(spoken)))


def test_labels_are_recurring_names():
    meeting = "Marketing: Hello.\nProject Manager: Hi.\nMarketing: Then we start."
    assert speaker_labels([meeting]) == {"Marketing", "Project Manager"}


def test_colon_in_prose_is_no_label():
    story = "He looked up.\nThe sign said: beware of the dog.\nNote: it was late.\nShe ran."
    assert speaker_labels([story]) == frozenset()


def test_a_label_of_one_text_is_no_speaker_of_another():
    minutes = "# Minutes\nTreasurer: the accounts are in order.\nThe chair opened.\nAll agreed."
    interview = "Dana: Who fixed it?\nPaul: Marta did.\nDana: And the company?"
    assert speaker_labels([minutes, interview]) == {"Dana", "Paul"}
    assert speaker_labels([f"{minutes}\nPaul: I object.", interview]) >= {"Treasurer", "Paul"}


def test_who_was_present_is_no_speaker():
    minutes = "Present: Tom Varga, Ruth Adeyemi.\nTom Varga opened the meeting.\nApologies: none."
    assert speaker_labels([minutes]) == frozenset()


def test_office_in_brackets_is_not_part_of_the_name():
    text = "Hon. Ann Lee (Hull, NDP): I rise.\nThe Chair: Order.\nHon. Ann Lee (Hull, NDP): Now."
    assert speaker_labels([text]) == {"Hon. Ann Lee", "The Chair"}


def test_words_before_the_first_label_have_no_speaker():
    labels = frozenset(["Ann", "Bo"])
    assert turns("and so it ended.\nAnn: Yes.", labels)[0] == Turn("", "and so it ended.")


def test_truncated_last_label_is_dropped():
    assert turns("Ann: Yes.\nProject Man", frozenset(["Ann", "Project Manager"])) == [
        Turn("Ann", "Yes.")
    ]


def test_interrupted_statement_is_joined():
    talk = [Turn("A", "rechargeable batteries and"), Turn("B", "Mm-hmm."), Turn("A", "a stand.")]
    assert join_interrupted(talk) == [Turn("A", "rechargeable batteries and a stand.")]
    finished = [Turn("A", "Batteries."), Turn("B", "Mm-hmm."), Turn("A", "A stand.")]
    assert join_interrupted(finished) == finished


def test_fillers_indicate_unlabelled_speech():
    assert is_spoken("so um we could uh do it you know as a case")
    assert not is_spoken("The frost that winter went two feet down into the moss.")


@pytest.mark.parametrize(
    ("said", "trimmed"),
    [
        ("Source Code Form and Notice:", "Source Code Form and Notice:"),
        (
            "(Some of it is covered by another licence instead.)",
            "(Some of it is covered by another licence instead.)",
        ),
        ("He left (at last)", "He left (at last)."),
    ],
)
def test_sentence_with_an_end_gets_no_other(said: str, trimmed: str) -> None:
    assert trim_speech(said) == trimmed
