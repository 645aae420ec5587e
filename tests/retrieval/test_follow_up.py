"""Follow-up questions are completed from the question before."""

import pytest

from gsum_assets.retrieval.follow_up import Turn, completed, content_words, rewritten
from gsum_assets.retrieval.words import Words
from gsum_resources.protocols.models import Completion, CompletionError, Reply, Request

WORDS = Words("en")
HATCH = [Turn("What went wrong with the hatch?", "Corin Ashe fell through it.")]
VALVE = [Turn("Who fixed the valve?", "Ines did.")]


@pytest.mark.parametrize(
    ("question", "understood"),
    [
        ("and who paid?", "who paid? (wrong, hatch)"),
        ("And, who paid?", "who paid? (wrong, hatch)"),
        ("why?", "why? (wrong, hatch)"),
        ("When was that?", "When was that? (wrong, hatch)"),
        ("What did he break?", "What did he break? (wrong, hatch)"),
        ("Who paid for it?", "Who paid for it? (wrong, hatch)"),
        ("What were his wages?", "What were his wages? (wrong, hatch)"),
        ("Who else?", "Who else? (wrong, hatch)"),
        ("what about the boat?", "What went wrong with the boat?"),
        ("and what about the new boat?", "What went wrong with the new boat?"),
        ("what about Marit?", "what about Marit? (wrong, hatch)"),
        ("what about it?", "what about it? (wrong, hatch)"),
        ("and the hatch rails?", "the hatch rails? (wrong)"),
    ],
)
def test_follow_up_takes_words_of_the_question_before(question: str, understood: str) -> None:
    assert completed(question, HATCH, WORDS) == understood


@pytest.mark.parametrize(
    "question",
    [
        "Who bought the drive?",
        "What did the crew say about their food?",
        "What did Marit promise before she left?",
        "Did the pump break when it rained?",
        "Is it true that the ferry was late?",
        "How long did it take to build the mill?",
        "Which decisions that the trust made were wrong?",
        "What happened in this corpus of meetings?",
        "Were there complaints about the quarry?",
        "What did they decide about the boat?",
    ],
)
def test_complete_question_is_left_unchanged(question: str) -> None:
    assert completed(question, HATCH, WORDS) == question


def test_first_question_is_left_unchanged() -> None:
    assert completed("and who paid?", [], WORDS) == "and who paid?"


def test_topic_is_added_where_the_question_before_has_no_last_object() -> None:
    assert completed("what about the boat?", VALVE, WORDS) == "what about the boat? (fixed, valve)"


def test_follow_up_of_a_follow_up_keeps_the_topic() -> None:
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
    turns = [Turn(f"Question {i}?", f"answer {i}") for i in range(5)]
    assert rewritten("and who paid?", turns, model) == "Who paid for the hatch?"
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
