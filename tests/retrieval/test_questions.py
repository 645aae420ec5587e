"""What rules read of a question: its words, the documents it names, the question before it."""

import re
from datetime import date
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gsum_assets.retrieval.focus import Titles, focus_of, in_order, spread
from gsum_assets.retrieval.follow_up import Turn, completed, content_words, rewritten
from gsum_assets.retrieval.seeds import names, parts, phrases
from gsum_assets.retrieval.words import Words
from gsum_resources.protocols.models import Completion, CompletionError, Reply, Request
from gsum_resources.text.dates import Date

CASES = yaml.safe_load((Path(__file__).parent / "questions.yaml").read_text("utf-8"))


def each(name: str) -> pytest.MarkDecorator:
    """Run a test for each row of a table."""
    return pytest.mark.parametrize("case", CASES[name])


@pytest.mark.parametrize(
    ("words", "text", "terms"),
    [
        (Words(), "What did the Meetings decide?", ["meet", "decid"]),
        (Words(), "boat, boats; BOAT", ["boat"] * 3),
        (Words(), "Grad C saw R2 in 1999", ["grad", "c", "saw", "r2", "1999"]),
        (Words(bigrams=True), "Lord of Rings", ["lord", "ring", "lord ring"]),
        (Words("de"), "Die Häuser und das Haus", ["haus", "haus"]),
        (Words("de-AT"), "Die Häuser", ["haus"]),
        (Words("de"), "Die Ha\u0308u\u00adser", ["haus"]),
        (Words(), "of\ufb01ces in İzmir", ["offic", "izmir"]),
        (Words("tlh"), "The meetings", ["the", "meetings"]),  # no list of stop words, no stems
        (Words("fi"), "what", ["what"]),  # English stop words count in English alone
        (Words(bigrams=True), "the ?! and of", []),
        (
            Words("zh", bigrams=False),
            "港口在1999年开放。",
            ["港口", "口在", "1999", "年开", "开放"],
        ),
        (Words("th"), "ท่าเรือ", ["ท่า", "าเ", "เรื", "รือ"]),
    ],
)
def test_terms_of_a_text(words: Words, text: str, terms: list[str]) -> None:
    assert words.split(text) == terms


@pytest.mark.parametrize("word", ["हिन्दी", "مَرْحَبًا", "caf\u00e9", "Straße".lower(), "il"])
def test_marks_do_not_end_a_word(word: str) -> None:
    assert Words("tlh").find(f"{word}, {word}") == [word, word]


LATIN = st.characters(max_codepoint=0x2FF, exclude_characters="\u00adİ")  # see `lowered`


@given(st.text(LATIN | st.sampled_from("“”’—…€²½"), max_size=40))
def test_words_of_latin_text_are_runs_of_letters_digits_and_underscores(text: str) -> None:
    assert Words().find(text) == re.findall(r"\w+", text.lower())


# Documents that a question names, and questions that compare documents

LICENCES = ["Apache-2.0", "Artistic", "BSD", "GFDL-1.3", "GPL-2", "GPL-3", "LGPL-3", "MPL-2.0"]
FILES = {name: name for name in LICENCES}
TITLES = FILES | {
    "GPL-2": "GNU GENERAL PUBLIC LICENSE",
    "GPL-3": "GNU GENERAL PUBLIC LICENSE Version 3, 29 June 2007",
    "LGPL-3": "GNU LESSER GENERAL PUBLIC LICENSE Version 3",
    "Apache-2.0": "Apache License",
    "MPL-2.0": "Mozilla Public License Version 2.0",
}
MINUTES = {"a": "Minutes, June", "b": "letter to the editor", "c": "Minutes, May"}


@pytest.mark.parametrize("titles", [FILES, TITLES])
@each("named documents")
def test_names_select_their_documents(titles: dict[str, str], case: list) -> None:
    assert focus_of(case[0], titles).mentions == case[1]


