"""What is read of line chunks and questions: synopses, facts, elements, keywords."""

import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsum_assets.jerr.extract import N_ELEMENTS, extract, synopses
from gsum_assets.jerr.search import ask_keywords
from tests.gae.toy_contexts import queries
from tests.gor.toy_documents import Scripted
from tests.jerr.tower import SYNOPSES, rows_of

ONE = SYNOPSES.slice(0, 1)


def reply(facts: list[str], elements: list[str], *relations: tuple[str, str, str]) -> str:
    named = [{"source": s, "relation": r, "target": t} for s, r, t in relations]
    return json.dumps({"facts": facts, "elements": elements, "relations": named})


def test_equal_spellings_count_once_and_the_first_three_are_used() -> None:
    said = reply([], ["The Lamp", "lamp", "**Ada**", "...", "storm", "night"])
    found = extract(ONE, Scripted(lambda _: said)).beside["elements"]
    names = ("element", "element_key", "position")
    assert [tuple(row[name] for name in names) for row in found.to_pylist()] == [
        ("The Lamp", "lamp", 0),
        ("Ada", "ada", 1),
        ("storm", "storm", 2),
    ]


def test_relations_join_two_distinct_elements_in_three_words() -> None:
    said = reply(
        ["Ada lights  the lamp.", "Ada lights the lamp.", *(f"Fact {i}." for i in range(20))],
        ["Ada", "the lamp"],
        ("Ada", "is the one lighting", "The lamp"),
        ("ada", "again", "lamp"),
        ("lamp", "is lit by", "Ada"),
        ("Ada", "is", "Ada"),
        ("Ada", "fears", "storm"),
        ("lamp", " ", "Ada"),
    )
    found = extract(ONE, Scripted(lambda _: said))
    columns = ("source_key", "relation", "target_key")
    assert [tuple(row[c] for c in columns) for row in found.beside["relations"].to_pylist()] == [
        ("ada", "is the one", "lamp"),
        ("lamp", "is lit by", "ada"),
    ]
    facts = found.rows["statement"].to_pylist()
    assert facts == ["Ada lights the lamp.", *(f"Fact {i}." for i in range(11))]


def test_failure_is_reported_and_the_rest_is_kept() -> None:
    replies = iter([None, reply(["A fact."], ["storm"]), reply([], [])])
    found = extract(SYNOPSES, Scripted(lambda _: next(replies)))
    assert found.beside["elements"]["chunk_id"].to_pylist() == ["a2"]
    assert found.failures == [
        "document 'a', line chunk 0: no facts and elements: the server is tired"
    ]


names = st.lists(st.text(max_size=12), max_size=6)


@given(names, st.lists(st.tuples(*[st.text(max_size=12)] * 3), max_size=6))
def test_relations_join_elements_of_the_same_synopsis_for_any_reply(elements, relations) -> None:
    found = extract(ONE, Scripted(lambda _: reply(elements, elements, *relations)))
    keys = found.beside["elements"]["element_key"].to_pylist()
    assert len(set(keys)) == len(keys) <= N_ELEMENTS
    ends = [(r["source_key"], r["target_key"]) for r in found.beside["relations"].to_pylist()]
    assert len(set(ends)) == len(ends)
    assert all(one != other and {one, other} <= set(keys) for one, other in ends)


LONG = "The ferry of the old harbour leaves at noon. " * 40  # 360 words


def line_chunks(*texts: str, n_tokens: int = 1000) -> pa.Table:
    rows = [
        {"chunk_id": f"c{i}", "document_id": "d", "position": i, "start": 0, "end": len(text)}
        | {"n_tokens": n_tokens, "text": text}
        for i, text in enumerate(texts)
    ]
    return rows_of("line_chunks", rows)


@pytest.mark.parametrize(("n_tokens", "words"), [(1000, 100), (2000, 200), (10, 20)])
def test_length_is_proportional_to_the_chunk(n_tokens: int, words: int) -> None:
    model = Scripted(lambda _: "In short.")
    found = synopses(line_chunks(LONG, n_tokens=n_tokens), model)
    assert found.rows["synopsis"].to_pylist() == ["In short."]
    assert model.requests[-1].max_words == words
    assert f"at most {words} words" in model.requests[-1].instructions


def test_chunk_shorter_than_a_synopsis_is_its_own_synopsis() -> None:
    model = Scripted(lambda _: "In short.")
    found = synopses(line_chunks("The ferry leaves at noon.", LONG), model)
    assert found.rows["synopsis"].to_pylist() == ["The ferry leaves at noon.", "In short."]
    assert found.rows["model"].to_pylist() == ["", "scripted"]
    assert [request.passages for request in model.requests] == [(LONG,)]


def test_invalid_reply_gives_no_row_and_keeps_the_rest() -> None:
    replies = iter([None, " ", "In short."])
    found = synopses(line_chunks(LONG + "1", LONG + "2", LONG), Scripted(lambda _: next(replies)))
    assert found.rows["chunk_id"].to_pylist() == ["c2"]
    assert [problem.split(":")[0] for problem in found.failures] == [
        "document 'd', line chunk 0",
        "document 'd', line chunk 1",
    ]


def test_keywords_are_distinct_and_at_most_ten() -> None:
    said = json.dumps({"keywords": ["lamp", " lamp ", "", *map(str, range(20))]})
    found = ask_keywords(queries({"q": "Who broke the lamp?"}), Scripted(lambda _: said))
    assert found.rows["keywords"].to_pylist() == [["lamp", *map(str, range(9))]]


def test_options_and_retrieval_text_are_searched_for() -> None:
    model = Scripted(lambda _: json.dumps({"keywords": []}))
    questions = queries({"q": "Who broke it?"}, form="choice", options=["Ada", "the storm"])
    assert ask_keywords(questions, model).rows["keywords"].to_pylist() == [[]]
    assert "(B) the storm" in model.requests[0].passages[0]
    ask_keywords(queries({"q": "Summarize it."}, retrieval_text="Topics: the lamp"), model)
    assert model.requests[1].passages == ("Topics: the lamp",)


def test_without_a_valid_reply_the_words_of_a_question_are_keywords() -> None:
    found = ask_keywords(queries({"q": "Who broke it?"}), Scripted(lambda _: None))
    assert found.rows["keywords"].to_pylist() == [["Who", "broke", "it?"]]
    assert found.failures == ["question 'q': no keywords: the server is tired"]
