"""Sentences held against the turns of their speakers, with answers known by hand."""

import pytest

from gsum_assets.evaluation.quotations import Speakers, Verdict

MEETING = (
    "# The hatch, 30 March\n"
    "Dov: The rails cost nine hundred pounds. Um, we we could, you know, borrow them.\n"
    "Hanneke: I move that there's a safety officer.\n"
    "Dov: Seconded."
)
STORY = "The frost went down two feet. Note: the lamp was out."


@pytest.fixture(scope="module")
def speakers() -> Speakers:
    return Speakers([MEETING, STORY])


@pytest.mark.parametrize(
    ("text", "verdicts"),
    [
        ("Dov: The rails cost nine hundred pounds.", ["right"]),
        ("Dov: We could borrow them.", ["right"]),
        ("Dov: The rails cost nine… ", ["right"]),
        ("Dov: I move that there's a safety officer.", ["wrong speaker"]),
        ("Dov: Seconded. I move that there's a safety officer.", ["right", "wrong speaker"]),
        ("Dov: Seconded.\nI move that there's a safety officer.", ["right", "wrong speaker"]),
        ("Dov: Seconded.\n– I move that there's a safety officer.", ["right", "unattributed"]),
        ("Dov: Seconded.\n\nThe frost went down two feet.", ["right", "unattributed"]),
        ("Dov: Seconded.\n- Hanneke: I move that there's a safety officer.", ["right", "right"]),
        ("Dov: Seconded. borrow them.", ["right"]),
        ("Dov: Seconded. that there's a safety officer.", ["wrong speaker"]),
        ("Dov: The rails cost pounds.", ["not in a document"]),
        ("The frost went down two feet.", ["unattributed"]),
        ("Hanneke wants an officer.", ["not in a document"]),
    ],
)
def test_a_sentence_is_looked_up_in_the_turns_of_its_speaker(
    speakers: Speakers, text: str, verdicts: list[str]
) -> None:
    assert [str(speakers.verdict(s)) for s in speakers.shown(text)] == verdicts


def test_two_names_in_a_row_are_two_names(speakers: Speakers) -> None:
    text = "Dov: Hanneke: I move that there's a safety officer."
    (sentence,) = speakers.shown(text)
    assert sentence.words == "I move that there's a safety officer."
    assert sentence.names == ("Dov", "Hanneke")
    assert speakers.verdict(sentence) == Verdict.RIGHT
    assert speakers.verdict_for(sentence.words, "Dov") == Verdict.WRONG
    joined = "Dov: Seconded. Hanneke: I move that there's a safety officer."
    assert [s.names for s in speakers.shown(joined)] == [("Dov",), ("Dov", "Hanneke")]
