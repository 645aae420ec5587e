"""What questions ask for: periods, newest statements, sides of a comparison, and what is needed."""

import numpy as np
import pytest

from gsum_resources.text.asked_for import NOW, asked_for
from gsum_resources.text.periods import date_of, period_of, version_of, without_version
from gsum_resources.text.reading import Reading
from gsum_resources.text.sentences import Sentence, render_sentences
from gsum_resources.text.summarize import choose_sentences

DATES = ["2022-05-01", "2023-10-17", "2023-10", "2024-06-09", "2024-12-01"]


@pytest.mark.parametrize(
    ("question", "of_period"),
    [
        ("What was decided on 17 October 2023?", ["2023-10-17"]),
        ("What was decided in October?", ["2023-10-17", "2023-10"]),
        ("What was decided after June?", ["2023-10-17", "2023-10", "2024-12-01"]),
        ("What happened before March 2024?", ["2022-05-01", "2023-10-17", "2023-10"]),
        ("Was geschah seit Juni 2024?", ["2024-06-09", "2024-12-01"]),
        ("What was said between May 2022 and December 2023?", DATES[:3]),
        ("What did it cost in 2022?", ["2022-05-01"]),
    ],
)
def test_periods_of_questions(question: str, of_period: list[str]) -> None:
    period = period_of(question)
    assert period
    assert [date for date in DATES if period.has(date)] == of_period


@pytest.mark.parametrize(
    "question",
    ["How far did they march?", "Who may attend?", "Compare the rules of 2019 and 2024."],
)
def test_questions_without_a_period(question: str) -> None:
    assert period_of(question) is None


def test_dates_and_versions_of_documents() -> None:
    assert date_of("Minutes (board 7, 2024-05-06), page 2") == "2024-05-06"
    assert date_of("Rules of the harbour") == ""
    versions = ["Plan (draft)", "Plan", "Plan (plan_v2)", "Plan, version 10", "Plan (corrected)"]
    assert sorted(versions, key=lambda name: version_of(name.replace("_", " "))) == versions
    assert without_version("Plan, v2 (2024-03-19)") == without_version("Plan, v3 (2024-05-02)")
    assert without_version("Minutes (2024-03-19)") != without_version("Minutes (2024-05-02)")


@pytest.mark.parametrize(
    ("question", "states", "does_not"),
    [
        ("How old is the pier?", "It was built in 1911.", "Five ships lie there."),
        ("In which year did it burn?", "It burnt in 1911.", "It burnt for 3 hours."),
        ("What is the salary of the pilot?", "He gets 900 pounds.", "He is paid well."),
        ("Who did not vote for it?", "Crane abstained.", "Bell agreed."),
        ("When was the club founded?", "It began in March.", "The club buys six trees."),
        ("Wann beginnt das Fest?", "Es beginnt um 20 Uhr.", "Der Beitrag steigt um 3 Euro."),
        ("Who attended the meeting?", "Present: Ada Moor.", "The clock was repaired."),
        ("What does Ada want?", "I want a bench.", "The sea is calm."),
        ("What salary does Ada get?", "She gets 40 a day.", "Ada is to call by 17 May."),
        ("What does the pump cost?", "| Pump | 1800 |", "The pump is of 2024, mended in May 2025."),
        ("When was Ada born?", "Date of birth: 4 May 2003", "Checked by Ada on 2 May 2024."),
        ("How old is the hall?", "The hall was opened in 2004.", "Painted in 2004."),
        ("How old is Ada?", "Ada was born on 3 May.", "Checked by Ada on 2 May 2024."),
        ("What is the phone number of Ada?", "Ada: 040 331 27 90", "Ada was seen on 2024-05-02."),
        ("Wer war gegen den Kauf?", "Dagegen stimmte Ada.", "Der Kauf lohnt sich."),
        ("What does FTE stand for?", "A full-time equivalent (FTE) is 38 hours.", "FTE: 4."),
    ],
)
def test_what_a_question_asks_for(question: str, states: str, does_not: str) -> None:
    (asked,) = asked_for(question)
    assert asked.has.search(states)
    assert not asked.has.search(does_not)


