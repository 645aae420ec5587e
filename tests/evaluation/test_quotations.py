"""Where sentences stand in texts, and who says them."""

import pytest

from gsum_assets.evaluation.quotations import DocumentWords, Speakers, Verdict, Words

MEETING = """\
Ines (chair): Right, um, the the rails for the fore- foredeck hatch, you know, cost nine hundred.
Teo: Mm-hmm.
Ines (chair): And they, uh, have to wait and
Teo: Yeah.
Ines (chair): see the Trust first. "Open hatch," he wrote.

# Votes
Teo: We paid. We paid.
"""


@pytest.mark.parametrize(
    ("sentence", "speaker", "quoted"),
    [
        (
            "The rails for the foredeck hatch cost nine hundred.",
            "Ines",
            "the rails for the fore- foredeck hatch, you know, cost nine hundred.",
        ),
        (
            "They have to wait and see the Trust first.",
            "Ines",
            "they, uh, have to wait and\nTeo: Yeah.\nInes (chair): see the Trust first.",
        ),
        ('"Open hatch," he wrote.', "", '"Open hatch," he wrote.'),
        ("The rails for the fored…", "Ines", "the rails for the"),
        ("They have to wait and see the Trust first.", "Teo", None),
        ("We paid.", "Teo", "We paid."),
        ("We paid.", "Ines", None),
        ("The rails cost nine hundred.", "Ines", None),
        ("The rails for the hatch cost nine hundred.", "Ines", None),
        ("They have not to wait.", "", None),
        ("…", "", None),
    ],
)
def test_sentences_are_found_in_the_words_of_their_speaker(
    sentence: str, speaker: str, quoted: str | None
) -> None:
    found = DocumentWords(MEETING).find(sentence, speaker)
    n = 2 if sentence == "We paid." else 1
    assert [MEETING[slice(*span)] for span in found] == ([quoted] * n if quoted else [])


def test_an_occurrence_is_the_shortest() -> None:
    text = "The boat, the um boat sank. The boat sank."
    assert [text[slice(*span)] for span in Words(text).find("The boat sank.")] == [
        "the um boat sank.",
        "The boat sank.",
    ]


@pytest.mark.parametrize("text", ["船沉了。安付了钱。", "Η βάρκα βυθίστηκε. Η Άννα πλήρωσε."])
def test_other_scripts(text: str) -> None:
    last = text.replace("。", "。 ").split("。 " if "。" in text else ". ")[1]
    (span,) = Words(text).find(last)
    assert text[slice(*span)].strip("。.") == last.strip("。.")


BOARD = (
    "# The hatch, 30 March\n"
    "Dov: The rails cost nine hundred pounds. Um, we we could, you know, borrow them.\n"
    "Hanneke: I move that there's a safety officer.\n"
    "Dov: Seconded."
)
STORY = "The frost went down two feet. Note: the lamp was out."


@pytest.fixture(scope="module")
def speakers() -> Speakers:
    return Speakers([BOARD, STORY])


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
