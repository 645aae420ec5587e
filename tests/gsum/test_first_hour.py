"""Questions of a first hour over ten short files: what an answer must hold, and what is foreign.

Each case was read beside the files when it was written. The answers are those of `gsum ask` without
a language model.
"""

import pytest

import gsum

pytestmark = pytest.mark.slow
TEXTS = {
    "Hall roof, survey": """\
# Hall roof, survey of 4 May
The surveyor, Ruth Adeyemi, climbed to the roof of the parish hall on 4 May. She found eleven
cracked slates on the north side and a gutter that had come loose above the kitchen. The felt
under the slates is dry. She recommends that the slates be replaced before November and puts the
cost at 2,300 pounds. The chimney needs no work.""",
    "Minutes, June": """\
# Minutes, June
Present: Tom Varga (chair), Ruth Adeyemi, Sister Benedicta, Omar Haddad.
Tom Varga opened the meeting at seven. Omar Haddad reported that the fete had brought in 1,140
pounds, less than last year because of the rain. The council agreed to repair the roof of the
hall and to ask three firms for offers. Sister Benedicta objected that the organ should come
first; she was outvoted by three to one. The next meeting is on 9 July.""",
    "Protokoll Gemeinderat": """\
Der Gemeinderat tagte am 12. Mai im Rathaus. Frau Kessler berichtete, dass die Brücke über den
Mühlbach im Herbst gesperrt wird. Die Umleitung führt über Oberried. Herr Brandl fragte nach den
Kosten; sie betragen 85.000 Euro, von denen das Land die Hälfte übernimmt. Der Antrag wurde mit
neun zu zwei Stimmen angenommen.""",
    "beekeeping": """\
In March the hives are opened for the first time on a day above twelve degrees. The keeper looks
for brood, for food and for the queen. A colony with less than two combs of honey is fed with
sugar dough. Mites are treated with formic acid in August, after the last honey has been taken.""",
    "ferry": """\
# The ferry to Skarv
The ferry to the island of Skarv leaves at 6.40, 12.15 and 17.30. It takes sixty passengers and
eight cars. In winter the boat at noon does not run. Captain Iversen retired in April after
thirty-one years; his daughter Solveig took over the wheel. Dogs travel free.""",
    "interview": """\
# Interview about the valve
Dana Reed: What happened on the night of the leak?
Paul Osei: The valve in pump room two would not close. The water stood to our knees.
Dana Reed: Who fixed it?
Paul Osei: Marta did. She took the wheel off, cut a new pin from a bolt, and had it shut by
three.
Dana Reed: And the company?
Paul Osei: They sent a letter of thanks. No money.""",
    "letter to the editor": """\
Sir, your report on the bypass is wrong in three points. The road would not save twelve minutes
but four. It would cross the water meadow, not pass beside it. And the farmers were never asked.
I have lived in Mill Lane for forty years and have yet to meet one person who wants it. Yours,
Agnes Pell""",
    "museum": """\
The museum of clocks owns 412 clocks, of which about ninety are running. The oldest is an iron
tower clock of 1540 from Prague. Every noon the keeper, Mr Okafor, winds the great astronomical
clock by hand, which takes him twenty minutes. A thief stole a gold watch in 1998; it was found
in a pawnshop in Leeds.""",
    "organ": """\
The organ was built in 1887 by the brothers Lindqvist and has two manuals and nineteen stops.
Mice have eaten the leather of the bellows, so that the lowest octave cannot be played. A
builder from Ghent offered to renew the bellows for 8,700 euros. Until then the choir sings to
the piano.""",
    "school": """\
The village school has two classes and thirty-four pupils. Miss Lorne teaches the younger ones
and plays the piano in the hall on Fridays. The classroom on the upper floor was closed in
spring because the stove smoked. Parents collected 600 pounds for a new stove, and the smith
fitted it during the Easter holidays.""",
}
ANSWERED = {
    "Who fixed the valve?": ("Marta did.", "roof", "organ", "ferry"),
    "How many passengers does the ferry take?": ("sixty passengers", "clock", "valve"),
    "Why did Sister Benedicta object?": ("the organ should come first", "slates", "queen", "leak"),
    "What does the repair of the roof cost?": ("2,300 pounds", "ferry", "mites", "600"),
    "Who plays the piano?": ("Miss Lorne", "valve", "clock"),
    "When do the ferries leave?": ("6.40, 12.15 and 17.30", "stove", "slates"),
    "How much does a ticket for the ferry cost?": ("The documents do not say.", "2,300", "6.40"),
    "Was the chimney damaged?": ("The chimney needs no work.", "stove", "organ"),
    "Did the fete bring in more than last year?": ("less than last year", "600", "valve"),
    "Compare the cost of the organ and of the roof.": ("8,700 euros", "fete", "85.000"),
    "What was stolen from the museum?": ("a gold watch", "slates", "organ", "leak"),
    "Wer berichtete über die Brücke?": ("Frau Kessler", "organ", "roof"),
    "Was kostet die Sperrung der Brücke?": ("85.000 Euro", "organ", "roof"),
    "How are mites treated?": ("formic acid", "slates", "valve"),
    "What was agreed about the hall?": ("agreed to repair the roof", "leak", "organ was built"),
    "What happened to the stove?": ("the smith fitted it", "leak", "slates"),
}


@pytest.fixture(scope="module")
def answers() -> dict[str, str]:
    questions = [{"text": question} for question in ANSWERED]
    result = gsum.run("hybrid", TEXTS, questions, {"answer": {"by_kind": True}}, progress=False)
    return dict(zip(result.answers["question"], result.answers["answer"], strict=True))


@pytest.mark.parametrize("question", ANSWERED)
def test_answer_holds_what_was_asked_and_nothing_foreign(
    answers: dict[str, str], question: str
) -> None:
    stated, *foreign = ANSWERED[question]
    assert stated in answers[question]
    assert not [word for word in foreign if word in answers[question]], answers[question]


def test_nobody_is_taken_for_a_speaker(answers: dict[str, str]) -> None:
    lines = [line for text in answers.values() for line in text.splitlines() if ": " in line[:20]]
    speakers = {line.partition(":")[0] for line in lines}
    assert speakers <= {"Paul Osei", "Dana Reed", "Present"}, speakers
    present = "Present: Tom Varga (chair), Ruth Adeyemi, Sister Benedicta, Omar Haddad."
    assert all(line.startswith(present) for line in lines if line.startswith("Present"))
