"""Keywords of a question."""

import json

from gsum_assets.jerr.keywords import ask_keywords
from tests.gae.toy_contexts import queries
from tests.gor.toy_documents import Scripted


def test_keywords_are_distinct_and_at_most_ten() -> None:
    said = json.dumps({"keywords": ["lamp", " lamp ", "", *map(str, range(20))]})
    found = ask_keywords(queries({"q": "Who broke the lamp?"}), Scripted(lambda _: said))
    assert found.rows["keywords"].to_pylist() == [["lamp", *map(str, range(9))]]
    assert found.rows["calls"].to_pylist() == [1]


def test_options_of_a_choice_are_searched_for() -> None:
    model = Scripted(lambda _: json.dumps({"keywords": []}))
    questions = queries({"q": "Who broke the lamp?"}, form="choice", options=["Ada", "the storm"])
    assert ask_keywords(questions, model).rows["keywords"].to_pylist() == [[]]
    assert "(B) the storm" in model.requests[0].passages[0]


def test_retrieval_text_is_searched_for() -> None:
    model = Scripted(lambda _: json.dumps({"keywords": []}))
    questions = queries({"q": "Summarize it."}, retrieval_text="Summarize it. Topics: the lamp")
    ask_keywords(questions, model)
    assert model.requests[0].passages == ("Summarize it. Topics: the lamp",)


def test_without_a_valid_reply_the_words_of_a_question_are_keywords() -> None:
    found = ask_keywords(queries({"q": "Who broke it?"}), Scripted(lambda _: None))
    assert found.rows["keywords"].to_pylist() == [["Who", "broke", "it?"]]
    assert found.failures == ["question 'q': no keywords: the server is tired"]