@pytest.mark.parametrize(
    "question",
    [
        "Who sets the price?",
        "Which member objected to the fee?",
        "Will the school be closed?",
        "Who will speak?",
        "Who repaired the phone?",
    ],
)
def test_questions_that_ask_for_no_sum_and_no_wish(question: str) -> None:
    assert asked_for(question) == []


@pytest.mark.parametrize(
    ("question", "is_for_newest"),
    [
        ("How long does the ride last?", False),
        ("What happened in the last year?", False),
        ("What did the last meeting decide?", True),
        ("Who leads the group now?", True),
    ],
)
def test_questions_for_the_newest(question: str, is_for_newest: bool) -> None:
    assert bool(NOW.search(question)) is is_for_newest


def chosen(question: str, *sentences: Sentence) -> list[str]:
    """Return the texts of a brief answer; each of the sentences is near to the question."""
    vectors = np.eye(len(sentences), 4, dtype=np.float32) * 0.6
    vectors[:, 3] = 0.8  # all are alike
    reading = Reading(list(sentences), vectors, question, np.array([[0, 0, 0, 1]], np.float32))
    return [sentence.text for sentence in choose_sentences(reading, 120, is_brief=True)]


def dated(text: str, source: str, run: int) -> Sentence:
    """Return a sentence of a document of its own."""
    return Sentence(text, "", run, source=source)


MARCH = dated("The fund stands at 900 pounds.", "Minutes (2024-03-01)", 0)
JUNE = dated("The fund stands at 700 pounds.", "Minutes (2024-06-01)", 1)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How much is in the fund?", [JUNE.text]),
        ("What is the latest sum of the fund?", [JUNE.text]),
        ("How much was in the fund in March?", [MARCH.text]),
    ],
)
def test_a_newer_statement_replaces_an_older_one(question: str, expected: list[str]) -> None:
    assert chosen(question, MARCH, JUNE) == expected


def test_a_newer_statement_that_says_what_has_changed_stands_beside_the_older_one() -> None:
    reading = Reading(
        [
            dated("The stage will stand on the mole.", "Minutes (2024-03-01)", 0),
            dated("The stage was moved from the mole to the market.", "Minutes (2024-07-01)", 1),
            dated("The stage is of larch.", "Minutes (2024-07-01)", 1),
        ],
        np.array([[0.9, 0.4, 0], [0.8, 0, 0.6], [0.6, 0.1, 0.6]], np.float32),
        "Where will the stage stand?",
        np.array([[1, 0, 0]], np.float32),
    )
    assert choose_sentences(reading, 120, is_brief=True) == reading.sentences[:2]


def test_a_draft_does_not_count_where_the_final_text_is_read() -> None:
    draft = dated("About 24,000 people came to the fair.", "Report 2024 (draft)", 0)
    final = dated("The fair had 24,377 people.", "Report 2024", 1)
    assert chosen("How many people came to the fair?", draft, final) == [final.text]
    assert draft.text in chosen("How many people came to the fair by the draft?", draft, final)


def test_of_numbered_versions_the_newest_counts_or_the_one_that_is_named() -> None:
    versions = [
        dated(f"The bay costs {price} pounds.", f"Plan, version {n} (2024-0{n}-03)", n)
        for n, price in enumerate((700, 800, 900), 1)
    ]
    assert chosen("What does the bay cost?", *versions) == [versions[2].text]
    assert chosen("What does the bay cost by version 2?", *versions) == [versions[1].text]
    minutes = dated("Of version 2 of the bay it was said that it costs too much.", "Minutes", 4)
    assert minutes.text in chosen("What was said of version 2 of the bay?", *versions, minutes)


def test_a_row_is_chosen_by_a_letter_or_an_ordinal() -> None:
    header = "| Group | Lead |"
    rows = [
        Sentence(f"| {name} | {lead} |", "", 0, kind="row", lead=header)
        for name, lead in (("A", "Ada"), ("C", "Cy"), ("Third", "Tom"))
    ]
    assert chosen("Who is the lead of group C?", *rows) == [rows[1].text]
    assert chosen("Who is the lead of the third group?", *rows) == [rows[2].text]