@each("comparisons")
def test_comparisons_name_documents(case: list) -> None:
    assert focus_of(case[0], FILES).compares is case[1]


@each("whole documents")
def test_document_that_is_all_a_question_names_is_meant(case: list) -> None:
    assert focus_of(case[0], MINUTES).mentions == case[1]


def test_request_for_all_of_a_document_has_no_words_to_search_for() -> None:
    assert focus_of("Summarize the minutes of June.", MINUTES).whole == "Summarize the document."
    assert not focus_of("What does the organ cost?", MINUTES | {"d": "organ"}).whole


@pytest.mark.parametrize(
    ("question", "mentions", "dated"),
    [
        ("What did Jane Doe say about the lift?", [["People--Jane Doe"]], []),
        ("what did jane doe say about the lift?", [["People--Jane Doe"]], []),
        ("What did the jane doe say about the lift?", [], []),
        ("What did Jane say about the lift?", [], []),
        ("What was decided on 12 March 2024?", [], ["a"]),
        ("What was decided on March 12, 2024?", [], ["a"]),
        ("Was wurde am 12. März 2024 beschlossen?", [], ["a"]),
        ("What was decided on 2024-03-12?", [], ["a"]),
        ("What was decided on 13 March 2024?", [], []),
        ("What was decided in March 2024?", [], ["a", "b.pdf"]),
        ("What was decided in March?", [], ["a", "b.pdf", "c"]),
        ("What was decided in März 2025?", [], ["c"]),
        ("What was decided from March to May?", [], ["a", "b.pdf", "c"]),
        ("What was decided after March 2024?", [], ["c", "d"]),
        ("What was decided since March?", [], ["a", "b.pdf", "c", "d"]),
        ("What was decided before March?", [], []),
        ("What was decided until June 2024?", [], ["a", "b.pdf", "d"]),
        ("What was decided on 5 March 2024?", [], []),
        ("May they march in step?", [], []),
    ],
)
def test_names_of_files_and_dates_select_their_documents(
    question: str, mentions: list, dated: list[str]
) -> None:
    dates = {
        "a": Date(date(2024, 3, 12), False),
        "b.pdf": Date(date(2024, 3, 1), True),
        "c": Date(date(2025, 3, 12), False),
        "d": Date(date(2024, 6, 1), False),
    }
    ids = [*dates, "People--Jane Doe"]
    focus = focus_of(question, Titles(dict.fromkeys(ids, "Minutes"), dates))
    assert focus.mentions == mentions
    assert list(focus.dated[0]) == dated
    seldom = Titles(dict.fromkeys([*ids, *"wxyz"], "Minutes"), dates)
    assert not focus_of(question, seldom).dated[0]  # most documents have no date


def test_leading_file_number_is_not_part_of_a_name() -> None:
    titles = {name: name for name in ("05-quarry-landing", "06-second-thoughts")}
    focus = focus_of("What happened at the Quarry Landing on Monday?", titles)
    assert focus.mentions == [["05-quarry-landing"]]
    assert not focus_of("What happened at the quarry landing?", titles).mentions
    # a title of all documents
    assert not focus_of("What is The Egg?", {"a": "The Egg", "b": "The Egg"}).mentions


def test_named_document_is_searched_without_its_name() -> None:
    question = "What must I do to distribute binaries under the GPL version 3?"
    assert focus_of(question, FILES).rest == "What must I do to distribute binaries under the ?"
    assert focus_of("GPL version 3?", FILES).rest == "GPL version 3?"


def test_documents_and_passages_alternate() -> None:
    assert in_order([["a", "b"], ["c"]], ["c", "b", "a"]) == ["b", "c", "a"]
    passages = [[{"n": 1}, {"n": 4}], [{"n": 2}], [{"n": 3}, {"n": 5}]]
    assert [one["n"] for one in spread(passages, 4)] == [1, 2, 3, 4]


# Names, phrases and parts, by which the seeds of graph methods search


