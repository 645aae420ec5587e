"""Turns stay apart where texts are read, joined and rendered, and quotes keep their words."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gsum_assets.evaluation.quotations import Speakers, Verdict, Words
from gsum_resources.llm.extractive import ExtractiveModel
from gsum_resources.protocols.models import Completion, Request
from gsum_resources.protocols.results import Entities, Facts
from gsum_resources.text.sentences import flat_text, join_texts, read_sentences, render_sentences
from gsum_resources.text.speech import trim_speech
from tests.llm.embedders import WordEmbedder

MEETING = (
    "# The hatch, 30 March\n"
    "Dov: The rails cost nine hundred pounds. The county pays for the rails in April.\n"
    "Hanneke: I move that there's a safety officer for the rails and the hatch.\n"
    "Dov: Then the rails and the hatch have one officer.\n"
    "Marit: Who writes the minutes of the hatch?"
)


def said(passages: list[str]) -> dict[str, str]:
    return {sentence.text: sentence.speaker for sentence in read_sentences(passages)}


def test_who_speaks_once_among_others_is_a_speaker() -> None:
    wrapped = "Dov: The rails\ncost a lot\nof money\nthis year.\nDov: Yes, they\ndo.\n"
    assert said([f"{wrapped}Hanneke: I move\nthat we wait."])["I move that we wait."] == "Hanneke"


def test_one_passage_of_speech_among_prose_keeps_its_speaker() -> None:
    prose = [f"The boat number {i} left the quay at dawn.\nIt came back." for i in range(5)]
    sentences = said([*prose, "Dov: The skipper is 21,600. We wait.", "Chapter One: The lamp."])
    assert sentences["We wait."] == "Dov"
    assert sentences["It came back."] == sentences["Chapter One: The lamp."] == ""


@pytest.mark.parametrize("between", ["\n\n", "\n# The hatch\n", "\n– ", "\nDov (person):\n"])
def test_what_follows_no_turn_directly_has_no_speaker(between: str) -> None:
    text = f"Dov: The rails are in.\nMarit: We wait.{between}The boat leaks."
    assert said([text])["The boat leaks."] == ""


def test_items_of_a_list_name_their_speakers() -> None:
    sentences = said(["The hatch:\n- Dov: The rails are in.\n- Marit: We wait.\n- The boat leaks."])
    assert sentences["The rails are in."] == "Dov"
    assert sentences["We wait."] == "Marit"
    assert sentences["The boat leaks."] == ""


def test_cut_turns_have_no_speaker() -> None:
    sentences = said([MEETING[40:], "of April.\nMarit: We wait.\nDov: So be it."])
    assert sentences["I move that there's a safety officer for the rails and the hatch."]
    assert sentences["Of April."] == ""


def test_texts_are_joined_without_lending_a_speaker() -> None:
    assert join_texts(["A lamp.", "A  ferry."]) == "A lamp. A ferry."
    joined = join_texts(["Dov: A lamp.\n– A quay.", "A ferry.", "Marit: A mill."])
    assert joined == "Dov: A lamp.\n– A quay.\n– A ferry.\nMarit: A mill."
    assert {s.text: s.speaker for s in read_sentences([joined])} == {
        "A lamp.": "Dov",
        "A quay.": "",
        "A ferry.": "",
        "A mill.": "Marit",
    }
    assert flat_text("One\ntwo.") == "One two."
    assert flat_text("Dov:  One.\n\nMarit: Two.") == "Dov: One.\nMarit: Two."


@given(st.lists(st.sampled_from(MEETING.splitlines()[1:]), min_size=1, max_size=5), st.data())
def test_joined_and_cut_texts_are_read_as_the_source_has_them(
    lines: list[str], data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, 60))
    texts = [line[start:] if i == 0 else line for i, line in enumerate(lines)]
    speakers = Speakers([MEETING])
    shown = render_sentences(read_sentences([join_texts(texts)]))
    verdicts = [speakers.verdict(s) for s in speakers.shown(shown) if s.names]
    assert Verdict.WRONG not in verdicts


@pytest.mark.parametrize("schema", [Entities, Facts])
def test_descriptions_name_their_speakers(schema: type) -> None:
    request = Request("entities", "", "", (MEETING,), schema=schema)
    (reply,) = ExtractiveModel(WordEmbedder()).complete([request])
    assert isinstance(reply, Completion)
    assert reply.parsed is not None
    parsed = reply.parsed.model_dump()
    speakers = Speakers([MEETING])
    texts = [row["description"] for name in parsed for row in parsed[name] if "description" in row]
    texts += [row["statement"] for row in parsed.get("facts", ())]
    sentences = [s for text in texts for s in speakers.shown(text)]
    assert any(len(text.splitlines()) > 1 for text in texts) or schema is Facts
    assert max(len(s.names) for s in sentences) == 1
    assert {speakers.verdict(s) for s in sentences} <= {Verdict.RIGHT, Verdict.UNATTRIBUTED}


QUOTED = [
    "The page shows y</think> and braces %s in {curly} and {0} signs.",
    "Write {name!r} or %(key)s, then <think> again and [laughter track] too.",
    "See https://example.org/a_b?c=1&d=%20 for **bold** `code {x}` and 5 % of 🚤 boats.",
    "He said “smart” quotes – and ½ of the ﬁsh at 10 : 30 , as printed .",
    "The format \\d{2,3} matches pages 3 - 4 , and $ 5 is the price @@ here.",
    "We keep pdf css files and option b for plan c in the car carried home.",
]
SPOKEN = [
    "No, we won't turn right.",
    "So many boats are for sale.",
    "Well water is cold, and you're right.",
    "The ER doctor has css files, option b and vitamin c.",
    "Three- or four-storey houses stand on the quay— then the mill.",
    "Because it is late, she is sorry.",
]


@pytest.mark.parametrize("sentence", QUOTED)
def test_sentences_of_prose_are_unchanged(sentence: str) -> None:
    assert list(said([f"The lamp was lit. {sentence} The lamp went out."])) == [
        "The lamp was lit.",
        sentence,
        "The lamp went out.",
    ]


@pytest.mark.parametrize("sentence", [*SPOKEN, *QUOTED])
def test_spoken_words_that_are_no_fillers_stay(sentence: str) -> None:
    def words(text: str) -> list[str]:
        return re.findall(r"\w+", text.lower())

    assert words(trim_speech(sentence)) == words(sentence)


TOKENS = ("um", "uh", "the", "the", "boat", "I mean", "no", "you know", "so", "or", "right", "b")


@given(st.lists(st.sampled_from(TOKENS)))
@example(["right", "the", "I mean", "I mean", "um", "the", "boat"])
@example(["the", "b", "um", "boat"])
def test_only_fillers_and_repetitions_are_left_out(words: list[str]) -> None:
    spoken = " ".join(words)
    assert Words(spoken).hold(trim_speech(spoken)) or not trim_speech(spoken)


def test_a_begun_word_is_left_out_before_its_word_alone() -> None:
    assert Words("The b um boat.").hold("The boat.")
    assert not Words("The b um lamp boat.").hold("The lamp boat.")