def test_an_account_quotes_what_stands_around_the_best_sentence_of_a_paragraph() -> None:
    texts = ["We walked in May.", "The oar was lost near the pier.", "A boy found it at dusk."]
    sentences = [
        Sentence(text, "", 0, record=i // 3) for i, text in enumerate([*texts, "It rained."])
    ]
    reading = Reading(
        sentences,
        np.array([[0.1, 0.9, 0], [0.9, 0.1, 0], [0.2, 0, 0.9], [0.2, 0.2, 0.8]], np.float32),
        "How was the oar lost?",
        np.array([[1, 0, 0]], np.float32),
    )
    assert choose_sentences(reading, 120, is_brief=True) == sentences[:3]


def test_a_comparison_with_a_subject_quotes_of_each_side_what_is_on_it() -> None:
    sentences = [
        dated("The fair had 22,615 visitors.", "Report 2022", 0),
        dated("The cellar was painted.", "Report 2022", 0),
        dated("The fair had 24,377 visitors.", "Report 2024", 1),
        dated("The shop sold 900 clocks.", "Report 2024", 1),
    ]
    texts = chosen("Compare the visitors in 2022 and 2024.", *sentences)
    assert texts == [sentences[0].text, sentences[2].text]


def test_a_question_in_another_language_needs_its_words() -> None:
    meters = dated("Die Zähler werden im Keller von dem Verein abgelesen.", "Protokoll", 0)
    vectors, aspects = np.array([[0.5, 0.8]], np.float32), np.array([[1, 0]], np.float32)
    for question, expected in (
        ("Wer komponierte die Zauberflöte?", []),
        ("Wer liest die Zähler?", [meters]),
    ):
        reading = Reading([meters], vectors, question, aspects)
        assert choose_sentences(reading, 120, is_brief=True) == expected


def test_a_newer_statement_of_something_else_replaces_nothing() -> None:
    roof = dated("Ann moved to repair the roof of the hall.", "Minutes (2024-03-01)", 0)
    pier = dated("Bo moved to repair the pier.", "Minutes (2024-06-01)", 1)
    assert chosen("Who moved to repair the roof of the hall?", roof, pier) == [roof.text]


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("When does the office open?", "The office opens at noon."),
        ("How long did the storm take?", "The storm took all morning."),
        ("How often does the choir sing?", "The choir sings every week."),
        ("Did the rent of the hall change?", "The rent of the hall did not change."),
        ("Who sets the price of the ferry?", "The council sets the price of the ferry."),
    ],
)
def test_what_is_stated_without_a_figure_is_answered(question: str, text: str) -> None:
    assert chosen(question, dated(text, "Letter", 0)) == [text]


def test_a_comparison_quotes_what_differs_below_the_names_of_its_sides() -> None:
    old, new = "Rules of the harbour, 2019", "Rules of the harbour, 2024"
    same = "Dogs are on a lead at the harbour."
    sentences = [
        dated("A berth is given for one year.", old, 0),
        dated(same, old, 0),
        dated("A berth is given for two years.", new, 1),
        dated(same, new, 1),
    ]
    texts = chosen("How do the rules of the harbour of 2019 and 2024 differ?", *sentences)
    assert texts == [sentences[0].text, sentences[2].text]
    shown = render_sentences([sentences[0], sentences[2]], with_sources=True)
    assert shown == f"{old}:\n{sentences[0].text}\n{new}:\n{sentences[2].text}"


def test_what_nothing_states_is_not_answered() -> None:
    lease = dated("The lease of the café ends in October.", "Letter", 0)
    assert chosen("In which year was the café built?", lease) == []


def test_small_talk_answers_nothing() -> None:
    turns = [
        Sentence("Ada Moor again.", "Ada Moor", 0),
        Sentence("I want a bench at the pier.", "Ada Moor", 0, turn=2),
    ]
    assert chosen("What does Ada Moor want?", *turns) == [turns[1].text]