def test_names_are_capitalized_words_after_the_first() -> None:
    question = "Where did Ann-Marie and Émile meet the clerk of Ashby?"
    assert names(question) == ["Ann", "Marie", "Émile", "Ashby"]
    assert names("Boats") == names("") == names("what is it?") == []


def test_phrases_are_quotations_and_words_in_capitals() -> None:
    assert phrases("What is the plot of IN THE GARDEN?") == [("IN", "THE", "GARDEN")]
    quoted = phrases('What is told in "the second key" of ALL I HAVE?')
    assert quoted == [("the", "second", "key"), ("ALL", "I", "HAVE")]
    assert phrases("Did the Project Manager like Ann's TV?") == phrases('a "key"') == []


def test_parts_are_what_a_question_asks_for_one_by_one() -> None:
    listed = "Summarize the cost of the ferry, the paint of the boats, and who sold apples."
    first, *others = parts(listed)
    assert first == "Summarize the cost of the ferry"
    assert others == ["the paint of the boats", "who sold apples."]
    asked = ["Why did the ferry stop?", "What did Ann pay the clerk?"]
    assert parts(" ".join(asked)) == asked
    # one part alone: "tea" has one content word, "he" stands for a name of the first part
    assert parts("Who sold the ferry and tea?") == []
    assert parts("Why did Ben leave town and where did he sell boats?") == []


# Follow-up questions

WORDS = Words("en")
HATCH = [Turn("What went wrong with the hatch?", "Corin Ashe fell through it.")]
VALVE = [Turn("Who fixed the valve?", "Ines did.")]


@each("follow-ups")
def test_follow_up_takes_words_of_the_question_before(case: list[str]) -> None:
    assert completed(case[0], HATCH, WORDS) == case[1]
    assert completed(case[0], [], WORDS) == case[0]


@each("complete questions")
def test_complete_question_is_left_unchanged(case: str) -> None:
    assert completed(case, HATCH, WORDS) == case


def test_topic_is_kept_where_the_question_before_has_no_last_object() -> None:
    assert completed("what about the boat?", VALVE, WORDS) == "what about the boat? (fixed, valve)"
    first = completed("and who paid?", HATCH, WORDS)
    second = completed("and when?", [*HATCH, Turn(first, "The Trust.")], WORDS)
    assert second == "when? (paid, wrong, hatch)"


def test_stop_words_of_other_languages() -> None:
    earlier = [Turn("Ist die Fähre gekauft?", "Ines.")]
    assert completed("und warum?", earlier, Words("de")) == "warum? (Fähre, gekauft)"
    assert completed("Wo liegt die Mühle?", earlier, Words("de")) == "Wo liegt die Mühle?"


def test_content_words_are_distinct() -> None:
    assert content_words("The hatch, the Hatch and the hatch rails", WORDS) == ["hatch", "rails"]


class Scripted:
    """A model with one reply."""

    identity = "scripted"

    def __init__(self, reply: Reply) -> None:
        self.reply, self.requests = reply, []

    def complete(self, requests, on_reply=None):
        self.requests += requests
        return [self.reply for _ in requests]


def completion(text: str) -> Completion:
    return Completion(text, "scripted", 1, 1, 0.0)


def test_model_reads_the_last_turns() -> None:
    model = Scripted(completion("Who paid for the hatch?\n"))
    earlier = [Turn(f"Question {i}?", f"answer {i}") for i in range(5)]
    assert rewritten("and who paid?", earlier, model) == "Who paid for the hatch?"
    (request,) = model.requests
    assert isinstance(request, Request)
    assert request.question == "and who paid?"
    assert request.passages[-1] == "Question: Question 4?\nAnswer: answer 4"
    assert len(request.passages) == 3


@pytest.mark.parametrize(
    "reply", [completion("Sure!\nHere it is"), completion(" "), CompletionError("no", "scripted")]
)
def test_reply_that_is_no_question_is_not_used(reply: Reply) -> None:
    assert rewritten("and who paid?", HATCH, Scripted(reply)) == ""
