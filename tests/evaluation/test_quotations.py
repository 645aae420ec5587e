"""Where sentences stand in texts."""

import pytest

from gsum_assets.evaluation.quotations import DocumentWords, Words

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
        ("We paid.", "Ines", None),
        ("The rails cost nine hundred.", "Ines", None),
        ("They have not to wait.", "", None),
        ("…", "", None),
    ],
)
def test_sentences_are_found_in_the_words_of_their_speaker(
    sentence: str, speaker: str, quoted: str | None
) -> None:
    found = DocumentWords(MEETING).find(sentence, speaker)
    assert [MEETING[slice(*span)] for span in found] == ([quoted] if quoted else [])


def test_every_occurrence_is_found() -> None:
    found = DocumentWords(MEETING).find("We paid.", "Teo")
    assert [MEETING[slice(*span)] for span in found] == ["We paid."] * 2


def test_an_occurrence_is_the_shortest() -> None:
    text = "The boat, the um boat sank. The boat sank."
    assert [text[slice(*span)] for span in Words(text).find("The boat sank.")] == [
        "the um boat sank.",
        "The boat sank.",
    ]


def test_rare_words_lead_to_the_same_occurrences() -> None:
    text = "The boat sank. " * 50 + "The boat of Ann sank. " + "The boat sank. " * 50
    (span,) = Words(text).find("The boat of Ann sank.")
    assert text[slice(*span)] == "The boat of Ann sank."


@pytest.mark.parametrize("text", ["船沉了。安付了钱。", "Η βάρκα βυθίστηκε. Η Άννα πλήρωσε."])
def test_other_scripts(text: str) -> None:
    last = text.replace("。", "。 ").split("。 " if "。" in text else ". ")[1]
    (span,) = Words(text).find(last)
    assert text[slice(*span)].strip("。.") == last.strip("。.")
